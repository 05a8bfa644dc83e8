package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"quorate/httpapi/door"
	"quorate/httpapi/service"
)

// TestDescriptionServed: the description comes packed as it is asked for, once unless it
// changed, to pages of other origins too, and without what is the operator's.
func TestDescriptionServed(t *testing.T) {
	t.Parallel()
	s := wholeServer(t, Config{Origins: []string{"https://docs.example"}})
	plain := get(s, service.OpenAPIPath, "Origin", "https://docs.example")
	tag := string(plain.Header.Peek("ETag"))
	if plain.StatusCode() != 200 || len(tag) < 10 || len(plain.Header.Peek("Content-Encoding")) > 0 ||
		string(plain.Header.Peek("Access-Control-Allow-Origin")) != "https://docs.example" {
		t.Errorf("%d %s", plain.StatusCode(), &plain.Header)
	}
	want := bytes.Clone(plain.Body())
	for encoding, open := range map[string]func(r io.Reader) (io.Reader, error){
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"zstd": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	} {
		for range 2 { // what is kept is not spoilt by the first answer
			resp := get(s, service.OpenAPIPath, "Accept-Encoding", encoding)
			r, err := open(bytes.NewReader(resp.Body()))
			if err != nil {
				t.Fatalf("%s: %v", encoding, err)
			}
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, want) || string(resp.Header.Peek("Content-Encoding")) != encoding || len(resp.Body()) > len(want)/3 {
				t.Errorf("%s: %d bytes of %d packed, %v", encoding, len(got), len(resp.Body()), err)
			}
		}
	}
	for header, status := range map[string]int{
		tag: 304, tag[2:]: 304, `"x", ` + tag: 304, "*": 304, `W/"x"`: 200, tag[:len(tag)-1]: 200, "W/": 200, `""`: 200, ",": 200,
	} {
		if resp := get(s, service.OpenAPIPath, "If-None-Match", header); resp.StatusCode() != status || (len(resp.Body()) == 0) != (status == 304) {
			t.Errorf("If-None-Match %s: %d, %d bytes", header, resp.StatusCode(), len(resp.Body()))
		}
	}
	if d := s.service.Describe(door.ForClients, service.OpenAPIPath); d.Err != nil || bytes.Contains(d.Plain, []byte(`"/ext/metrics"`)) || !bytes.Contains(d.Plain, []byte(`"/health"`)) {
		t.Errorf("for clients: %v", d.Err)
	}
	if d := dataServer(t, Config{}).service.Describe(door.All, service.OpenAPIPath); d.Err != nil || bytes.Contains(d.Plain, []byte(networkPattern)) {
		t.Errorf("what is not served is described: %v", d.Err)
	}
}

// TestDescribedForModels: every operation that is served to clients is in llms.txt, with its
// parameters.
func TestDescribedForModels(t *testing.T) {
	t.Parallel()
	s := wholeServer(t, Config{})
	resp := get(s, service.LLMsPath)
	text := string(resp.Body())
	if kind := string(resp.Header.ContentType()); resp.StatusCode() != 200 || kind != "text/plain; charset=utf-8" || !strings.HasPrefix(text, "# Quorate\n\n> ") {
		t.Fatalf("%d %s %.100s", resp.StatusCode(), kind, text)
	}
	for _, r := range routes(s) {
		if r.Off || !door.ForClients.Serves(r.Access) {
			continue
		}
		for _, method := range (service.Line{Route: &r}).Methods() {
			head := "- `" + strings.ToUpper(method) + " " + (service.Line{Route: &r}).Path() + "` (" + (service.Line{Route: &r}).OperationID(method) + "): "
			_, rest, ok := strings.Cut(text, head)
			about, _, _ := strings.Cut(rest, "\n")
			if !ok {
				t.Errorf("there is no line that starts with %s", head)
			}
			for _, p := range service.QueryParams(service.Line{Route: &r}) {
				if !strings.Contains(about, p.Name) {
					t.Errorf("%s%s: nothing about %s", head, about, p.Name)
				}
			}
		}
	}
}
