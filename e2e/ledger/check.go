package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"

	"quorate/e2e/quorate"
)

// maxProblems bounds what is reported.
const maxProblems = 40

// A Checker compares a server's answers with a ledger. It goes on after a difference.
type Checker struct {
	*Ledger
	client   *quorate.Client
	root     string // of the network
	problems []error
	asked    int
}

// NewChecker returns one for the server that client speaks to, which calls the network
// by that name.
func NewChecker(l *Ledger, client *quorate.Client, network string) *Checker {
	return &Checker{Ledger: l, client: client, root: "/v1/networks/" + network}
}

// Err returns what was found to differ; Asked is the number of answers that were read.
func (k *Checker) Err() error { return errors.Join(k.problems...) }

// Asked returns the number of answers that were read.
func (k *Checker) Asked() int { return k.asked }

func (k *Checker) problem(format string, args ...any) {
	if len(k.problems) < maxProblems {
		k.problems = append(k.problems, fmt.Errorf(format, args...))
	}
}

// get reads a body, which must have a status.
func (k *Checker) get(ctx context.Context, path string, status int) object {
	k.asked++
	a, err := k.client.Get(ctx, path)
	return k.parse(path, a, err, status)
}

func (k *Checker) parse(path string, a *quorate.Answer, err error, status int) object {
	if err != nil || a.Status != status {
		k.problem("%s: %v, %w", path, a, err)
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.UseNumber()
	var o object
	if err := d.Decode(&o); err != nil {
		k.problem("%s: %w", path, err)
	}
	return o
}

// pageSizes are those that lists are walked with.
const pageSize = 7

// walk reads all pages of a list.
func (k *Checker) walk(ctx context.Context, path, member string, query ...string) list {
	q := url.Values{"pageSize": {fmt.Sprint(pageSize)}}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	var all list
	for range 100_000 {
		o := k.get(ctx, path+"?"+q.Encode(), http.StatusOK)
		page, ok := o[member].(list)
		if !ok {
			k.problem("%s?%s has no %s", path, q.Encode(), member)
			return all
		}
		all = append(all, page...)
		token, ok := o["nextPageToken"].(string)
		if !ok {
			return all
		}
		if len(page) == 0 {
			k.problem("%s?%s: an empty page that is not the last", path, q.Encode())
			return all
		}
		q.Set("pageToken", token)
	}
	k.problem("%s: no end", path)
	return all
}

// plain makes of a value what parsing its JSON results in.
func plain(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		panic(err)
	}
	return out
}

// same compares a value with what it should be.
func (k *Checker) same(what string, got, want any) {
	for _, d := range differences("", k.withoutGenesis(got), plain(want)) {
		k.problem("%s: %s", what, d)
	}
}

// sameList compares lists item by item.
func (k *Checker) sameList(what string, got, want list) {
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if len(got) != len(want) {
		k.problem("%s: %d items, want %d: %.300v, want %.300v", what, len(got), len(want), got, want)
		return
	}
	k.same(what, got, want)
}

// sameSet compares lists whose items of one moment have no order; time is the member
// that they are sorted by.
func (k *Checker) sameSet(what, time string, ascending bool, got, want list) {
	if !slices.IsSortedFunc(got, func(a, b any) int {
		x, y := numberOf(a, time), numberOf(b, time)
		if !ascending {
			x, y = y, x
		}
		return int(x) - int(y)
	}) {
		k.problem("%s is not sorted by %s", what, time)
	}
	k.sameList(what, sorted(got), sorted(want))
}

func numberOf(v any, member string) int64 {
	o, _ := v.(object)
	n, _ := o[member].(json.Number)
	i, err := n.Int64()
	if err != nil {
		return -1
	}
	return i
}

// sorted sorts objects by their text.
func sorted(l list) list {
	text := func(v any) string {
		o, ok := v.(object)
		if !ok {
			return fmt.Sprint(v)
		}
		for _, name := range []string{"utxoId", "validationId", "txHash", "assetId"} {
			if id, ok := o[name].(string); ok {
				return id + fmt.Sprint(o["rewardType"])
			}
		}
		return fmt.Sprint(v)
	}
	out := slices.Clone(l)
	sort.SliceStable(out, func(i, j int) bool { return text(out[i]) < text(out[j]) })
	return out
}

// differences lists where two values differ.
func differences(at string, got, want any) (out []string) {
	switch want := want.(type) {
	case object:
		g, ok := got.(object)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, want %v", at, got, want)}
		}
		for name, w := range want {
			v, ok := g[name]
			if !ok {
				out = append(out, fmt.Sprintf("%s.%s is missing, want %v", at, name, w))
				continue
			}
			out = append(out, differences(at+"."+name, v, w)...)
		}
		for name, v := range g {
			if _, ok := want[name]; !ok {
				out = append(out, fmt.Sprintf("%s.%s is %v, want none", at, name, v))
			}
		}
		return out
	case list:
		g, ok := got.(list)
		if !ok || len(g) != len(want) {
			return []string{fmt.Sprintf("%s is %v, want %v", at, got, want)}
		}
		for i := range want {
			out = append(out, differences(fmt.Sprintf("%s[%d]", at, i), g[i], want[i])...)
		}
		return out
	case json.Number:
		if g, ok := got.(json.Number); ok {
			a, errA := g.Float64()
			b, errB := want.Float64()
			if a == b && errA == nil && errB == nil && (strings.Contains(string(want), ".") || g == want) {
				return nil
			}
		}
		return []string{fmt.Sprintf("%s is %v, want %v", at, got, want)}
	}
	if got != want {
		return []string{fmt.Sprintf("%s is %v, want %v", at, got, want)}
	}
	return nil
}

// reversed is a list from its end.
func reversed(l list) list {
	out := slices.Clone(l)
	slices.Reverse(out)
	return out
}
