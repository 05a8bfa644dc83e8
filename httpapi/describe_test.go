package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/operation"
	"quorate/engine/primary"
	"quorate/httpapi/door"
	"quorate/httpapi/exports"
	"quorate/httpapi/limit"
	"quorate/httpapi/openapi"
	"quorate/httpapi/service"
	"quorate/httpapi/shape"
	"quorate/httpapi/sign"
)

// wholeDoc is the description of the whole table, as clients read it. TestDescription holds
// it against what is served.
var wholeDoc = sync.OnceValues(func() (*openapi.Document, error) {
	raw, err := service.Document(Routes(), "/")
	if err != nil {
		return nil, err
	}
	doc := new(openapi.Document)
	return doc, json.Unmarshal(raw, doc)
})

// maxVerifiedBytes bounds the bodies that are held against the schema: tests of what
// large ones cost come by, too.
const maxVerifiedBytes = 128 << 10

// maxVerified bounds the answers of a route and status that are held against its schema.
const maxVerified = 50

var (
	verifiedMu sync.Mutex
	verified   = map[string]int{}
)

// verify panics if an answer is not as the description says. All tests that ask a server
// by get and its like come here, so that no form of an answer is left out that any of
// them knows.
func verify(s *Server, ctx *fasthttp.RequestCtx) {
	if err := described(s, ctx); err != nil {
		panic(fmt.Sprintf("%s %s: the answer is not as %s says (package shape, or Route.answer): %v\n%d %.2000s",
			ctx.Method(), ctx.RequestURI(), service.OpenAPIPath, err, ctx.Response.StatusCode(), ctx.Response.Body()))
	}
}

func described(s *Server, ctx *fasthttp.RequestCtx) error {
	rt, _ := s.router.Find(ctx.URI().PathOriginal())
	if rt == nil {
		return nil
	}
	e, resp := rt.Method(ctx.Method()), &ctx.Response
	if e == nil || ctx.IsHead() || len(resp.Header.Peek("Content-Encoding")) > 0 || resp.StatusCode() == 304 || e.Node || e.Page {
		return nil
	}
	key := e.Method + e.Pattern + strconv.Itoa(resp.StatusCode())
	verifiedMu.Lock()
	verified[key]++
	n := verified[key]
	verifiedMu.Unlock()
	if n > maxVerified {
		return nil
	}
	doc, err := wholeDoc()
	if err != nil {
		return err
	}
	answers := doc.Paths[service.Line{Route: e.Route}.Path()][strings.ToLower(e.Method)].Responses
	want := answers[strconv.Itoa(resp.StatusCode())]
	if want == nil {
		if resp.StatusCode() < 400 {
			return fmt.Errorf("no such status is described")
		}
		want = answers["default"]
	}
	if name, ok := strings.CutPrefix(want.Ref, "#/components/responses/"); ok {
		want = doc.Components.Responses[name]
	}
	return bodyFits(doc, want, resp)
}

func bodyFits(doc *openapi.Document, want *openapi.Response, resp *fasthttp.Response) error {
	media, _, _ := strings.Cut(string(resp.Header.ContentType()), ";")
	content, ok := want.Content[media]
	if !ok {
		for media, c := range want.Content {
			if strings.HasPrefix(media, "application/octet") { // files name their own
				content, ok = c, true
			}
		}
	}
	switch {
	case !ok && len(want.Content) == 0 && len(resp.Body()) == 0:
		return nil
	case !ok:
		return fmt.Errorf("content type %q is not described", media)
	case media != door.ContentJSON, len(resp.Body()) > maxVerifiedBytes:
		return nil
	}
	var body any
	d := json.NewDecoder(bytes.NewReader(resp.Body()))
	d.UseNumber()
	if err := d.Decode(&body); err != nil {
		return err
	}
	return conforms(doc, content.Schema, body)
}

// The patterns of routes of EVM chains.
const (
	chainPattern      = "/v1/chains/{chainId}"
	addressPattern    = chainPattern + "/addresses/{address}"
	contractPattern   = chainPattern + "/contracts/{address}"
	collectionPattern = chainPattern + "/nfts/collections/{address}/tokens"
	networkPattern    = "/v1/networks/{network}"
	webhooksPattern   = "/v1/webhooks"
	webhookPattern    = webhooksPattern + "/{webhookId}"
	blockchainPattern = networkPattern + "/blockchains/{blockchainId}"
)

// samples are values of parameters of patterns that exist on the servers of these tests.
// Those with a slash are for patterns that start so.
var samples = map[string]string{
	"network": "fuji", "chainId": "43112", "chain": "C", "address": alice.String(), "blockId": "11", "operationId": opID,
	"tokenId": "1", "txHash": sampleTx(2).String(), "blockchainId": "x-chain", "nodeId": nodeOne.String(), "subnetId": chain.ID{2}.String(),
	"assetId": chain.ID{1}.String(), "vertexHash": chain.ID{0x51}.String(), "l1ValidationId": chain.ID{4}.String(),
	"messageId": sampleMessage.String(),
}

