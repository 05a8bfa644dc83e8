package door

import (
	"math"
	"strings"

	"quorate/httpapi/openapi"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// Param is a parameter of the query that a route knows.
type Param struct {
	Name string
	// Doc says what it is for, and schema what it can be, in the API's description. set
	// has the last word: tests hold it against the schema. A nil schema is that of a
	// parameter that is known and always refused.
	Doc    string
	Schema *openapi.Schema
	// Set stores a value, or says what is wrong with it as the end of a sentence that
	// begins with the name.
	Set func(q *Query, v []byte) string
	// Must is set if there is no request without it.
	Must bool
	// Repeats is set if it may be given several times.
	Repeats bool
}

// Needed returns a parameter that must be given.
func Needed(p Param) Param {
	p.Must = true
	return p
}

// Choice makes a parameter that is one of some words. def is the one that counts where
// none is given, empty if that is something else than any of them.
func Choice(name, doc, def string, words []string, take func(q *Query, word string)) Param {
	last := len(words) - 1
	want := "must be " + words[0] + ", not "
	if last > 0 {
		want = "must be " + strings.Join(words[:last], ", ") + " or " + words[last] + ", not "
	}
	s := &openapi.Schema{Type: "string", Enum: words}
	if def != "" {
		s.Default = def
	}
	return Param{Name: name, Doc: doc, Schema: s, Set: func(q *Query, v []byte) string {
		for _, w := range words {
			if w == string(v) {
				take(q, w)
				return ""
			}
		}
		return want + Excerpt(v)
	}}
}

// YesNo makes a parameter that is true or false.
func YesNo(name, doc string, def bool, take func(q *Query, v bool)) Param {
	s := &openapi.Schema{Type: "boolean", Default: def}
	return Param{Name: name, Doc: doc, Schema: s, Set: func(q *Query, v []byte) string {
		yes := string(v) == "true"
		if !yes && string(v) != "false" {
			return "must be true or false, not " + Excerpt(v)
		}
		take(q, yes)
		return ""
	}}
}

// Whole is the schema of what parseUint reads.
func Whole() *openapi.Schema {
	least, most := uint64(0), uint64(math.MaxInt64)
	return &openapi.Schema{Type: "integer", Format: "int64", Minimum: &least, Maximum: &most}
}

func TextLike(pattern, example string) *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: pattern, Example: example}
}

// ListOf is the schema of a comma-separated list.
func ListOf(item *openapi.Schema) *openapi.Schema {
	return &openapi.Schema{Type: "array", Items: item, MinItems: 1, MaxItems: MaxListed}
}

const sampleAddress = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F"

func AddressLike() *openapi.Schema { return TextLike("^0[xX][0-9a-fA-F]{40}$", sampleAddress) }

// The parameters of the contract.
var (
	ParamPageToken = Param{Name: "pageToken", Doc: "the nextPageToken of the page before", Schema: &openapi.Schema{Type: "string", MinLength: 1}, Set: func(q *Query, v []byte) string {
		q.PageToken = v
		return ""
	}}
	ParamNoPageToken = Param{Name: "pageToken", Set: func(*Query, []byte) string {
		return "is of another list: this one has a single page"
	}}
	// Its bounds are the route's: parse checks them, and the description has them.
	ParamPageSize = Param{Name: "pageSize", Doc: "how many items a page has at most", Schema: Whole(), Set: func(q *Query, v []byte) string {
		q.PageSize = math.MaxInt
		if n, ok := ParseUint(v); ok && n < math.MaxInt32 {
			q.PageSize = int(n)
		} else if v[0] == '-' {
			q.PageSize = -1
		}
		return ""
	}}
	ParamStartTimestamp = Param{Name: "startTimestamp", Doc: "the first second, in Unix time", Schema: Whole(),
		Set: func(q *Query, v []byte) string { return setSeconds(&q.Since, v) }}
	ParamEndTimestamp = Param{Name: "endTimestamp", Doc: "the second before which the list ends, in Unix time", Schema: Whole(),
		Set: func(q *Query, v []byte) string { return setSeconds(&q.Until, v) }}
	ParamTimeInterval = Choice("timeInterval", "the length of the buckets", rollup.Day.String(),
		[]string{rollup.Hour.String(), rollup.Day.String(), rollup.Week.String(), rollup.Month.String()},
		func(q *Query, v string) { q.Interval, _ = rollup.ParseInterval(v) })
	ParamSortOrder = Choice("sortOrder", "oldest (asc) or newest (desc) first", "desc", []string{"asc", "desc"},
		func(q *Query, v string) { q.Ascending = v == "asc" })
	ParamCurrency = Param{Name: "currency", Doc: "the currency of prices",
		Schema: &openapi.Schema{Type: "string", Enum: view.Currencies[:], Default: view.DefaultCurrency}, Set: func(q *Query, v []byte) string {
			c, ok := view.Currency(v)
			if !ok {
				return "must be one of usd, eur, aud, cad, chf, clp, cny, czk, dkk, gbp, hkd, huf, jpy and nzd, not " + Excerpt(v)
			}
			q.Currency = c
			return ""
		}}
	ParamNetwork = Choice("network", "only chains of a network", "", []string{"mainnet", "fuji", "testnet"},
		func(q *Query, v string) { q.Network = v })
)

// PathParam is a parameter of patterns.
type PathParam struct {
	Name, Doc string
	Schema    *openapi.Schema
	// Names is set if it names something of which others are a 404. What does not look
	// like the schema is a 400.
	Names bool
}

// Schema is that of a pageSize.
func (s PageSize) Schema() *openapi.Schema {
	least, most := uint64(s.Min), uint64(s.Max)
	return &openapi.Schema{Type: "integer", Minimum: &least, Maximum: &most, Default: s.Def}
}
