package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/openapi"
	"quorate/httpapi/shape"
)

var (
	txHashLike  = textLike("^0[xX][0-9a-fA-F]{64}$", "0x"+strings.Repeat("0a", 32))
	blockLike   = textLike("^([0-9]{1,19}|0[xX][0-9a-fA-F]{64})$", "1")
	eitherID    = textLike("^(0[xX][0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{33,51})$", "0x"+strings.Repeat("0a", 32))
	networkLike = &openapi.Schema{Type: "string", Enum: []string{"mainnet", "fuji", "testnet"}}
	anyName     = &openapi.Schema{Type: "string", MinLength: 1}
)

// pathParams are those of EVM chains and of operations; signParams and primaryParams mean
// something else where messages are signed and on the primary network.
var (
	pathParams = []pathParam{
		{"network", "the network", networkLike, true},
		{"chainId", "the chain, by number, blockchain ID or alias; of metrics also total, mainnet and testnet", anyName, true},
		{"chain", "the chain, by blockchain ID or alias", anyName, true},
		{"operationId", "the operation", anyName, true},
		{"webhookId", "the webhook", anyName, true},
		{"address", "an address", addressLike(), false},
		{"txHash", "a transaction", txHashLike, false},
		{"blockId", "a block, by number or hash", blockLike, false},
		{"tokenId", "a token of a contract, by its ID in decimal", textLike("^[0-9]{1,78}$", "1"), false},
		{"blockchainId", "a chain of the primary network, by alias or ID", anyName, true},
		{"nodeId", "a node", nodeLike(), false},
		{"subnetId", "a subnet", idLike(), false},
		{"l1ValidationId", "a validation of an L1", idLike(), false},
		{"assetId", "an asset", idLike(), false},
		{"vertexHash", "a vertex", idLike(), false},
		{"messageId", "an interchain message, in hex or CB58", eitherID, false},
	}
	signParams = []pathParam{
		{"txHash", "a transaction of an EVM chain, by hash, or of the P-Chain, by ID; else a warp message, by ID in hex or CB58", eitherID, false},
	}
	primaryParams = []pathParam{
		{"txHash", "a transaction", idLike(), false},
		{"blockId", "a block, by height or ID", textLike("^([0-9]{1,19}|[1-9A-HJ-NP-Za-km-z]{33,51}|0x[0-9a-fA-F]{64})$", "1"), false},
	}
)

// line is a route as the description has it.
type line struct{ *Route }

// described returns the parameters of a route's pattern in their order.
func (r line) described() ([]pathParam, error) {
	var list []pathParam
	for seg := range strings.SplitSeq(r.Pattern, "/") {
		name, ok := strings.CutPrefix(seg, "{")
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(name, "}")
		p, ok := r.pathParam(name)
		if !ok {
			return nil, fmt.Errorf("%s is in no list of parameters of patterns", seg)
		}
		list = append(list, p)
	}
	return list, nil
}

func (r line) pathParam(name string) (pathParam, bool) {
	if name == "metric" && len(r.choices) > 0 {
		return pathParam{name, "the metric", &openapi.Schema{Type: "string", Enum: r.choices}, false}, true
	}
	for _, list := range [][]pathParam{r.pathParams, pathParams} {
		for _, p := range list {
			if p.name == name {
				return p, true
			}
		}
	}
	return pathParam{}, false
}

// refuses reports whether a request can be wrong in itself (400), and whether it can name
// what is not there (404).
func (r line) refuses() (wrong, absent bool) {
	list, _ := r.described()
	wrong = len(r.query) > 0 || r.body != nil
	for _, p := range list {
		wrong = wrong || !p.names
		absent = absent || p.names
	}
	wrong = wrong || slices.Contains(r.refused, fasthttp.StatusBadRequest)
	absent = absent || slices.Contains(r.refused, fasthttp.StatusNotFound)
	return wrong, absent
}

// path is the pattern as the description has it, where paths have no rest.
func (r line) path() string { return strings.TrimSuffix(r.Pattern, "/*") }

// methods are those of the description.
func (r line) methods() []string {
	switch {
	case r.Method != "":
		return []string{strings.ToLower(r.Method)}
	case r.answer == shape.Text:
		return []string{"get"}
	}
	return []string{"get", "post"}
}

