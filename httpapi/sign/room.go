package sign

import (
	"context"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/aggregator/valset"
	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/limit"
	primaryapi "quorate/httpapi/primary"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

// Aggregator has messages signed. It must answer within bounded time on its own
// account: ctx ends only when the server is stopped by force.
// Its errors should be of type *[aggregator.Error].
type Aggregator interface {
	Aggregate(ctx context.Context, req *aggregator.Request) (*aggregator.Result, error)
	// Validators returns the set that a request's SigningSubnetID has at its PChainHeight.
	Validators(ctx context.Context, req *aggregator.Request) (*valset.Set, error)
}

// Networks returns the networks that are followed. It is called for each request.
type Networks interface {
	// ByName returns the network called mainnet, fuji or testnet.
	ByName(name string) (Aggregator, bool)
	// ByID returns the network whose messages carry networkID.
	ByID(networkID uint32) (Aggregator, bool)
}

// Room has messages signed. The zero value only has routes.
type Room struct {
	Networks Networks
	// EVM are the chains whose transactions are looked at for messages; nil: of none.
	EVM evmapi.Chains
	// Primary are the networks whose P-Chain is; nil: of none.
	Primary primaryapi.Networks
	Limits  *limit.Limiter
	// Received returns when a request arrived.
	Received func(ctx *fasthttp.RequestCtx) time.Time

	desk    *reply.Desk
	repeats *repeats
}

// Use readies the room for requests. size bounds the requests that are kept, in bytes.
func (m *Room) Use(desk *reply.Desk, size int64) { m.desk, m.repeats = desk, newRepeats(size) }

// Bytes returns how many bytes of requests and answers are kept.
func (m *Room) Bytes() int64 { return m.repeats.kept.Bytes() }

const (
	// Pattern is what signs what is in a body, and what the others start with.
	Pattern = "/v1/signatureAggregator/{network}/aggregateSignatures"
	// RelayerPath is the drop-in for the relayer's own aggregator, with error bodies of its own.
	RelayerPath = "/aggregate-signatures"
)

// Routes are all that signs.
func (m *Room) Routes() []door.Route {
	list := []door.Route{
		{
			Method: fasthttp.MethodPost, Pattern: Pattern, Units: door.UnitsMedium,
			Doc:    "has a warp message signed by a quorum of validators",
			Answer: shape.SignedMessage{}, Body: shape.AggregateRequest{}, Status: fasthttp.StatusCreated, Make: door.Plain(m.aggregateSignatures),
		},
		{
			Method: fasthttp.MethodGet, Pattern: Pattern + "/{txHash}", Units: door.UnitsMedium, Cookie: true,
			Doc: "has the warp messages of a transaction signed",
			Off: m.EVM == nil, PathParams: pathParams, Answer: shape.SignedMessages{}, Status: fasthttp.StatusCreated, Make: door.Plain(m.signTransaction),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v1/signatureAggregator/{network}/validators", Units: door.UnitsMedium,
			Doc:    "returns the validators whose signatures the bits of a signed message stand for",
			Query:  []door.Param{paramSetHeight, paramSetSubnet},
			Answer: shape.SigningSet{}, Make: m.signingSet,
		},
		{
			Method: fasthttp.MethodPost, Pattern: RelayerPath, Units: door.UnitsMedium,
			Doc:    "has a warp message signed, in the form of the relayers' own aggregator",
			Answer: shape.RelayerSignedMessage{}, Body: shape.RelayerRequest{}, Refusal: &door.Refusal{Body: shape.RelayerError{}, Append: AppendError}, Make: door.Plain(m.relayerSignatures),
		},
	}
	for i := range list {
		list[i].Needs = door.NeedsStake
	}
	return list
}

// AppendError appends the body of an error in the form of the relayers' own aggregator.
func AppendError(dst []byte, _ int, message string) []byte {
	dst = append(dst, `{"error":`...)
	dst = view.AppendString(dst, message)
	return append(dst, '}')
}

// pathParams are those that mean something else here than on EVM chains.
var pathParams = []door.PathParam{{
	Name: "txHash", Doc: "a transaction of an EVM chain, by hash, or of the P-Chain, by ID; else a warp message, by ID in hex or CB58",
	Schema: door.TextLike("^(0[xX][0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{33,51})$", "0x"+strings.Repeat("0a", 32)), Names: false,
}}

// The headers of answers.
const (
	// HeaderPChainHeight is the height of the validators that signed a message.
	HeaderPChainHeight = "X-P-Chain-Height"
	// HeaderQuorumNote warns of a quorum of 0, which every signature fulfils.
	HeaderQuorumNote = "X-Quorum-Note"
	quorumNote       = "a quorum of 0 is reached by any signature; chains that check the message ask for more and refuse it"
)
