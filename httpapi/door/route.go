package door

import (
	"github.com/valyala/fasthttp"
)

// What requests cost, in compute units: as on the public service.
const (
	UnitsFree   = 1
	UnitsMedium = 20
	UnitsLarge  = 100
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
	// pages in a browser.
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

// Need is what not every server has.
type Need uint8

const (
	// NeedsNothing that a server could lack.
	NeedsNothing Need = iota
	// NeedsStake of validators that are connected, of the network that a request names.
	NeedsStake
	// NeedsNode that answers for the chain that a request names.
	NeedsNode
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
	// KeyParam is the parameter of the query, or of a form, with an API key: a known one
	// counts, as do all where the server asks for keys. Empty if there is none.
	KeyParam string
	// Probe routes are charged but never refused: answering costs no more than
	// refusing, and a health check must not fail because others share its address.
	Probe bool

	// ID stands for the route in page tokens: a number is never used again.
	ID    uint8
	Query []Param // parameters of the query that it knows
	Size  PageSize
	// Own makes room for those of the parameters that only its topic knows, as [Query.Own];
	// nil if there are none.
	Own  func() any
	Make Maker
	// Off: the server was not given what the route needs, and does not serve it.
	Off bool
	// Node routes pass on what a node answers, with errors of its own.
	Node bool
	// Owned: the answer belongs to its client, or does not come at once, so that pages of
	// this server do not ask for it.
	Owned bool
	// Home: in a fleet only one server has what the route is about, and the others ask it.
	Home bool
	// Needs is what a server of a fleet may lack that the route cannot do without: requests are
	// passed on to one that has it.
	Needs Need
	// AnyChain: the chain of the pattern need not be one of the primary network.
	AnyChain bool
	// Page routes are for browsers: what they refuse is a page, too. Answers of kept ones
	// are kept for a moment.
	Page, Kept bool
	// Cookie routes take the API key also from the cookie that pages set: browsers open
	// them without a header of their own.
	Cookie bool

	// For the description of the API; tests hold real answers against them.

	// Answer is a value of the type of a success's body, of package shape; body is that of
	// the request's, nil if it has none.
	Answer, Body any
	// Status is that of a success; 0 is 200.
	Status int
	// Refused are statuses of refusals that do not follow from the pattern's parameters,
	// the query and the body: see package service.
	Refused []int
	// Refusal is the form of the errors of the route, and of what is below the literal part of
	// its pattern; nil is the common form.
	Refusal *Refusal
	// PathParams are parameters of the pattern that mean something else here than elsewhere.
	PathParams []PathParam
	// Choices are what the pattern's metric can be.
	Choices []string
}

// Maker makes the handler of a route.
type Maker func(r *Route) Handler

// Plain makes a handler that needs nothing of its route.
func Plain(h Handler) Maker { return func(*Route) Handler { return h } }

// Success is the status of a success.
func (r *Route) Success() int {
	if r.Status == 0 {
		return fasthttp.StatusOK
	}
	return r.Status
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

// Serves reports whether a route is answered on a listener.
func (s Scope) Serves(a Access) bool {
	return s != ForClients || a != Operator
}
