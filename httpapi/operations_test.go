package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/archive/vfs"
	"quorate/engine/archive/vfs/faultfs"
	"quorate/engine/chain"
	"quorate/engine/operation"
	"quorate/httpapi/door"
	"quorate/httpapi/exports"
	"quorate/httpapi/limit"
)

// fakeOperations has operations that a test puts there.
type fakeOperations struct {
	mu    sync.Mutex
	ops   map[string]operation.Operation
	files map[string][]byte
	err   error // of Create
	asked operation.Request
}

func newFakeOperations() *fakeOperations {
	return &fakeOperations{ops: map[string]operation.Operation{}, files: map[string][]byte{}}
}

func (f *fakeOperations) Create(_ context.Context, req operation.Request) (operation.Operation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = req
	at := time.Unix(1_700_000_000, 0)
	return operation.Operation{ID: opID, Request: req, Status: operation.Running, Created: at, Updated: at}, f.err
}

func (f *fakeOperations) Get(id string) (operation.Operation, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	op, ok := f.ops[id]
	return op, ok, nil
}

func (f *fakeOperations) Open(id string) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.files[id]
	if !ok {
		return nil, fs.ErrNotExist
	}
	file, err := (&faultfs.Disk{}).Create(id)
	if err == nil {
		_, err = file.WriteAt(b, 0)
	}
	return file, err
}

const (
	opID       = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
	exportPath = "/v1/operations/transactions:export"
	opPath     = "/v1/operations/" + opID
)

// postTo posts a body.
func postTo(s *Server, path, body string, headers ...string) *fasthttp.Response {
	var req fasthttp.Request
	req.SetRequestURI(path)
	req.Header.SetHost("localhost")
	req.Header.SetMethod("POST")
	req.Header.SetContentType(door.ContentJSON)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.SetBodyString(body)
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, nil, nil)
	s.handle(ctx)
	verify(s, ctx)
	return &ctx.Response
}

// TestGoldenOperations compares the answers about operations in all states with what was
// checked by hand. The signatures of addresses of files are left out.
func TestGoldenOperations(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations()
	s := dataServer(t, Config{Operations: ops, PublicURL: "https://data.example"}, sampleChain(), secondChain())
	var out bytes.Buffer
	show := func(what string, resp *fasthttp.Response) {
		t.Helper()
		body := resp.Body()
		if at := bytes.Index(body, []byte("?expires=")); at > 0 {
			end := bytes.IndexByte(body[at:], '"')
			body = append(append(bytes.Clone(body[:at]), "?..."...), body[at+end:]...)
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, body, "", "  "); err != nil {
			t.Fatalf("%s: %v: %s", what, err, body)
		}
		fmt.Fprintf(&out, "%s\n%d %s\n%s\n\n", what, resp.StatusCode(), resp.Header.ContentType(), &pretty)
	}
	show("POST "+exportPath, postTo(s, exportPath, goodExport))
	ops.err = &operation.Error{Kind: operation.Quota, Msg: "4 of your exports are not finished, which is the maximum"}
	show("POST "+exportPath+" too often", postTo(s, exportPath, goodExport))
	ops.err = &operation.Error{Kind: operation.Busy, Msg: "too many exports wait"}
	show("POST "+exportPath+" while there are many", postTo(s, exportPath, goodExport))
	ops.err = errors.New("secret")
	show("POST "+exportPath+" and a defect", postTo(s, exportPath, goodExport))
	show("GET "+opPath+" unknown", get(s, opPath))
	at := time.Unix(1_700_000_000, 0)
	op := operation.Operation{ID: opID, Status: operation.Running, Created: at, Updated: at.Add(time.Minute), Rows: 12, Progress: 0.25}
	states := []func(){
		func() {},
		func() { op.Status, op.Rows = operation.Completed, 4711 },
		func() {
			op.Status, op.Code, op.Message, op.Next = operation.Warning, operation.CodeTruncated, "the export ended at its size limit", 1_700_000_000_123
		},
		func() {
			op.Status, op.Code, op.Message, op.Next, op.Rows = operation.Failed, operation.CodeInternal, "there is no room left for the file", 0, 0
		},
	}
	for _, change := range states {
		change()
		ops.ops[opID] = op
		show("GET "+opPath+" "+string(op.Status), get(s, opPath))
	}
	golden(t, "operations.txt", out.Bytes())
}

