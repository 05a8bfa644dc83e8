package service

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/etherscan"
	"quorate/httpapi/openapi"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
	"quorate/httpapi/sign"
)

var (
	txHashLike  = door.TextLike("^0[xX][0-9a-fA-F]{64}$", "0x"+strings.Repeat("0a", 32))
	blockLike   = door.TextLike("^([0-9]{1,19}|0[xX][0-9a-fA-F]{64})$", "1")
	eitherID    = door.TextLike("^(0[xX][0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{33,51})$", "0x"+strings.Repeat("0a", 32))
	networkLike = &openapi.Schema{Type: "string", Enum: []string{"mainnet", "fuji", "testnet"}}
)

// pathParams are those that mean the same on all routes but on those which have their own.
var (
	pathParams = []door.PathParam{
		{Name: "network", Doc: "the network", Schema: networkLike, Names: true},
		{Name: "chainId", Doc: "the chain, by number, blockchain ID or alias; of metrics also total, mainnet and testnet", Schema: named("43114"), Names: true},
		{Name: "chain", Doc: "the chain, by blockchain ID or alias", Schema: named("C"), Names: true},
		{Name: "operationId", Doc: "the operation", Schema: named("00000000-0000-4000-8000-000000000000"), Names: true},
		{Name: "webhookId", Doc: "the webhook", Schema: named("00000000-0000-4000-8000-000000000000"), Names: true},
		{Name: "address", Doc: "an address", Schema: door.AddressLike(), Names: false},
		{Name: "txHash", Doc: "a transaction", Schema: txHashLike, Names: false},
		{Name: "blockId", Doc: "a block, by number or hash", Schema: blockLike, Names: false},
		{Name: "tokenId", Doc: "a token of a contract, by its ID in decimal", Schema: door.TextLike("^[0-9]{1,78}$", "1"), Names: false},
		{Name: "blockchainId", Doc: "a chain of the primary network, by alias or ID", Schema: named("p-chain"), Names: true},
		{Name: "nodeId", Doc: "a node", Schema: door.NodeLike(), Names: false},
		{Name: "subnetId", Doc: "a subnet", Schema: door.IDLike(), Names: false},
		{Name: "l1ValidationId", Doc: "a validation of an L1", Schema: door.IDLike(), Names: false},
		{Name: "assetId", Doc: "an asset", Schema: door.IDLike(), Names: false},
		{Name: "vertexHash", Doc: "a vertex", Schema: door.IDLike(), Names: false},
		{Name: "messageId", Doc: "an interchain message, in hex or CB58", Schema: eitherID, Names: false},
	}
)

// named is the schema of a name, with one of them.
func named(example string) *openapi.Schema {
	return &openapi.Schema{Type: "string", MinLength: 1, Example: example}
}

// Line is a route as the description has it.
type Line struct{ *door.Route }

