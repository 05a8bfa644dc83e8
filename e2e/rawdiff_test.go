package e2e

import "fmt"

// rawDifference is a deliberate difference in the answers to some raw requests.
type rawDifference struct {
	cases []string
	in    string // the aspects in which the answers are not alike
	why   string
}

const (
	// refusedInsteadOfDone is how an error differs from a result.
	refusedInsteadOfDone = "code, data, error members, members, message"
	// otherAnswer is how an answer in text differs from a report.
	otherAnswer = "checks, end, healthy, members, status, text, type"
)

// rawDifferenceList holds all deliberate differences between the product and a
// real node. Requests that are not named here get like answers.
var rawDifferenceList = []rawDifference{
	{
		[]string{"chain RPC of a batch"}, "text",
		"methods outside the list of --chain-rpc are refused without asking the node",
	},
	{
		[]string{"chain RPC of nonsense"}, "data, end, error members, members, message",
		"a call is read before it is passed on, and the error says what is wrong with it",
	},
	{
		[]string{"chain alone"}, "code, data, end, error members, id, jsonrpc, members, message, text, type",
		"whoever asks a chain gets an error of JSON-RPC",
	},
	{
		[]string{"host by name", "host like an address", "host by name, nothing there"}, "text",
		"the text names the host and the flag that lets it in",
	},
	{
		[]string{"foreign origin of health"}, "cors",
		"health is for operators: no page of another origin reads it",
	},
	{
		[]string{"broken escape"}, "node ID, vary",
		"every answer has these headers; the node's HTTP library answers before the node sees the request",
	},
	{
		[]string{"HEAD health"}, "status, type",
		"HEAD works wherever GET does; on the node only below /ext/health/",
	},
	{
		[]string{"POST readiness"}, "allow, " + otherAnswer,
		"the contract has GET alone on the paths below /ext/health/; the node gives the report to any verb",
	},
	{
		[]string{"chain RPC by GET"}, "status, text, type",
		"JSON-RPC is sent by POST; the chain's own server gives an empty answer to GET, which tells nothing",
	},
	{
		[]string{"host IPv6"}, otherAnswer,
		"an IPv6 address is an address also without a port",
	},
	{
		[]string{"foreign origin"}, "cors, end, id, jsonrpc, members, result, status, text, type",
		"the administration has no credentials, so a page of another origin must not drive it",
	},
	{
		[]string{"foreign preflight"}, "cors, status, text, type",
		"the administration has no credentials, so a page of another origin must not drive it",
	},
	{
		[]string{"id text", "id object"}, "id",
		"an id comes back byte for byte; the node writes the same value in another form",
	},
	{
		[]string{"long body"}, "end, id, jsonrpc, members, result, status, text, type",
		"bodies are bounded; the node takes any",
	},
	{
		[]string{"long params of a wrong version"}, "data",
		"an error does not send long input back",
	},
	{
		[]string{"method outside the contract"}, "code, data, error members, members, message, result",
		"the contract does not have it, and it would show the configuration",
	},
	{
		[]string{"one level"}, "result",
		"the result is {} by the contract; the node gives the new levels",
	},
	{
		[]string{"level unknown", "level empty"}, "message",
		"the message names the member and the levels that there are",
	},
	{
		[]string{"alias with dots", "alias with a slash before", "alias with a slash behind", "alias with a line break", "alias that is a pattern"},
		refusedInsteadOfDone,
		"the node takes names that no client can ask for or that its router reads as a pattern",
	},
	{
		[]string{"alias of nothing", "alias of no endpoint"}, refusedInsteadOfDone,
		"the node takes an alias of what is not there, and the name is lost",
	},
	{
		[]string{"aliases of nothing", "aliases without a chain", "aliases of a zero"}, "message",
		"by the contract a chain's alias is taken here too, so the error is not about the form of an ID",
	},
}

// rawDifferences returns the differences by the names of their cases.
func rawDifferences() (map[string]rawDifference, error) {
	all := map[string]rawDifference{}
	for _, d := range rawDifferenceList {
		for _, name := range d.cases {
			if _, ok := all[name]; ok {
				return nil, fmt.Errorf("two differences are listed for %q", name)
			}
			all[name] = d
		}
	}
	return all, nil
}