const (
	oneAddress = "0xa1000000000000000000000000000000000000cc"
	goodExport = `{"type":"TRANSACTION_EXPORT_EVM","options":{"addresses":["` + oneAddress + `"],"includeChains":["43112"]}}`
)

// TestExportRequests lists what is taken and what is refused, each with its message.
func TestExportRequests(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations()
	s := dataServer(t, Config{Operations: ops}, sampleChain(), secondChain())
	options := func(rest string) string { return `{"type":"TRANSACTION_EXPORT_EVM","options":{` + rest + `}}` }
	dates := func(rest string) string { return strings.Replace(goodExport, `"options"`, rest+`,"options"`, 1) }
	refused := func(body, message string) {
		t.Helper()
		resp := postTo(s, exportPath, body)
		var got struct {
			Message, Error string
			StatusCode     int
		}
		if err := json.Unmarshal(resp.Body(), &got); err != nil || resp.StatusCode() != 400 || got.StatusCode != 400 || got.Error != "Bad Request" ||
			!strings.Contains(got.Message, message) {
			t.Errorf("%s: %d %s, want %q", body, resp.StatusCode(), resp.Body(), message)
		}
	}
	refused("", "the body is empty")
	refused("[]", "must be a JSON object")
	refused("{", "not valid JSON")
	refused("{}", "type is required")
	refused(`{"type":7}`, "type must be a string, not a number")
	refused(`{"type":"transaction_export_evm"}`, "type must be TRANSACTION_EXPORT_EVM")
	refused(`{"type":"TRANSACTION_EXPORT_PRIMARY_NETWORK","options":{}}`, "is not supported here; only TRANSACTION_EXPORT_EVM is")
	refused(`{"type":"TRANSACTION_EXPORT_PRIMARY_NETWORK_STAKING"}`, "is not supported here")
	refused(`{"type":"TRANSACTION_EXPORT_PRIMARY_NETWORK_SIMPLE"}`, "is not supported here")
	refused(`{"type":"TRANSACTION_EXPORT_EVM"}`, "options is required")
	refused(`{"type":"TRANSACTION_EXPORT_EVM","options":[]}`, "options must be an object, not an array")
	refused(options(``), "options.addresses is required")
	refused(options(`"addresses":"x"`), "options.addresses must be a list of strings, not a string")
	refused(options(`"addresses":[]`), "options.addresses must not be empty")
	refused(options(`"addresses":[1]`), "must have strings only, not a number")
	refused(options(`"addresses":["0x12"]`), "must be an address")
	refused(options(`"addresses":["`+oneAddress+`",null]`), "must have strings only, not null")
	refused(options(`"addresses":["`+oneAddress+`"]`), "options.includeChains is required")
	refused(options(`"addresses":["`+oneAddress+`"],"includeChains":[]`), "must not be empty")
	refused(options(`"addresses":["`+oneAddress+`"],"includeChains":["43112","1"]`), `chain "1" is not served here`)
	refused(options(`"addresses":["`+oneAddress+`"],"includeChains":{}`), "must be a list of strings, not an object")
	refused(options(`"addresses":["`+oneAddress+`"],"includeChains":["43112"],"compression":"bzip2"`), "must be gzip or zstd")
	refused(options(`"addresses":["`+oneAddress+`"],"includeChains":["43112"],"compression":1`), "must be gzip or zstd, not a number")
	refused(options(`"addresses":["`+strings.Repeat(oneAddress+`","`, operation.MaxAddresses)+oneAddress+`"]`), "more than 100 items")
	refused(options(`"adresses":["`+oneAddress+`"]`), "did you mean addresses?")
	refused(strings.Replace(goodExport, `"type"`, `"firstdate":"2024-01-01","type"`, 1), "did you mean firstDate?")
	refused(dates(`"firstDate":"yesterday"`), "firstDate must be a day like 2024-12-31")
	refused(dates(`"firstDate":""`), "firstDate must be a day")
	refused(dates(`"lastDate":1700000000`), "lastDate must be a string, not a number")
	refused(dates(`"lastDate":"2024-02-30"`), "lastDate must be a day")
	refused(dates(`"startDate":"1969-12-31"`), "startDate must not be before 1970")
	refused(dates(`"firstDate":"2024-01-02","lastDate":"2024-01-01"`), "firstDate 2024-01-02T00:00:00.000Z is after lastDate 2024-01-01T23:59:59.999Z")
	refused(dates(`"startDate":"2024-01-02","endDate":"2024-01-01"`), "startDate 2024-01-02T00:00:00.000Z is after endDate")
	refused(dates(`"firstDate":"2024-01-01","startDate":"nonsense"`), "startDate must be a day")

	taken := func(body string, first, last uint64) {
		t.Helper()
		resp := postTo(s, exportPath, body)
		if resp.StatusCode() != 201 || ops.asked.First != first || ops.asked.Last != last || ops.asked.Client == "" ||
			ops.asked.Compression != operation.Gzip || len(ops.asked.Addresses) != 1 || len(ops.asked.Chains) != 1 {
			t.Errorf("%s: %d %s, %+v", body, resp.StatusCode(), resp.Body(), ops.asked)
		}
	}
	const day = 86_400_000
	taken(goodExport, 0, 0)
	taken(dates(`"firstDate":null,"lastDate":null`), 0, 0)
	taken(dates(`"firstDate":"1970-01-03"`), 2*day, 0)
	taken(dates(`"lastDate":"1970-01-03"`), 0, 3*day-1)
	taken(dates(`"firstDate":"1970-01-03","lastDate":"1970-01-03"`), 2*day, 3*day-1)
	taken(dates(`"firstDate":"1970-01-03T00:00:00.250Z","lastDate":"1970-01-03T12:00:00+02:00"`), 2*day+250, 2*day+10*3_600_000)
	taken(dates(`"startDate":"1970-01-02","endDate":"1970-01-03"`), day, 3*day-1)
	taken(dates(`"startDate":"1970-01-05","firstDate":"1970-01-02","endDate":"1970-01-01","lastDate":"1970-01-03"`), day, 3*day-1)
	taken(strings.Replace(goodExport, `["43112"]`, `["43112","C","2CA6j5zYzasynPsFeNoqWkmTCt3VScMvXUZHbfDJ8k3oGzAPtU"]`, 1), 0, 0)
	taken(strings.Replace(goodExport, oneAddress, oneAddress+`","`+strings.ToUpper(oneAddress), 1), 0, 0)
	if resp := postTo(s, exportPath, strings.Replace(goodExport, `"type"`, `"unheardOf":1,"type"`, 1)); string(resp.Header.Peek(door.HeaderIgnored)) != "unheardOf" {
		t.Errorf("ignored: %q", resp.Header.Peek(door.HeaderIgnored))
	}
	if resp := postTo(s, exportPath, goodExport, "Content-Type", "text/plain"); resp.StatusCode() != 400 {
		t.Errorf("text is taken: %d", resp.StatusCode())
	}
}

