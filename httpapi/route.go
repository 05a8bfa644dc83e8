package httpapi

import (
	"github.com/valyala/fasthttp"
)

// What requests cost, in compute units: as on the public service.
const (
	unitsFree   = 1
	unitsMedium = 20
	unitsLarge  = 100
)

// KeyPolicy says whether a route needs an API key.
type KeyPolicy uint8

const (
	// KeyAsConfigured: where the server asks for API keys, the route needs one.
	KeyAsConfigured KeyPolicy = iota
	// KeyNever: the route never needs a key. A known one still counts, so that it
	// raises the rate.
	KeyNever
	// KeyAlways: the route is about what belongs to its client, so that it needs a key also
	// where others do not: an address is shared with whoever is behind it, such as the web
	// pages in a browser. See [Config.WebhooksKeyless].
	KeyAlways
)

// Access says on which listeners a route is served; see [Scope].
type Access uint8

const (
	// Public routes are for clients, and so for pages of other origins: CORS is theirs
	// alone. Operators' listeners have them for our own pages there, without CORS.
	Public Access = iota
	// Operator routes are for whoever runs the server.
	Operator
	// Everywhere is for probes and pages, which are asked for from both sides.
	Everywhere
)

// Route is a line of the table of what is served. Everything that depends on the
// route follows from its line: what a request costs, whether it needs a key, which
// chain it names, and on which listeners it is answered.
type Route struct {
	// Method is the only one served; HEAD comes with GET, and OPTIONS with any. Empty
	// leaves the method to the handler.
	Method string
	// Pattern has literal segments, such as "balances:getNative", segments "{name}",
	// which take any one segment, "{name}:verb", which take one that ends so, and at the end perhaps "*", which takes any rest,
	// also none.
	Pattern string
	// Doc says what the route answers.
	Doc string
	// Units is the price of a request in compute units. For /ext/bc it is the least:
	// [Config.ExtCost] knows the price of a call.
	Units int
	// Key says whether a request needs an API key.
	Key KeyPolicy
	// Chain is the parameter of Pattern that names a chain, empty if none does.
	Chain string
	// Access says on which listeners the route is served.
	Access Access
	// Probe routes are charged but never refused: answering costs no more than
	// refusing, and a health check must not fail because others share its address.
	Probe bool

	// id stands for the route in page tokens: a number is never used again.
	id    uint8
	query []param // parameters of the query that it knows
	size  pageSize
	make  maker
	// off: the server was not given what the route needs, and does not serve it.
	off bool
	// node routes pass on what a node answers, with errors of its own.
	node bool
	// owned: the answer belongs to its client, or does not come at once, so that pages of
	// this server do not ask for it.
	owned bool
	// anyChain: the chain of the pattern need not be one of the primary network.
	anyChain bool
	// page routes are for browsers: what they refuse is a page, too. Answers of kept ones
	// are kept for a moment.
	page, kept bool
	// cookie routes take the API key also from the cookie that pages set: browsers open
	// them without a header of their own.
	cookie bool

	// For the description of the API; tests hold real answers against them.

	// answer is a value of the type of a success's body, of package shape; body is that of
	// the request's, nil if it has none.
	answer, body any
	// status is that of a success; 0 is 200.
	status int
	// refused are statuses of refusals that do not follow from the pattern's parameters,
	// the query and the body: see [line.refuses].
	refused []int
	// pathParams are parameters of the pattern that mean something else here than elsewhere.
	pathParams []pathParam
	// choices are what the pattern's metric can be.
	choices []string
}

// maker makes the handler of a route.
type maker func(r *Route) handler

// plain makes a handler that needs nothing of its route.
func plain(h handler) maker { return func(*Route) handler { return h } }

// success is the status of a success.
func (r *Route) success() int {
	if r.status == 0 {
		return fasthttp.StatusOK
	}
	return r.status
}

// Scope says what a listener serves.
type Scope uint8

const (
	// All: everything. For a server that only its own machine can reach.
	All Scope = iota
	// ForClients: what is public, and of the server's health yes or no.
	ForClients
	// ForOperators: everything, but nothing to pages of other origins.
	ForOperators
)

// serves reports whether a route is answered on a listener.
func (s Scope) serves(a Access) bool {
	return s != ForClients || a != Operator
}
