package nftmeta

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

type kept struct {
	mu    sync.Mutex
	rows  map[string][]byte
	fails func() bool
	check func(rows map[string][]byte) // after each change
}

func newKept() *kept { return &kept{rows: map[string][]byte{}} }

func (k *kept) Get(key []byte) ([]byte, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.rows[string(key)]
	return bytes.Clone(v), ok, nil
}

func (k *kept) Put(ctx context.Context, key, value []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fails != nil && k.fails() {
		return errFull
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(value) > 64<<10 { // as the results database does
		return errLarge
	}
	k.rows[string(key)] = bytes.Clone(value)
	if k.check != nil {
		k.check(k.rows)
	}
	return nil
}

// Page has small pages, so that tests have several.
func (k *kept) Page(prefix, from []byte, f func(key, value []byte)) (next []byte, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var keys []string
	for key := range k.rows {
		if strings.HasPrefix(key, string(prefix)) && key >= string(from) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for i, key := range keys {
		if i == 64 {
			return []byte(key), nil
		}
		f([]byte(key), k.rows[key])
	}
	return nil, nil
}

func (k *kept) RemoveAll(keys [][]byte) (n int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, key := range keys {
		if k.fails != nil && k.fails() {
			return i, errFull
		}
		delete(k.rows, string(key))
	}
	return len(keys), nil
}

// count returns how many rows there are whose key begins with prefix.
func (k *kept) count(prefix ...byte) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.rows {
		if strings.HasPrefix(key, string(prefix)) {
			n++
		}
	}
	return n
}

// killed returns what a process finds that starts after this one was killed now.
func (k *kept) killed() *kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &kept{rows: maps.Clone(k.rows), check: k.check}
}

// world is a chain with tokens, and the web.
type world struct {
	t     testing.TB
	store *kept
	cfg   Config

	mu     sync.Mutex
	tokens map[evm.Address]map[uint64]string // URIs
	ids    map[evm.Address][]uint64          // of tokens, in order; see [world.sorted]
	multi  map[evm.Address]bool
	asked  []uint64 // IDs whose URIs were asked for again
	web    func(r *http.Request) (status int, body string, header http.Header)
	log    []string // addresses that were asked for
	flying map[string]int
	most   map[string]int  // under way at one time, by host
	down   map[string]bool // hosts that nothing connects to
}

var home = chain.ID{7}

func addr(n byte) evm.Address { return evm.Address{19: n} }

func newWorld(t testing.TB) *world {
	w := &world{
		t: t, store: newKept(), tokens: map[evm.Address]map[uint64]string{}, ids: map[evm.Address][]uint64{}, multi: map[evm.Address]bool{}, flying: map[string]int{}, most: map[string]int{}, down: map[string]bool{},
		cfg: Config{Gateway: "https://gw.example"},
	}
	w.web = func(r *http.Request) (int, string, http.Header) { return 200, `{"name":"` + r.URL.Path + `"}`, nil }
	w.cfg.Chains = func() []Chain {
		return []Chain{{ID: home, View: func() (View, error) { return view{w}, nil }, Ask: w.ask}}
	}
	return w
}

func (w *world) ask(_ evm.Address, id uint256.Int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, id.Uint64())
}

// add adds tokens to a collection, from 1 on.
func (w *world) add(token evm.Address, n int, uri func(id int) string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tokens[token] = map[uint64]string{}
	for id := 1; id <= n; id++ {
		w.tokens[token][uint64(id)] = uri(id)
	}
}

// sorted returns the IDs of a collection in order. Tokens are never taken away, so IDs
// of as many tokens are still those.
func (w *world) sorted(of evm.Address) []uint64 {
	if len(w.ids[of]) != len(w.tokens[of]) {
		w.ids[of] = slices.Sorted(maps.Keys(w.tokens[of]))
	}
	return w.ids[of]
}

// RoundTrip implements [http.RoundTripper].
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	host := r.URL.Hostname()
	w.mu.Lock()
	w.log = append(w.log, r.URL.String())
	w.flying[host]++
	w.most[host] = max(w.most[host], w.flying[host])
	web, down := w.web, w.down[host]
	w.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	status, body, header := web(r)
	w.mu.Lock()
	w.flying[host]--
	w.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1, Request: r}, nil
}

func (w *world) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// actor returns an actor over what is kept.
func (w *world) actor() *Metadata {
	w.t.Helper()
	cfg := w.cfg
	cfg.Store = w.store
	m, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	m.web.Transport, m.ipfs.Transport = w, w
	return m
}

// run starts an actor; stop ends it, as a stop of the server does.
func (w *world) run() (m *Metadata, stop func()) {
	w.t.Helper()
	m = w.actor()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	return m, func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	}
}

// token returns what is served of a token, with UNINDEXED for nothing.
func token(t testing.TB, m *Metadata, of evm.Address, id uint64) Token {
	t.Helper()
	got, err := m.Token(home, &of, uint256.NewInt(id))
	if err != nil {
		t.Fatal(err)
	}
	if got == nil {
		return Token{Status: Unindexed}
	}
	return *got
}

// view implements [View] over a world.
type view struct{ w *world }

func (v view) Close() {}

func (v view) URITokens(after *evm.Address, limit int) ([]evm.Address, error) {
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	list := slices.SortedFunc(maps.Keys(v.w.tokens), func(a, b evm.Address) int { return bytes.Compare(a[:], b[:]) })
	if after != nil {
		list = slices.DeleteFunc(list, func(a evm.Address) bool { return bytes.Compare(a[:], after[:]) <= 0 })
	}
	return list[:min(limit, len(list))], nil
}

func (v view) TokenURIs(of evm.Address, p index.Page) (nfts []index.NFT, uris []string, next []byte, err error) {
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	ids := v.w.sorted(of)
	if p.After != nil {
		first, found := slices.BinarySearch(ids, new(uint256.Int).SetBytes(p.After).Uint64())
		if found {
			first++
		}
		ids = ids[first:]
	}
	for _, id := range ids {
		if len(nfts) == p.Limit {
			last := nfts[len(nfts)-1].ID.Bytes32()
			return nfts, uris, last[:], nil
		}
		nfts, uris = append(nfts, index.NFT{Token: of, ID: *uint256.NewInt(id)}), append(uris, v.w.tokens[of][id])
	}
	return nfts, uris, nil, nil
}

func (v view) TokenURI(of evm.Address, id uint256.Int) (string, bool, error) {
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	uri, ok := v.w.tokens[of][id.Uint64()]
	return uri, ok, nil
}

func (v view) Token(a evm.Address) (index.TokenMeta, bool, error) {
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	kind := index.ERC721
	if v.w.multi[a] {
		kind = index.ERC1155
	}
	return index.TokenMeta{Kind: kind}, true, nil
}

// settle waits for a while of the bubble's time.
func (w *world) settle(d time.Duration) { <-time.After(d) }
