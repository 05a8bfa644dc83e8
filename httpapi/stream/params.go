package stream

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"quorate/aggregator"
	"quorate/engine/chain/evm"
	"quorate/engine/events"
	"quorate/httpapi/door"
	"quorate/httpapi/openapi"
)

const (
	// maxEventChains bounds the chains of one stream, maxEventDestinations the chains
	// that its messages may be for.
	maxEventChains       = 8
	maxEventDestinations = 32
	// maxLastEventID bounds the length of a position of a stream.
	maxLastEventID = maxEventChains * 160
)

// Query holds the parameters of a stream of events.
type Query struct {
	topics       topicSet
	chains       []string
	addresses    map[evm.Address]bool
	tokens       map[evm.Address]bool
	destinations []string
	quorum       int
	after        map[string]events.Position // by EVM chain number: a Last-Event-ID for clients that cannot send the header
	start        *uint64
}

// ofStream returns the parameters that only these routes know.
func ofStream(q *door.Query) *Query { return q.Own.(*Query) }

// topicSet is a set of topics.
type topicSet uint8

const (
	topicBlocks topicSet = 1 << iota
	topicTransactions
	topicTransfers
	topicMessages
	topicValidators
	topicHealth

	chainTopics = topicBlocks | topicTransactions | topicTransfers | topicMessages
)

var topicNames = map[string]topicSet{
	"blocks": topicBlocks, "transactions": topicTransactions, "transfers": topicTransfers, "messages": topicMessages,
	"validators": topicValidators, "health": topicHealth,
}

// topicList returns the names of the topics.
func topicList() []string { return slices.Sorted(maps.Keys(topicNames)) }

// namesOf is the schema of a list of names of chains.
func namesOf(most int) *openapi.Schema {
	return &openapi.Schema{Type: "array", Items: door.TextLike("^[0-9A-Za-z._-]+$", "C"), MinItems: 1, MaxItems: most}
}

// percent is the schema of a share of the stake.
func percent() *openapi.Schema {
	s := door.Whole()
	*s.Minimum, *s.Maximum = 1, 100
	s.Default = aggregator.DefaultQuorum
	return s
}

var (
	paramTopics = door.Needed(door.Param{Name: "topics", Doc: "which events are sent", Schema: door.ListOf(&openapi.Schema{Type: "string", Enum: topicList()}), Set: func(q *door.Query, v []byte) string {
		for item := range bytes.SplitSeq(v, door.Comma) {
			topic, ok := topicNames[string(item)]
			if !ok {
				return "must be of blocks, transactions, transfers, messages, validators and health, separated by commas, not " + door.Excerpt(item)
			}
			ofStream(q).topics |= topic
		}
		return ""
	}})
	paramEventChains = door.Param{Name: "chainId", Doc: "the chains of blocks, transactions, transfers and messages, by number, blockchain ID or alias; for messages they are the sources", Schema: namesOf(maxEventChains), Set: func(q *door.Query, v []byte) (problem string) {
		ofStream(q).chains, problem = nameList(v, maxEventChains)
		return problem
	}}
	paramEventAddresses = door.Param{Name: "addresses", Doc: "those that transactions and transfers concern", Schema: door.ListOf(door.AddressLike()), Set: func(q *door.Query, v []byte) (problem string) {
		ofStream(q).addresses, problem = addressSet(v)
		return problem
	}}
	paramEventTokens = door.Param{Name: "contractAddresses", Doc: "the tokens whose transfers are sent", Schema: door.ListOf(door.AddressLike()), Set: func(q *door.Query, v []byte) (problem string) {
		ofStream(q).tokens, problem = addressSet(v)
		return problem
	}}
	paramDestinations = door.Param{Name: "destinationBlockchainId", Doc: "the chains that messages are for", Schema: namesOf(maxEventDestinations), Set: func(q *door.Query, v []byte) (problem string) {
		ofStream(q).destinations, problem = nameList(v, maxEventDestinations)
		return problem
	}}
	paramEventQuorum = door.Param{Name: "quorumPercentage", Doc: "the share of the stake that signs a message", Schema: percent(), Set: func(q *door.Query, v []byte) string {
		n, ok := door.ParseUint(v)
		if ofStream(q).quorum = int(n); !ok || n < 1 || n > 100 {
			return "must be a whole number from 1 to 100, not " + door.Excerpt(v)
		}
		return ""
	}}
	paramLastEventID = door.Param{Name: "lastEventId", Doc: "the ID of the event after which to go on, for clients that cannot send the header Last-Event-ID", Schema: door.TextLike(eventIDPattern, "43114:1200..hCqF4Ra-wPg_ONd8"), Set: func(q *door.Query, v []byte) string {
		if ofStream(q).after = parseEventID(string(v)); ofStream(q).after == nil {
			return "is not the ID of an event of this server: " + door.Excerpt(v)
		}
		return ""
	}}
	paramEventStart = door.Param{Name: "startBlock", Doc: "the block to begin with, of one chain", Schema: door.Whole(), Set: func(q *door.Query, v []byte) string {
		ofStream(q).start = new(uint64)
		return door.SetUint(ofStream(q).start, v)
	}}
)

// nameList reads names that are separated by commas.
func nameList(v []byte, most int) (list []string, problem string) {
	for item := range bytes.SplitSeq(v, door.Comma) {
		for _, c := range item {
			if ok := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '.' || c == '_' || c == '-'; !ok {
				return nil, "has an item that is no name of a chain: " + door.Excerpt(item)
			}
		}
		if len(item) == 0 {
			return nil, "has an empty item"
		}
		if !slices.Contains(list, string(item)) {
			list = append(list, string(item))
		}
	}
	if len(list) > most {
		return nil, "has more than " + strconv.Itoa(most) + " items"
	}
	return list, ""
}

// addressSet reads addresses that are separated by commas.
func addressSet(v []byte) (map[evm.Address]bool, string) {
	set := make(map[evm.Address]bool)
	for item := range bytes.SplitSeq(v, door.Comma) {
		var a evm.Address
		if !door.ParseAddress(bytes.TrimSpace(item), &a) {
			return nil, "has an item that " + door.NotAddress(item)
		}
		if set[a] = true; len(set) > door.MaxListed {
			return nil, "has more than " + strconv.Itoa(door.MaxListed) + " addresses"
		}
	}
	return set, ""
}