// routeSamples are values for routes to which others mean something, by pattern; a name
// with a question mark is a parameter of the query, and "body" the body.
var routeSamples = map[string]map[string]string{
	sign.Pattern:     {"body": `{"message":"` + warpHex + `"}`},
	sign.RelayerPath: {"body": `{"message":"` + warpHex + `"}`},

	addressPattern:                                              {"address": art.String()},
	sign.Pattern + "/{txHash}":                                  {"txHash": sampleTx(35).String()},
	contractPattern + "/transactions:getDeployment":             {"address": art.String()},
	"/v1/operations/transactions:export":                        {"body": goodExport},
	"/v1/events":                                                {"?topics": "health"},
	webhooksPattern:                                             {"body": goodHook},
	webhookPattern:                                              {"webhookId": hookID, "body": `{"name":"other"}`},
	webhookPattern + "/addresses":                               {"webhookId": hookID, "body": `{"addresses":["0x00000000000000000000000000000000000000a7"]}`},
	"/v2/chains/{chainId}/contracts/{address}/balances":         {"address": gold.String(), "?threshold": "0"},
	networkPattern + "/rewards":                                 {"?nodeIds": nodeOne.String()},
	networkPattern + "/rewards:listPending":                     {"?nodeIds": nodeOne.String()},
	networkPattern + "/addresses:listChainIds":                  {"?addresses": ann.Text("fuji")},
	blockchainPattern:                                           {"blockchainId": chain.ID{6}.String()},
	blockchainPattern + "/vertices:listByHeight":                {"?vertexHeight": "8"},
	blockchainPattern + "/transactions:listStaking":             {"blockchainId": "p-chain"},
	blockchainPattern + "/balances":                             {"?addresses": ann.Text("fuji")},
	blockchainPattern + "/utxos":                                {"?addresses": ann.Text("fuji"), "body": `{"addresses":"` + ann.Text("fuji") + `"}`},
	blockchainPattern + "/lastActivityTimestampByAddresses":     {"?addresses": ann.Text("fuji"), "body": `{"addresses":"` + ann.Text("fuji") + `"}`},
	blockchainPattern + "/transactions/{txHash}":                {"txHash": sampleMint},
	blockchainPattern + "/assets/{assetId}":                     {"assetId": sampleMint},
	blockchainPattern + "/assets/{assetId}/transactions":        {"assetId": sampleMint},
	collectionPattern:                                           {"address": art.String()},
	collectionPattern + "/{tokenId}":                            {"address": art.String()},
	collectionPattern + "/{tokenId}:reindex":                    {"address": art.String()},
	"/v2/chains/{chainId}/contracts/{address}/nfts:listHolders": {"address": art.String()},
}

// sampleMint is the transaction that creates the asset of the sample.
var sampleMint = func() string {
	for id := range samplePrimary().withTxs().assets {
		return id.String()
	}
	return ""
}()

// sampleRequest returns the path with query and the body of a request that a route
// answers with success.
func sampleRequest(r *door.Route) (path, body string) {
	value := func(name string) string {
		if v, ok := routeSamples[r.Pattern][name]; ok {
			return v
		}
		return samples[name]
	}
	path = service.Line{Route: r}.Path()
	list, _ := service.Line{Route: r}.Described()
	for _, p := range list {
		v := value(p.Name)
		if p.Name == "metric" {
			v = r.Choices[0]
		}
		path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(v), 1)
	}
	query := url.Values{}
	for _, p := range r.Query {
		if v := value("?" + p.Name); v != "" {
			query.Set(p.Name, v)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path, value("body")
}

// wholeServer serves all routes, with something to show at each of them.
func wholeServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	one := sampleICM()
	one.alias = samplePrimary().chains[primary.CChain].id.String()
	ops := newFakeOperations()
	at := time.Unix(1_700_000_000, 0)
	ops.ops[opID] = operation.Operation{ID: opID, Status: operation.Completed, Created: at, Updated: at, Size: 3}
	ops.files[opID] = []byte("abc")
	cfg.Health, cfg.Ready, cfg.Primary, cfg.Operations, cfg.Events = checks{}, alwaysReady, samplePrimaries(), ops, noEvents{}
	cfg.Webhooks, cfg.WebhooksKeyless, cfg.NFTs = sampleHooks(), true, &fetches{}
	cfg.Ext = func(ctx *fasthttp.RequestCtx, _ Charge) { ctx.SetBodyString("passed on") }
	return dataServer(t, cfg, one, secondChain())
}

// send sends a request and holds the answer against the description.
func send(s *Server, method, path, body string, headers ...string) *fasthttp.Response {
	var req fasthttp.Request
	req.SetRequestURI(path)
	req.Header.SetHost("localhost")
	if method != "" {
		req.Header.SetMethod(method)
	}
	if body != "" {
		req.Header.SetContentType(door.ContentJSON)
		req.SetBodyString(body)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, nil, nil)
	s.handle(ctx)
	verify(s, ctx)
	return &ctx.Response
}