// operationID returns a name for functions of generated clients: the method and the
// literal segments, and the parameter that the pattern ends with.
func (r line) operationID(method string) string {
	var b strings.Builder
	b.WriteString(method)
	segments := strings.Split(strings.TrimPrefix(r.path(), "/"), "/")
	for i, seg := range segments {
		if name, ok := strings.CutPrefix(seg, "{"); ok {
			if i < len(segments)-1 {
				continue
			}
			seg = "by-" + strings.Replace(name, "}", "", 1)
		}
		for word := range strings.FieldsFuncSeq(seg, func(c rune) bool { return strings.ContainsRune("-:._", c) }) {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// tags are the groups of the description, by what patterns start with.
var tags = []struct{ prefix, name, doc string }{
	{signPattern, "signatures", "Signatures of validators under warp messages"},
	{relayerPath, "signatures", ""},
	{"/v1/operations", "exports", "Exports of transactions to files"},
	{"/v1/networks", "primary network", "The P-, X- and C-Chain"},
	{"/v2/networks", "metrics", "Figures by time"},
	{avgTPSPattern, "metrics", ""},
	{"/v1/health-check", "service", "The server itself"},
	{"/v1/live-check", "service", ""},
	{"/v2/health-check", "service", ""},
	{"/v2/live-check", "service", ""},
	{"/v1/icm", "messages", "Messages between chains"},
	{"/v1/teleporter", "messages", ""},
	{"/v1/webhooks", "webhooks", "Calls of the client's own server"},
	{"/v1/events", "events", "What happens, as it happens"},
	{"/v2", "metrics", ""},
	{"/v1/", "chains", "EVM chains: transactions, transfers, balances, contracts"},
	{"/ext", "node", "Node and chain RPC"},
	{"/", "service", ""},
}

func (r line) tag() string {
	for _, t := range tags {
		if strings.HasPrefix(r.Pattern, t.prefix) {
			return t.name
		}
	}
	return ""
}

// describer fills a document.
type describer struct {
	schemas *openapi.Schemas
	doc     *openapi.Document
}

// documentOf returns the description of routes. url is the server's address.
func documentOf(routes []Route, url string) ([]byte, error) {
	d := describer{schemas: openapi.NewSchemas(), doc: &openapi.Document{
		OpenAPI: openapi.Version,
		Info: openapi.Info{Title: "Quorate", Version: "1.0.0", Description: "Signatures of Avalanche validators, data and metrics of chains, and node RPC. " +
			"Unknown parameters are ignored and named in the header " + headerIgnored + ". Answers may have further members. " +
			"Answers about a chain of which something is missing name it in " + headerGaps + ", for example trace 4711-4711; unreadable 4711-4800 is a chain whose index " +
			"stands before a block that this release cannot read, with its time and what a release needs that reads it, as far as they are known."},
		Servers: []openapi.Server{{URL: url}},
		Paths:   map[string]openapi.Operations{},
	}}
	d.doc.Components.Security = map[string]openapi.Security{
		"apiKey":     {Type: "apiKey", In: "header", Name: "x-service-api-key", Description: "Where the server asks for keys."},
		"glacierKey": {Type: "apiKey", In: "header", Name: "x-glacier-api-key", Description: "The same, as the SDKs send it."},
	}
	d.errors()
	seen := map[string]bool{}
	for i := range routes {
		r := line{&routes[i]}
		if err := d.route(r); err != nil {
			return nil, fmt.Errorf("route %s %s: %w", r.Method, r.Pattern, err)
		}
		seen[r.tag()] = true
	}
	for _, t := range tags {
		if seen[t.name] && t.doc != "" {
			d.doc.Tags = append(d.doc.Tags, openapi.Tag{Name: t.name, Description: t.doc})
		}
	}
	var err error
	if d.doc.Components.Schemas, err = d.schemas.Components(); err != nil {
		return nil, err
	}
	return json.Marshal(d.doc)
}

// failures are the errors that are named; all others are the default.
var failures = map[int]string{
	fasthttp.StatusBadRequest:          "The request is wrong; the message says what.",
	fasthttp.StatusUnauthorized:        "The server asks for an API key.",
	fasthttp.StatusForbidden:           "This API key or client is not allowed to do this, or the feature is off.",
	fasthttp.StatusNotFound:            "There is no such thing, or not yet.",
	fasthttp.StatusTooManyRequests:     "The client has used up its compute units.",
	fasthttp.StatusInternalServerError: "A defect of the server.",
	fasthttp.StatusServiceUnavailable:  "Temporarily unavailable: starting, waiting for data, or overloaded.",
}

const otherFailure = "Any other error."

// errorNames are the names of the bodies of errors.
func (d *describer) errors() {
	d.doc.Components.Responses = map[string]*openapi.Response{"Other": d.failure(shape.Error{}, 0)}
	for status := range failures {
		d.doc.Components.Responses[statusName(status)] = d.failure(shape.Error{}, status)
	}
}

func statusName(status int) string {
	return strings.ReplaceAll(fasthttp.StatusMessage(status), " ", "")
}

func (d *describer) failure(body any, status int) *openapi.Response {
	doc, ok := failures[status]
	if !ok {
		doc = otherFailure
	}
	r := &openapi.Response{Description: doc, Content: d.content(body)}
	if status == fasthttp.StatusTooManyRequests || status == fasthttp.StatusServiceUnavailable {
		r.Headers = map[string]openapi.Header{fasthttp.HeaderRetryAfter: {
			Description: "Seconds after which asking again makes sense.", Schema: &openapi.Schema{Type: "integer"},
		}}
	}
	return r
}

// content is a body by its type.
func (d *describer) content(body any) map[string]openapi.Media {
	media := contentJSON
	if file, ok := body.(shape.File); ok {
		return map[string]openapi.Media{string(file): {Schema: file.Schema()}}
	}
	return map[string]openapi.Media{media: {Schema: d.schemas.Of(body)}}
}

func (d *describer) route(r line) error {
	if r.answer == nil {
		return fmt.Errorf("its answer has no type: see package shape")
	}
	params, err := r.described()
	if err != nil {
		return err
	}
	for _, method := range r.methods() {
		op := &openapi.Operation{
			ID: r.operationID(method), Tags: []string{r.tag()}, Responses: d.responses(r),
			Summary: strings.ToUpper(r.Doc[:1]) + r.Doc[1:] + ".", Description: r.cost(),
		}
		if strings.HasSuffix(r.Pattern, "*") {
			op.Description += " Paths below this one are of it, too."
		}
		for _, p := range params {
			op.Parameters = append(op.Parameters, openapi.Parameter{Name: p.name, In: openapi.InPath, Description: p.doc, Required: true, Schema: p.schema})
		}
		op.Parameters = append(op.Parameters, queryParams(r)...)
		switch {
		case r.body != nil:
			op.Body = &openapi.Body{Required: true, Content: d.content(r.body)}
		case r.Method == "" && method == "post":
			op.Body = &openapi.Body{Content: d.content(shape.Any{})}
		}
		switch r.Key {
		case KeyAsConfigured:
			op.Security = []map[string][]string{{}, {"apiKey": {}}, {"glacierKey": {}}}
		case KeyAlways:
			op.Security = []map[string][]string{{"apiKey": {}}, {"glacierKey": {}}}
		case KeyNever:
		}
		if d.doc.Paths[r.path()] == nil {
			d.doc.Paths[r.path()] = openapi.Operations{}
		}
		d.doc.Paths[r.path()][method] = op
	}
	return nil
}

// cost says what a request of the route costs.
func (r line) cost() string {
	text := fmt.Sprintf("Costs %d compute units.", r.Units)
	if r.Units == 1 {
		text = "Costs 1 compute unit."
	}
	if r.Key == KeyAlways {
		text += " Needs an API key."
	}
	return text
}

// queryParams describes those of a route that it does not refuse.
func queryParams(r line) []openapi.Parameter {
	var list []openapi.Parameter
	for i := range r.query {
		p := &r.query[i]
		if p.schema == nil {
			continue
		}
		q := openapi.Parameter{Name: p.name, In: openapi.InQuery, Description: p.doc, Required: p.must, Schema: p.schema}
		if p.name == paramPageSize.name {
			q.Schema = r.size.schema()
		}
		if p.schema.Type == "array" {
			explode := false
			q.Style, q.Explode = "form", &explode
		}
		list = append(list, q)
	}
	return list
}

// responses are the answers of a route.
func (d *describer) responses(r line) map[string]*openapi.Response {
	good := &openapi.Response{Description: "Success."}
	if r.answer != (shape.Nothing{}) {
		good.Content = d.content(r.answer)
	}
	list := map[string]*openapi.Response{strconv.Itoa(r.success()): good}
	if r.answer == shape.Binary {
		list[strconv.Itoa(fasthttp.StatusPartialContent)] = &openapi.Response{Description: "The range that was asked for.", Content: d.content(r.answer)}
	}
	wrong, absent := r.refuses()
	for status, has := range map[int]bool{
		fasthttp.StatusBadRequest: wrong, fasthttp.StatusUnauthorized: r.Key != KeyNever,
		fasthttp.StatusForbidden: r.Key != KeyNever || r.answer == shape.Binary, fasthttp.StatusNotFound: absent,
		fasthttp.StatusTooManyRequests: !r.Probe, fasthttp.StatusInternalServerError: true, fasthttp.StatusServiceUnavailable: true,
	} {
		if has {
			list[strconv.Itoa(status)] = d.refusal(r, status)
		}
	}
	list["default"] = d.refusal(r, 0)
	return list
}

// refusal is an error of a route. A few routes have a form of their own.
func (d *describer) refusal(r line, status int) *openapi.Response {
	switch {
	case r.Pattern == relayerPath:
		return d.failure(shape.RelayerError{}, status)
	case r.Pattern == avgTPSPattern:
		return d.failure(shape.ListError{}, status)
	case r.Pattern == "/health" && status == fasthttp.StatusServiceUnavailable:
		return &openapi.Response{Description: "The server cannot do its work.", Content: d.content(r.answer)}
	case r.node: // a chain's RPC has errors of its own
		return d.failure(shape.Any{}, status)
	case status == 0:
		return &openapi.Response{Ref: "#/components/responses/Other"}
	}
	return &openapi.Response{Ref: "#/components/responses/" + statusName(status)}
}