// TestExportKeys: a key that is good for certain chains exports no others.
func TestExportKeys(t *testing.T) {
	t.Parallel()
	key, hash := limit.NewKey()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(file, []byte("tiers:\n  - name: one\n    unitsPerMinute: 100000\n    chains: [\"1337\"]\nkeys:\n  - hash: "+hash+"\n    tier: one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := dataServer(t, Config{Operations: newFakeOperations(), Limits: newLimiter(t, limit.Config{KeysFile: file})}, sampleChain(), secondChain())
	if resp := postTo(s, exportPath, goodExport, "x-service-api-key", key); resp.StatusCode() != 403 {
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
	if resp := postTo(s, exportPath, goodExport); resp.StatusCode() != 201 {
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
}

// FuzzExportBody: no body is a panic, and what is taken is within bounds.
func FuzzExportBody(f *testing.F) {
	for _, s := range []string{goodExport, "", "{", `{"type":"TRANSACTION_EXPORT_EVM","options":{"addresses":["` + oneAddress + `",[{}]],"includeChains":["C"]}}`,
		strings.Replace(goodExport, `"options"`, `"firstDate":"2024-01-01","endDate":"9999-12-31T23:59:59-12:00","options"`, 1)} {
		f.Add([]byte(s))
	}
	find := func(name string) (chain.ID, bool) { return chain.ID{1}, name != "" }
	f.Fuzz(func(t *testing.T, body []byte) {
		var rest door.Ignored
		req, err := exports.ParseExport(body, find, &rest)
		var bad *door.Failure
		switch {
		case errors.As(err, &bad):
			if bad.Status != 400 || bad.Message == "" {
				t.Errorf("%q: %+v", body, bad)
			}
		case err != nil:
			t.Errorf("%q: %v", body, err)
		case len(req.Addresses) < 1 || len(req.Addresses) > operation.MaxAddresses || len(req.Chains) != 1 || req.Last != 0 && req.First > req.Last:
			t.Errorf("%q: %+v", body, req)
		case !json.Valid(body):
			t.Errorf("%q is taken", body)
		}
	})
}

// TestDownload: the address of a file is good for whoever has it, for a time, and for
// ranges of the file.
func TestDownload(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations()
	content := make([]byte, 300<<10)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(content)
	ops.ops[opID] = operation.Operation{ID: opID, Status: operation.Completed, Size: int64(len(content)), Request: operation.Request{Compression: operation.Gzip}}
	ops.files[opID] = content
	s, address := start(t, Config{Operations: ops, Chains: testChains{sampleChain()}, Limits: newLimiter(t, limit.Config{RequireKey: true, NoLimit: true})})
	told := exportsOf(s).DownloadURL(opID, time.Now())
	client := &http.Client{Timeout: time.Minute}
	t.Cleanup(client.CloseIdleConnections)
	ask := func(method, path string, headers ...string) (*http.Response, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, body
	}
	resp, body := ask("GET", told)
	tag := resp.Header.Get("ETag")
	if resp.StatusCode != 200 || !bytes.Equal(body, content) || resp.Header.Get("Content-Type") != "application/gzip" || resp.Header.Get("Content-Encoding") != "" ||
		resp.Header.Get("Accept-Ranges") != "bytes" || tag == "" || resp.Header.Get("Content-Disposition") != `attachment; filename="transactions-`+opID+`.csv.gz"` {
		t.Errorf("%d, %d bytes, %v", resp.StatusCode, len(body), resp.Header)
	}
	if resp, body := ask("HEAD", told); resp.StatusCode != 200 || resp.ContentLength != int64(len(content)) || len(body) != 0 {
		t.Errorf("HEAD: %d, %d bytes", resp.StatusCode, resp.ContentLength)
	}
	part := func(want string, from, to, status int, headers ...string) {
		t.Helper()
		resp, body := ask("GET", told, append([]string{"Range", want}, headers...)...)
		if resp.StatusCode != status || status != 416 && !bytes.Equal(body, content[from:to]) {
			t.Errorf("%s: %d, %d bytes", want, resp.StatusCode, len(body))
		}
		cr := resp.Header.Get("Content-Range")
		if status == 206 && cr != fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(content)) || status == 416 && cr != fmt.Sprintf("bytes */%d", len(content)) {
			t.Errorf("%s: Content-Range %q", want, cr)
		}
	}
	n := len(content)
	part("bytes=0-", 0, n, 206)
	part("bytes=1000-1999", 1000, 2000, 206)
	part("bytes=1000-99999999", 1000, n, 206)
	part("bytes=-5", n-5, n, 206)
	part("bytes=-99999999", 0, n, 206)
	part(fmt.Sprintf("bytes=%d-", n), 0, 0, 416)
	part("bytes=-0", 0, 0, 416)
	part("bytes=0-1,4-5", 0, n, 200)
	part("bytes=5-4", 0, n, 200)
	part("bytes=x-", 0, n, 200)
	part("bytes=-", 0, n, 200)
	part("lines=1-2", 0, n, 200)
	part("bytes=5-9", 5, 10, 206, "If-Range", tag)
	part("bytes=5-9", 0, n, 200, "If-Range", `"other"`)

	refused := func(path string, status int) {
		t.Helper()
		if resp, body := ask("GET", path); resp.StatusCode != status || !json.Valid(body) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	u, err := url.Parse(told)
	if err != nil {
		t.Fatal(err)
	}
	refused(u.Path, 403)
	refused(u.Path+"?expires=99999999999&signature="+url.QueryEscape(u.Query().Get("signature")), 403)
	refused(strings.Replace(told, "1b4e28ba", "1b4e28bb", 1), 403)
	refused(exportsOf(s).DownloadURL(opID, time.Now().Add(-2*time.Hour)), 403)
	refused(exportsOf(s).DownloadURL("00000000-0000-4000-8000-000000000000", time.Now()), 404)
	ops.mu.Lock()
	delete(ops.files, opID)
	ops.mu.Unlock()
	refused(told, 404)
}