// TestDescription: the description that is served has all routes, and names none twice. That
// it is valid is tested end to end.
func TestDescription(t *testing.T) {
	t.Parallel()
	want, err := OpenAPI()
	if served := get(wholeServer(t, Config{}), service.OpenAPIPath).Body(); err != nil || !bytes.Equal(served, want) {
		t.Fatalf("a server of all routes serves %d bytes, the table's description has %d (%v)", len(served), len(want), err)
	}
	doc, err := wholeDoc()
	if err != nil {
		t.Fatal(err)
	}
	ids, operations := map[string]string{}, 0
	for path, item := range doc.Paths {
		for method, op := range item {
			operations++
			if other := ids[op.ID]; other != "" {
				t.Errorf("%s %s and %s are both %s", method, path, other, op.ID)
			}
			ids[op.ID] = method + " " + path
		}
	}
	described := 0
	for _, r := range Routes() {
		for _, m := range (service.Line{Route: &r}).Methods() {
			described++
			if doc.Paths[(service.Line{Route: &r}).Path()][strings.ToLower(m)] == nil {
				t.Errorf("%s %s is not described", m, r.Pattern)
			}
		}
	}
	if described != operations {
		t.Errorf("%d operations are described, the table has %d", operations, described)
	}
}

// TestErrorClasses sees each status of an error once, in the documented form.
func TestErrorClasses(t *testing.T) {
	t.Parallel()
	is := func(want, status int, text string) {
		t.Helper()
		var body shape.Error
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&body); err != nil || status != want || body.StatusCode != want ||
			body.Error != fasthttp.StatusMessage(want) || body.Message == "" {
			t.Errorf("%d %s (%v), want %d", status, text, err, want)
		}
	}
	f := func(want int, resp *fasthttp.Response) {
		t.Helper()
		is(want, resp.StatusCode(), string(resp.Body()))
	}
	list := base + "/transactions"
	s := wholeServer(t, Config{})
	f(400, get(s, list+"?pageSize=0"))
	f(404, get(s, "/v1/nothing"))
	f(405, send(s, "DELETE", list, ""))
	f(401, get(wholeServer(t, Config{Limits: newLimiter(t, limit.Config{NoLimit: true, RequireKey: true})}), list))
	poor := wholeServer(t, Config{Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 30})})
	get(poor, list)
	f(429, get(poor, list))
	f(403, get(s, opPath+exports.FilePath))
	f(503, get(s, "/v1/chains/777/transactions"))
	broken := ownSample()
	broken.spoil()
	f(500, get(dataServer(t, Config{}, broken), list))
	f(502, postTo(dataServer(t, Config{Networks: networks{fails(&aggregator.Error{Kind: aggregator.Invalid, Msg: "not valid"})}}),
		"/v1/signatureAggregator/fuji/aggregateSignatures", `{"message":"`+warpHex+`"}`))
	_, address := start(t, Config{MaxBody: 1024, MaxHeader: 1024, ReadTimeout: 200 * time.Millisecond})
	raw := func(want int, request string) {
		t.Helper()
		c := dial(t, address)
		c.send(request)
		resp, body := c.reply("POST")
		is(want, resp.StatusCode, body)
	}
	raw(408, "POST "+sign.RelayerPath[:1]+"v1 HTTP/1.1\r\n")
	raw(413, post("/v1/signatureAggregator/fuji/aggregateSignatures", strings.Repeat(" ", 2000)))
	raw(431, request("GET", "/v1", "", "X: "+strings.Repeat("x", 2000)))
}

// TestExamples: whatever a request has to have comes with an example, a default or a list of
// what it can be.
func TestExamples(t *testing.T) {
	t.Parallel()
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc openapi.Document
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	resolve := func(s *openapi.Schema) *openapi.Schema {
		if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
			return doc.Components.Schemas[name]
		}
		return s
	}
	var shown func(s *openapi.Schema) bool
	shown = func(s *openapi.Schema) bool {
		s = resolve(s)
		switch {
		case s.Items != nil:
			return shown(s.Items)
		case s.Type == "object":
			for _, p := range s.Properties {
				if shown(p) {
					return true
				}
			}
			return len(s.Properties) == 0
		}
		return s.Example != nil || s.Default != nil || len(s.Enum) > 0 || s.Type == "integer" || s.Type == "boolean"
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			for _, p := range op.Parameters {
				if p.Required && !shown(p.Schema) {
					t.Errorf("%s %s: no example of %s", method, path, p.Name)
				}
			}
			if op.Body == nil {
				continue
			}
			for name, p := range resolve(op.Body.Content["application/json"].Schema).Properties {
				if !shown(p) {
					t.Errorf("%s %s: no example of %s in its body", method, path, name)
				}
			}
		}
	}
}