// Described returns the parameters of a route's pattern in their order.
func (r Line) Described() ([]door.PathParam, error) {
	var list []door.PathParam
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

func (r Line) pathParam(name string) (door.PathParam, bool) {
	if name == "metric" && len(r.Choices) > 0 {
		return door.PathParam{Name: name, Doc: "the metric", Schema: &openapi.Schema{Type: "string", Enum: r.Choices}, Names: false}, true
	}
	for _, list := range [][]door.PathParam{r.PathParams, pathParams} {
		for _, p := range list {
			if p.Name == name {
				return p, true
			}
		}
	}
	return door.PathParam{}, false
}

// refuses reports whether a request can be wrong in itself (400), and whether it can name
// what is not there (404).
func (r Line) refuses() (wrong, absent bool) {
	list, _ := r.Described()
	wrong = len(r.Query) > 0 || r.Body != nil
	for _, p := range list {
		wrong = wrong || !p.Names
		absent = absent || p.Names
	}
	wrong = wrong || slices.Contains(r.Refused, fasthttp.StatusBadRequest)
	absent = absent || slices.Contains(r.Refused, fasthttp.StatusNotFound)
	return wrong, absent
}

// Path is the pattern as the description has it, where paths have no rest.
func (r Line) Path() string { return strings.TrimSuffix(r.Pattern, "/*") }

// Methods are those of the description.
func (r Line) Methods() []string {
	switch {
	case r.Method != "":
		return []string{strings.ToLower(r.Method)}
	case r.Answer == shape.Text:
		return []string{"get"}
	}
	return []string{"get", "post"}
}

// OperationID returns a name for functions of generated clients: that of the SDKs, or else
// the method and the literal segments, and the parameter that the pattern ends with.
func (r Line) OperationID(method string) string {
	if id := openapi.OperationIDs[strings.ToUpper(method)+" "+r.Path()]; id != "" {
		return id
	}
	var b strings.Builder
	b.WriteString(method)
	segments := strings.Split(strings.TrimPrefix(r.Path(), "/"), "/")
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
	{sign.Pattern, "signatures", "Signatures of validators under warp messages"},
	{sign.RelayerPath, "signatures", ""},
	{"/v1/operations", "exports", "Exports of transactions to files"},
	{"/v1/networks", "primary network", "The P-, X- and C-Chain"},
	{"/v2/networks", "metrics", "Figures by time"},
	{"/v1/avg_tps", "metrics", ""},
	{etherscan.Path, "tools", "Tools that speak Etherscan's dialect"},
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

func (r Line) tag() string {
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

// Document returns the description of routes. url is the server's address.
func Document(routes []door.Route, url string) ([]byte, error) {
	d := describer{schemas: openapi.NewSchemas(), doc: &openapi.Document{
		OpenAPI: openapi.Version,
		Info: openapi.Info{Title: "Quorate", Version: "1.0.0", Description: "Signatures of Avalanche validators, data and metrics of chains, and node RPC. " +
			"Unknown parameters are ignored and named in the header " + door.HeaderIgnored + ". Answers may have further members. " +
			"Answers about a chain of which something is missing name it in " + reply.HeaderGaps + ", for example trace 4711-4711; unreadable 4711-4800 is a chain whose index " +
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
		r := Line{&routes[i]}
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
	media := door.ContentJSON
	if file, ok := body.(shape.File); ok {
		return map[string]openapi.Media{string(file): {Schema: file.Schema()}}
	}
	return map[string]openapi.Media{media: {Schema: d.schemas.Of(body)}}
}

func (d *describer) route(r Line) error {
	if r.Answer == nil {
		return fmt.Errorf("its answer has no type: see package shape")
	}
	params, err := r.Described()
	if err != nil {
		return err
	}
	for _, method := range r.Methods() {
		op := &openapi.Operation{
			ID: r.OperationID(method), Tags: []string{r.tag()}, Responses: d.responses(r),
			Summary: strings.ToUpper(r.Doc[:1]) + r.Doc[1:] + ".", Description: r.cost(),
		}
		if strings.HasSuffix(r.Pattern, "*") {
			op.Description += " Paths below this one are of it, too."
		}
		for _, p := range params {
			op.Parameters = append(op.Parameters, openapi.Parameter{Name: p.Name, In: openapi.InPath, Description: p.Doc, Required: true, Schema: p.Schema})
		}
		op.Parameters = append(op.Parameters, QueryParams(r)...)
		switch {
		case r.Body != nil:
			op.Body = &openapi.Body{Required: true, Content: d.content(r.Body)}
		case r.Method == "" && method == "post":
			op.Body = &openapi.Body{Content: d.content(shape.Any{})}
		}
		switch r.Key {
		case door.KeyAsConfigured:
			op.Security = []map[string][]string{{}, {"apiKey": {}}, {"glacierKey": {}}}
		case door.KeyAlways:
			op.Security = []map[string][]string{{"apiKey": {}}, {"glacierKey": {}}}
		case door.KeyNever:
		}
		if d.doc.Paths[r.Path()] == nil {
			d.doc.Paths[r.Path()] = openapi.Operations{}
		}
		d.doc.Paths[r.Path()][method] = op
	}
	return nil
}

// cost says what a request of the route costs.
func (r Line) cost() string {
	text := fmt.Sprintf("Costs %d compute units.", r.Units)
	if r.Units == 1 {
		text = "Costs 1 compute unit."
	}
	if r.Key == door.KeyAlways {
		text += " Needs an API key."
	}
	return text
}

// QueryParams describes those of a route that it does not refuse.
func QueryParams(r Line) []openapi.Parameter {
	var list []openapi.Parameter
	for i := range r.Query {
		p := &r.Query[i]
		if p.Schema == nil {
			continue
		}
		q := openapi.Parameter{Name: p.Name, In: openapi.InQuery, Description: p.Doc, Required: p.Must, Schema: p.Schema}
		if p.Name == door.ParamPageSize.Name {
			q.Schema = r.Size.Schema()
		}
		if p.Schema.Type == "array" {
			explode := false
			q.Style, q.Explode = "form", &explode
		}
		list = append(list, q)
	}
	return list
}

// responses are the answers of a route.
func (d *describer) responses(r Line) map[string]*openapi.Response {
	good := &openapi.Response{Description: "Success."}
	if r.Answer != (shape.Nothing{}) {
		good.Content = d.content(r.Answer)
	}
	list := map[string]*openapi.Response{strconv.Itoa(r.Success()): good}
	if r.Answer == shape.Binary {
		list[strconv.Itoa(fasthttp.StatusPartialContent)] = &openapi.Response{Description: "The range that was asked for.", Content: d.content(r.Answer)}
	}
	wrong, absent := r.refuses()
	for status, has := range map[int]bool{
		fasthttp.StatusBadRequest: wrong, fasthttp.StatusUnauthorized: r.Key != door.KeyNever,
		fasthttp.StatusForbidden: r.Key != door.KeyNever || r.Answer == shape.Binary, fasthttp.StatusNotFound: absent,
		fasthttp.StatusTooManyRequests: !r.Probe, fasthttp.StatusInternalServerError: true, fasthttp.StatusServiceUnavailable: true,
	} {
		if has {
			list[strconv.Itoa(status)] = d.refusal(r, status)
		}
	}
	list["default"] = d.refusal(r, 0)
	return list
}

func isHealth(answer any) bool {
	_, ok := answer.(shape.Health)
	return ok
}

// refusal is an error of a route. A few routes have a form of their own.
func (d *describer) refusal(r Line, status int) *openapi.Response {
	switch {
	case r.Refusal != nil:
		return d.failure(r.Refusal.Body, status)
	case isHealth(r.Answer) && status == fasthttp.StatusServiceUnavailable:
		return &openapi.Response{Description: "The server cannot do its work.", Content: d.content(r.Answer)}
	case r.Node, r.Pattern == etherscan.Path: // they have errors of their own
		return d.failure(shape.Any{}, status)
	case status == 0:
		return &openapi.Response{Ref: "#/components/responses/Other"}
	}
	return &openapi.Response{Ref: "#/components/responses/" + statusName(status)}
}
