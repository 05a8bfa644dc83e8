package httpapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"quorate/engine/chain"
)

// TestSchemasAreChecks holds what parameters accept against their schemas: what the
// schema permits is taken, what it does not is refused, and a default is what counts
// where nothing is given.
func TestSchemasAreChecks(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Routes() {
		for i := range r.query {
			p := &r.query[i]
			key := fmt.Sprint(p.name, r.size, p.must)
			if seen[key] {
				continue
			}
			seen[key] = true
			if p.doc == "" && p.schema != nil {
				t.Errorf("%s has no documentation", p.name)
			}
			checkParam(t, &r, p)
		}
	}
}

func checkParam(t *testing.T, r *Route, p *param) {
	t.Helper()
	var q query
	try := func(value string) *failure {
		q.own = ownOf(r)
		return q.parse([]byte(p.name+"="+url.QueryEscape(value)), []param{{name: p.name, set: p.set}}, r.size)
	}
	if p.schema == nil {
		if try("1") == nil {
			t.Errorf("%s of %s is taken, but not described", p.name, r.Pattern)
		}
		return
	}
	schema := p.schema
	if p.name == paramPageSize.name {
		schema = r.size.schema()
	}
	good, bad := valuesOf(schema.Type, schema.Enum, schema.Pattern, schema.Example, schema.Minimum, schema.Maximum)
	if schema.Type == "array" {
		item := schema.Items
		good, bad = valuesOf(item.Type, item.Enum, item.Pattern, item.Example, nil, nil)
		if len(good) > 0 {
			good = append(good, good[0]+","+good[len(good)-1])
		}
	}
	for _, v := range good {
		if f := try(v); f != nil {
			t.Errorf("%s=%s of %s is described, but refused: %s", p.name, v, r.Pattern, f.message)
		}
	}
	for _, v := range append(bad, "") {
		if f := try(v); f == nil {
			t.Errorf("%s=%s of %s is not described, but taken", p.name, v, r.Pattern)
		}
	}
	if schema.Default == nil {
		return
	}
	if f := try(fmt.Sprint(schema.Default)); f != nil {
		t.Errorf("%s of %s: the default is refused: %s", p.name, r.Pattern, f.message)
	}
	given := chosen(&q)
	q.own = ownOf(r)
	q.reset(r.size)
	if none := chosen(&q); given != none {
		t.Errorf("%s=%v of %s is described as the default, but is none", p.name, schema.Default, r.Pattern)
	}
}

// chosen says all that parameters select.
func chosen(q *query) string {
	b := q.canonical(nil)
	if own, ok := q.own.(*primaryQuery); ok {
		b = own.canonical(b)
	}
	return fmt.Sprintf("%x %d", b, q.pageSize)
}

// ownOf makes room for the parameters that only some routes know.
func ownOf(r *Route) any {
	for prefix, own := range map[string]any{
		"/v1/networks": &primaryQuery{}, "/v2/networks": &primaryQuery{}, "/v1/events": &eventsQuery{}, "/v1/webhooks": &hookCall{},
		"/v1/signatureAggregator": &chain.ID{},
	} {
		if strings.HasPrefix(r.Pattern, prefix) {
			return own
		}
	}
	return &icmQuery{}
}

// valuesOf returns values that a schema permits, and some that it does not.
func valuesOf(kind string, enum []string, pattern string, example any, least, most *uint64) (good, bad []string) {
	switch {
	case len(enum) > 0:
		return enum, append(bad, "nosuch", strings.ToUpper(enum[0])+"x")
	case kind == "boolean":
		return []string{"true", "false"}, []string{"1", "yes", "TRUE"}
	case kind == "integer":
		good = append(good, strconv.FormatUint(*least, 10), strconv.FormatUint(*most, 10))
		bad = append(bad, strconv.FormatUint(*most+1, 10), "-1", "1.5", "x")
		if *least > 0 {
			bad = append(bad, strconv.FormatUint(*least-1, 10))
		}
		return good, bad
	case pattern != "":
		text := example.(string)
		return []string{text}, []string{text + "~", "~", text[:1] + "~"}
	}
	return nil, nil
}
