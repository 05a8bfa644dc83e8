package oracle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ava-labs/libevm/common"
)

const (
	// maxShown bounds the differences that are told.
	maxShown = 12
	// tinyRows bounds the rows that are walked in pages of one.
	tinyRows = 60
	// midSize is a page size that divides nothing.
	midSize = 7
)

// Config says what to hold against what.
type Config struct {
	// URL is the server's, Name how the chain is called there.
	URL, Name string
	Node      *Node
	Chain     *Chain
	ChainID   string
	Coin      Coin
	// Numbers are the numbers of the chains that the server follows, by blockchain ID.
	Numbers map[string]string
	// SDK asks for the form of the official SDKs.
	SDK bool
}

// A Checker compares a server's answers with a chain. Close it after use.
type Checker struct {
	cfg    Config
	f      forms
	client *client
	base   string
	diffs  []string
	more   int
	tally  Tally
}

// Tally is what was compared.
type Tally struct{ Lists, Rows, Pages, Requests int }

// NewChecker makes a checker.
func NewChecker(cfg Config) *Checker {
	return &Checker{
		cfg: cfg, client: newClient(cfg.URL, cfg.SDK), base: "/v1/chains/" + cfg.Name,
		f: forms{chain: cfg.Chain, chainID: cfg.ChainID, coin: cfg.Coin, numbers: cfg.Numbers, sdk: cfg.SDK},
	}
}

// Close closes the connections.
func (k *Checker) Close() { k.client.http.CloseIdleConnections() }

// Err returns the differences found so far, the first few in full, and forgets them.
func (k *Checker) Err() error {
	if len(k.diffs) == 0 {
		return nil
	}
	text := fmt.Sprintf("%d differences:\n%s", len(k.diffs)+k.more, strings.Join(k.diffs, "\n"))
	k.diffs, k.more = nil, 0
	return errors.New(text)
}

// Tally reports how much was compared.
func (k *Checker) Tally() Tally {
	k.tally.Requests = k.client.requests
	return k.tally
}

func (k *Checker) report(where string, diffs ...string) {
	for _, d := range diffs {
		if len(k.diffs) == maxShown {
			k.more++
			continue
		}
		k.diffs = append(k.diffs, where+" "+d)
	}
}

// list is a list of the server with what it must be.
type list struct {
	path  string
	query url.Values
	name  string
	want  []any
	// rest is what a page has besides the rows.
	rest object
	// most and usual are the largest and the default page size.
	most, usual int
	// loose: a page may end before it is full, also without a row.
	loose bool
}

// check walks a list in several page sizes.
func (k *Checker) check(ctx context.Context, l list) {
	sizes := []int{l.most}
	if len(l.want) > 1 {
		sizes = append(sizes, 0, 1)
	}
	if len(l.want) > midSize {
		sizes = append(sizes, midSize)
	}
	for _, size := range sizes {
		limit := math.MaxInt
		if size == 1 {
			limit = tinyRows
		}
		k.checkSize(ctx, l, size, limit)
	}
}

// checkSize walks a list in pages of one size, limit rows at most.
func (k *Checker) checkSize(ctx context.Context, l list, size, limit int) {
	where := fmt.Sprintf("%s?%s in pages of %d:", l.path, l.query.Encode(), size)
	w, err := k.client.walk(ctx, &l, size, limit)
	if err != nil {
		k.report(where, err.Error())
		return
	}
	k.tally.Lists++
	k.tally.Rows += len(w.rows)
	k.tally.Pages += w.pages
	want := l.want
	if !w.whole && len(want) > limit {
		want = want[:limit]
	}
	rest := l.rest
	if rest == nil {
		rest = object{}
	}
	k.report(where, diff(diff(nil, l.name, want, w.rows), "the page", rest, w.first)...)
}

// one compares a single answer.
func (k *Checker) one(ctx context.Context, path string, query url.Values, want object) {
	body, err := k.client.ok(ctx, path, query)
	if err != nil {
		k.report(path, err.Error())
		return
	}
	k.tally.Rows++
	k.report(path+"?"+query.Encode(), diff(nil, "answer", want, body)...)
}

// absent checks that there is nothing.
func (k *Checker) absent(ctx context.Context, path string, query url.Values, status int) {
	got, body, err := k.client.get(ctx, path, query)
	if err != nil {
		k.report(path, err.Error())
	} else if got != status {
		k.report(path, fmt.Sprintf("status %d, want %d: %s", got, status, show(body)))
	}
}

// window is a range of heights; end is exclusive, and neither counts when negative.
type window struct{ start, end int64 }

func (w window) query() url.Values {
	q := url.Values{}
	if w.start >= 0 {
		q.Set("startBlock", strconv.FormatInt(w.start, 10))
	}
	if w.end >= 0 {
		q.Set("endBlock", strconv.FormatInt(w.end, 10))
	}
	return q
}

func (w window) has(b *Block) bool {
	n := int64(b.Number)
	return n >= w.start && (w.end < 0 || n < w.end)
}

// windows are those that lists of heights are asked for. at is a height with rows.
func (k *Checker) windows(at uint64) []window {
	tip, n := int64(k.cfg.Chain.Tip()), int64(at)
	return []window{{-1, -1}, {n, n + 1}, {n, n}, {n + 1, -1}, {-1, n}, {tip / 3, 2 * tip / 3}, {0, tip + 1}, {tip + 5, -1}, {-1, 0}}
}

// newestFirst returns rows in the order of lists.
func newestFirst[T any](rows []T, make func(T) any) []any {
	out := []any{}
	for _, r := range slices.Backward(rows) {
		out = append(out, make(r))
	}
	return out
}

func (k *Checker) ofAddress(a common.Address) string { return k.base + "/addresses/" + a.Hex() }
