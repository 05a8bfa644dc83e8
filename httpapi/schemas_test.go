package httpapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"quorate/engine/chain"
	"quorate/httpapi/door"
	"quorate/httpapi/hooks"
	primaryapi "quorate/httpapi/primary"
	"quorate/httpapi/stream"
)

// TestSchemasAreChecks holds what parameters accept against their schemas: what the
// schema permits is taken, what it does not is refused, and a default is what counts
// where nothing is given.
func TestSchemasAreChecks(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Routes() {
		for i := range r.Query {
			p := &r.Query[i]
			key := fmt.Sprint(p.Name, r.Size, p.Must)
			if seen[key] {
				continue
			}
			seen[key] = true
			if p.Doc == "" && p.Schema != nil {
				t.Errorf("%s has no documentation", p.Name)
			}
			checkParam(t, &r, p)
		}
	}
}

func checkParam(t *testing.T, r *door.Route, p *door.Param) {
	t.Helper()
	var q door.Query
	try := func(value string) *door.Failure {
		q.Own = ownOf(r)
		return q.Parse([]byte(p.Name+"="+url.QueryEscape(value)), []door.Param{{Name: p.Name, Set: p.Set}}, r.Size)
	}
	if p.Schema == nil {
		if try("1") == nil {
			t.Errorf("%s of %s is taken, but not described", p.Name, r.Pattern)
		}
		return
	}
	schema := p.Schema
	if p.Name == door.ParamPageSize.Name {
		schema = r.Size.Schema()
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
			t.Errorf("%s=%s of %s is described, but refused: %s", p.Name, v, r.Pattern, f.Message)
		}
	}
	for _, v := range append(bad, "") {
		if f := try(v); f == nil {
			t.Errorf("%s=%s of %s is not described, but taken", p.Name, v, r.Pattern)
		}
	}
	if schema.Default == nil {
		return
	}
	if f := try(fmt.Sprint(schema.Default)); f != nil {
		t.Errorf("%s of %s: the default is refused: %s", p.Name, r.Pattern, f.Message)
	}
	given := chosen(&q)
	q.Own = ownOf(r)
	q.Reset(r.Size)
	if none := chosen(&q); given != none {
		t.Errorf("%s=%v of %s is described as the default, but is none", p.Name, schema.Default, r.Pattern)
	}
}

// chosen says all that parameters select.
func chosen(q *door.Query) string {
	b := q.Canonical(nil)
	if own, ok := q.Own.(*primaryapi.Query); ok {
		b = own.Canonical(b)
	}
	return fmt.Sprintf("%x %d", b, q.PageSize)
}

// ownOf makes room for the parameters that only some routes know.
func ownOf(r *door.Route) any {
	if r.Own != nil {
		return r.Own()
	}
	for prefix, own := range map[string]any{
		"/v1/networks": &primaryapi.Query{}, "/v2/networks": &primaryapi.Query{}, "/v1/events": &stream.Query{}, "/v1/webhooks": &hooks.Query{},
		"/v1/signatureAggregator": &chain.ID{},
	} {
		if strings.HasPrefix(r.Pattern, prefix) {
			return own
		}
	}
	return nil
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
