package httpapi

import (
	"math"
	"strings"

	"quorate/httpapi/openapi"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// param is a parameter of the query that a route knows.
type param struct {
	name string
	// doc says what it is for, and schema what it can be, in the API's description. set
	// has the last word: tests hold it against the schema. A nil schema is that of a
	// parameter that is known and always refused.
	doc    string
	schema *openapi.Schema
	// set stores a value, or says what is wrong with it as the end of a sentence that
	// begins with the name.
	set func(q *query, v []byte) string
	// must is set if there is no request without it.
	must bool
	// repeats is set if it may be given several times.
	repeats bool
}

// needed returns a parameter that must be given.
func needed(p param) param {
	p.must = true
	return p
}

// choice makes a parameter that is one of some words. def is the one that counts where
// none is given, empty if that is something else than any of them.
func choice(name, doc, def string, words []string, take func(q *query, word string)) param {
	last := len(words) - 1
	want := "must be " + words[0] + ", not "
	if last > 0 {
		want = "must be " + strings.Join(words[:last], ", ") + " or " + words[last] + ", not "
	}
	s := &openapi.Schema{Type: "string", Enum: words}
	if def != "" {
		s.Default = def
	}
	return param{name: name, doc: doc, schema: s, set: func(q *query, v []byte) string {
		for _, w := range words {
			if w == string(v) {
				take(q, w)
				return ""
			}
		}
		return want + excerpt(v)
	}}
}

// yesNo makes a parameter that is true or false.
func yesNo(name, doc string, def bool, take func(q *query, v bool)) param {
	s := &openapi.Schema{Type: "boolean", Default: def}
	return param{name: name, doc: doc, schema: s, set: func(q *query, v []byte) string {
		yes := string(v) == "true"
		if !yes && string(v) != "false" {
			return "must be true or false, not " + excerpt(v)
		}
		take(q, yes)
		return ""
	}}
}

// whole is the schema of what parseUint reads.
func whole() *openapi.Schema {
	least, most := uint64(0), uint64(math.MaxInt64)
	return &openapi.Schema{Type: "integer", Format: "int64", Minimum: &least, Maximum: &most}
}

func textLike(pattern, example string) *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: pattern, Example: example}
}

// listOf is the schema of a comma-separated list.
func listOf(item *openapi.Schema) *openapi.Schema {
	return &openapi.Schema{Type: "array", Items: item, MinItems: 1, MaxItems: maxListed}
}

const sampleAddress = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F"

func addressLike() *openapi.Schema { return textLike("^0[xX][0-9a-fA-F]{40}$", sampleAddress) }

// The parameters of the contract.
var (
	paramPageToken = param{name: "pageToken", doc: "the nextPageToken of the page before", schema: &openapi.Schema{Type: "string", MinLength: 1}, set: func(q *query, v []byte) string {
		q.pageToken = v
		return ""
	}}
	paramNoPageToken = param{name: "pageToken", set: func(*query, []byte) string {
		return "is of another list: this one has a single page"
	}}
	// Its bounds are the route's: parse checks them, and the description has them.
	paramPageSize = param{name: "pageSize", doc: "how many items a page has at most", schema: whole(), set: func(q *query, v []byte) string {
		q.pageSize = math.MaxInt
		if n, ok := parseUint(v); ok && n < math.MaxInt32 {
			q.pageSize = int(n)
		} else if v[0] == '-' {
			q.pageSize = -1
		}
		return ""
	}}
	paramStartBlock = param{name: "startBlock", doc: "the first block, by number", schema: whole(),
		set: func(q *query, v []byte) string { return setUint(&q.start, v) }}
	paramEndBlock = param{name: "endBlock", doc: "the block before which the list ends, by number", schema: whole(),
		set: func(q *query, v []byte) string { return setUint(&q.end, v) }}
	paramBlockNumber = param{name: "blockNumber", doc: "the block after which the balance is; else the latest", schema: whole(), set: func(q *query, v []byte) string {
		q.atBlock = true
		return setUint(&q.block, v)
	}}
	paramStartTimestamp = param{name: "startTimestamp", doc: "the first second, in Unix time", schema: whole(),
		set: func(q *query, v []byte) string { return setSeconds(&q.since, v) }}
	paramEndTimestamp = param{name: "endTimestamp", doc: "the second before which the list ends, in Unix time", schema: whole(),
		set: func(q *query, v []byte) string { return setSeconds(&q.until, v) }}
	paramTimeInterval = choice("timeInterval", "the length of the buckets", rollup.Day.String(),
		[]string{rollup.Hour.String(), rollup.Day.String(), rollup.Week.String(), rollup.Month.String()},
		func(q *query, v string) { q.interval, _ = rollup.ParseInterval(v) })
	paramSortOrder = choice("sortOrder", "oldest (asc) or newest (desc) first", "desc", []string{"asc", "desc"},
		func(q *query, v string) { q.ascending = v == "asc" })
	paramStatus = choice("status", "only those that failed, or had success", "", []string{"failed", "success"}, func(q *query, v string) {
		if q.status = onlySuccess; v == "failed" {
			q.status = onlyFailed
		}
	})
	paramFilterSpam = yesNo("filterSpamTokens", "whether tokens known to be malicious are left out", true,
		func(q *query, v bool) { q.keepSpam = !v })
	paramCurrency = param{name: "currency", doc: "the currency of prices",
		schema: &openapi.Schema{Type: "string", Enum: view.Currencies[:], Default: view.DefaultCurrency}, set: func(q *query, v []byte) string {
			c, ok := view.Currency(v)
			if !ok {
				return "must be one of usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy and nzd, not " + excerpt(v)
			}
			q.currency = c
			return ""
		}}
	paramContracts = param{name: "contractAddresses", doc: "only these tokens", schema: listOf(addressLike()), set: func(q *query, v []byte) string {
		return q.setContracts(v)
	}}
	paramContract = param{name: "contractAddress", doc: "only NFTs of a contract", schema: addressLike(), set: func(q *query, v []byte) string {
		if !parseAddress(v, &q.one) {
			return notAddress(v)
		}
		q.contract = &q.one
		return ""
	}}
	paramThreshold = param{name: "threshold", doc: "an amount in the token's base units", schema: textLike("^[0-9]+$", "1000000"), set: func(q *query, v []byte) string {
		if !parseAmount(v, &q.most) {
			return "must be an amount in the token's base units, decimal digits of a number below 2^256, not " + excerpt(v)
		}
		q.threshold = &q.most
		return ""
	}}
	paramNetwork = choice("network", "only chains of a network", "", []string{"mainnet", "fuji", "testnet"},
		func(q *query, v string) { q.network = v })
	paramFeature = choice("feature", "only chains that have a feature", "",
		[]string{view.FeatureNFT, view.FeatureWebhooks, view.FeatureTeleporter}, func(q *query, v string) { q.feature = v })
)

// pathParam is a parameter of patterns.
type pathParam struct {
	name, doc string
	schema    *openapi.Schema
	// names is set if it names something of which others are a 404. What does not look
	// like the schema is a 400.
	names bool
}

// schema is that of a pageSize.
func (s pageSize) schema() *openapi.Schema {
	least, most := uint64(s.min), uint64(s.max)
	return &openapi.Schema{Type: "integer", Minimum: &least, Maximum: &most, Default: s.def}
}
