package httpapi

import (
	"encoding/json"
	"fmt"
	"go/format"
	goparser "go/parser"
	gotoken "go/token"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/limit"
	"quorate/httpapi/openapi"
	"quorate/httpapi/service"
)

var (
	consoleLink = regexp.MustCompile(`<a href="/api/([^"]+)"><span class="method [a-z]+">([A-Z]+)</span> <code>([^<]+)</code>`)
	goSnippet   = regexp.MustCompile(`(?s)<pre[^>]* data-snippet="Go">(.*?)</pre>`)
)

func consoleServer(t *testing.T) (*Server, *openapi.Document) {
	t.Helper()
	n := samplePrimary().withTxs()
	s := pagesOf(t, Config{Primary: primaries{"fuji": n}}, sampleChain())
	var doc openapi.Document
	if err := json.Unmarshal(get(s, service.OpenAPIPath).Body(), &doc); err != nil {
		t.Fatal(err)
	}
	return s, &doc
}

// TestConsoleLists: each operation of the description is on the page once, by its method
// and path, and nothing else is.
func TestConsoleLists(t *testing.T) {
	t.Parallel()
	s, doc := consoleServer(t)
	listed := map[string]int{}
	for _, m := range consoleLink.FindAllStringSubmatch(string(browse(s, "/api").Body()), -1) {
		listed[m[2]+" "+html.UnescapeString(m[3])+" "+m[1]]++
	}
	total := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			total++
			if n := listed[strings.ToUpper(method)+" "+path+" "+op.ID]; n != 1 {
				t.Errorf("%s %s is listed %d times", method, path, n)
			}
		}
	}
	if total < 80 || len(listed) != total {
		t.Errorf("%d operations, %d listed", total, len(listed))
	}
	if text := readable(browse(s, "/api?q=balances+erc721").Body()); !strings.Contains(text, "1 operation\n") || !strings.Contains(text, "balances:listErc721") {
		t.Errorf("a search shows %s", text)
	}
	if text := readable(browse(s, "/api?q=nothing+of+the+kind").Body()); !strings.Contains(text, "0 operations") {
		t.Errorf("a search for nothing shows %s", text)
	}
}

// TestConsoleOperations: each operation has a page with a field for each parameter, and its
// program in Go is one.
func TestConsoleOperations(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	s, doc := consoleServer(t)
	for path, methods := range doc.Paths {
		for method, op := range methods {
			for _, query := range []string{"?filled=1&body=%7B%22a%22%3A%60%22%5C%22%7D", "", "?key=1"} {
				resp := browse(s, "/api/"+op.ID+query)
				body := string(resp.Body())
				if resp.StatusCode() != fasthttp.StatusOK {
					t.Fatalf("%s: %d %s", op.ID, resp.StatusCode(), readable(resp.Body()))
				}
				for _, p := range op.Parameters {
					if n := strings.Count(body, fmt.Sprintf(` name="%s"`, p.Name)); n != 1 {
						t.Errorf("%s %s has %d fields %s", method, path, n, p.Name)
					}
				}
				m := goSnippet.FindStringSubmatch(body)
				if m == nil {
					t.Fatalf("%s has no program in Go", op.ID)
				}
				checkProgram(t, op.ID+query, html.UnescapeString(tagAny.ReplaceAllString(m[1], "")))
			}
		}
	}
}

func checkProgram(t *testing.T, name, program string) {
	t.Helper()
	files := gotoken.NewFileSet()
	file, err := goparser.ParseFile(files, name, program, goparser.AllErrors|goparser.ParseComments)
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, program)
		return
	}
	var neat strings.Builder
	if err := format.Node(&neat, files, file); err != nil || neat.String() != program {
		t.Errorf("%s is not formatted:\n%s", name, program)
	}
}

// TestConsoleSamples: fields are filled in with what the server has, and say where it came from;
// what is not known stays empty, with the reason.
func TestConsoleSamples(t *testing.T) {
	t.Parallel()
	s, _ := consoleServer(t)
	path := func(id string) string {
		m := regexp.MustCompile(`<div id="request" data-path="([^"]*)"`).FindSubmatch(browse(s, "/api/"+id).Body())
		if m == nil {
			t.Fatalf("%s has no request", id)
		}
		return html.UnescapeString(string(m[1]))
	}
	for _, id := range []string{
		"getChainInfo", "getTransaction", "getNativeBalance", "getBlock", "listTransfers",
		"getSingleValidatorDetails", "getSubnetById", "getBalancesByAddresses", "getTxByHash",
		"getVertexByHash", "getVertexByHeight", "listHistoricalPrimaryNetworkRewards",
		"getStakingMetrics",
	} {
		got := path(id)
		if resp := get(s, got); strings.Contains(got, "{") || resp.StatusCode() != fasthttp.StatusOK {
			t.Errorf("%s asks for %s: %d %.200s", id, got, resp.StatusCode(), resp.Body())
		}
	}
	text := readable(browse(s, "/api/getOperationResult").Body())
	if resp := browse(s, "/api/getIcmMessage"); resp.StatusCode() == fasthttp.StatusOK {
		text = readable(resp.Body())
	}
	if !strings.Contains(text, "Still needed:") {
		t.Errorf("what is not known is not asked for: %s", text)
	}
	if text := readable(browse(s, "/api/none").Body()); !strings.Contains(text, "there is no operation none here") {
		t.Errorf("an unknown operation shows %s", text)
	}
}

// TestConsoleSDKMethods: the SDKs' methods are those of operations that they can ask for,
// and each that is served has one.
func TestConsoleSDKMethods(t *testing.T) {
	t.Parallel()
	read := func(name string) map[string][]string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		list := map[string][]string{}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); f[0] != "#" {
				list[f[0]+" "+strings.ReplaceAll(f[1], "{webhookId}", "{id}")] = f[2:]
			}
		}
		return list
	}
	methods, can := read("ui/sdkmethods.txt"), read("testdata/sdkoperations.txt")
	for op, f := range methods {
		sdks := can[op]
		if sdks == nil {
			t.Errorf("no SDK can ask for %s", op)
			continue
		}
		want := map[string]string{"A": "only=avacloud-sdk", "C": "only=chainkit", "AC": ""}[sdks[0]]
		only := ""
		for _, option := range f[1:] {
			if strings.HasPrefix(option, "only=") {
				only = option
			}
		}
		if only != want {
			t.Errorf("%s: %q, but it is known to %s", op, only, sdks[0])
		}
	}
	for _, r := range Routes() {
		op := r.Method + " " + strings.ReplaceAll(r.Pattern, "{webhookId}", "{id}")
		if can[op] != nil && methods[op] == nil {
			t.Errorf("%s has no method", op)
		}
	}
}

// TestConsoleWithKeys: where the server asks for keys, whoever has none reads what there is
// to ask for, and no data.
func TestConsoleWithKeys(t *testing.T) {
	t.Parallel()
	s := pagesOf(t, Config{Limits: newLimiter(t, limit.Config{NoLimit: true, RequireKey: true})}, sampleChain())
	if resp := browse(s, "/api"); resp.StatusCode() != fasthttp.StatusOK {
		t.Errorf("/api: %d", resp.StatusCode())
	}
	resp := browse(s, "/api/getTransaction")
	text := readable(resp.Body())
	if resp.StatusCode() != fasthttp.StatusOK || !strings.Contains(text, "not looked up, since the server asks for an API key") || !strings.Contains(text, "Still needed: chainId, txHash") {
		t.Errorf("%d %s", resp.StatusCode(), text)
	}
}
