package tokens

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/archive"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	evmsource "quorate/engine/source/evm"
)

var (
	alice, bob, carol = evm.Address{1}, evm.Address{2}, evm.Address{3}
	nobody            evm.Address
	coin, odd         = evm.Address{0xc0}, evm.Address{0xc1}
	art               = evm.Address{0xa0}
)

// TestFactsFirst: the facts of a new token are there before its first block is.
func TestFactsFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.lane()
	w.add(coin, &token{name: "Rebase", symbol: "RB", decimals: 9})
	b := &evm.Block{Number: 1, Txs: []evm.Tx{
		{Failed: true, Logs: []evm.Log{transferLog(odd, nobody, alice, 1)}},
		{Logs: []evm.Log{transferLog(coin, nobody, alice, 5), nftLog(art, nobody, alice, 5)}},
	}}
	l.Before(t.Context(), []*evm.Block{b})
	if m, known := w.meta(w.index, coin); !known || m != (index.TokenMeta{Kind: index.ERC20, Name: "Rebase", Symbol: "RB", Decimals: 9, HasDecimals: true}) {
		t.Errorf("%+v, %v", m, known)
	}
	if m, known := w.meta(w.index, art); !known || m != (index.TokenMeta{Kind: index.ERC721}) {
		t.Errorf("a contract that says nothing: %+v, %v", m, known)
	}
	if _, known := w.meta(w.index, odd); known {
		t.Error("a transaction that failed moves no token")
	}
	calls := w.calls
	l.Before(t.Context(), []*evm.Block{b})
	if w.calls != calls {
		t.Error("known tokens were asked")
	}
	w.last = w.block()
	again := w.lane() // knows nothing by heart
	calls = w.calls
	again.Before(t.Context(), []*evm.Block{b})
	if w.calls != calls || len(w.notes) != 2 {
		t.Errorf("tokens in the index were asked, or %d notes", len(w.notes))
	}
}

// TestFactsLate: a node that hangs delays blocks by 250 ms, and then none for 10 s.
func TestFactsLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(coin, &token{name: "Late"})
	w.hang = true
	l := w.lane()
	synctest.Test(t, func(t *testing.T) {
		b := []*evm.Block{{Number: 1, Txs: []evm.Tx{{Logs: []evm.Log{transferLog(coin, nobody, alice, 5)}}}}}
		wait := func() time.Duration {
			begin := time.Now()
			l.Before(t.Context(), b)
			return time.Since(begin)
		}
		if d := wait(); d != factsTimeout {
			t.Errorf("the first waited %s", d)
		}
		if d := wait(); d != 0 {
			t.Errorf("the second waited %s", d)
		}
		<-time.After(factsPause + time.Millisecond)
		if d := wait(); d != factsTimeout {
			t.Errorf("waited %s after the pause", d)
		}
	})
	w.hang = false
	if _, known := w.meta(w.index, coin); known {
		t.Error("known")
	}
	w.grow(l, []evm.Log{transferLog(coin, nobody, alice, 5)})
	if m, _ := w.meta(w.index, coin); m.Name != "Late" {
		t.Errorf("%+v", m)
	}
}

// TestDecimals: what a contract does not say is not made up.
func TestDecimals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.lane()
	for i, decimals := range []int{-1, 300, 0, 255} {
		a := evm.Address{0xd0, byte(i)}
		w.add(a, &token{name: "D", symbol: "D", decimals: decimals})
		w.grow(l, []evm.Log{transferLog(a, nobody, alice, 1)})
		m, known := w.meta(w.index, a)
		if want := decimals >= 0 && decimals < 256; !known || m.HasDecimals != want || want && int(m.Decimals) != decimals {
			t.Errorf("%d decimals: %+v, %v", decimals, m, known)
		}
	}
}

// past lets the last visits of all tokens be some time ago.
func (l *Lane) past(d time.Duration) {
	for _, token := range l.visited.Keys() {
		last, _ := l.visited.Peek(token)
		last.at = last.at.Add(-d)
		l.visited.Add(token, last)
	}
	for token, at := range l.due {
		l.due[token] = at.Add(-d)
	}
	l.work.began -= int64(d.Seconds())
}

// TestFactsChange: facts are read again when a contract shows signs of a change,
// and by the day.
func TestFactsChange(t *testing.T) {
	t.Parallel()
	event := func(signature string) []evm.Log {
		return []evm.Log{{Address: coin, Topics: []evm.Hash{topic(signature)}}}
	}
	for name, change := range map[string]func(w *world, l *Lane){
		"Upgraded":         func(w *world, l *Lane) { w.grow(l, event("Upgraded(address)")) },
		"an event unknown": func(w *world, l *Lane) { w.grow(l, event("NameChanged()")) },
		"a call without events": func(w *world, l *Lane) {
			b := w.block([]evm.Log{})
			b.Txs[0].To, b.Txs[0].Input = coin, []byte{1, 2, 3, 4}
			l.Block(b)
		},
		"an inner call without events": func(w *world, l *Lane) {
			b := w.block([]evm.Log{})
			b.Txs[0].Calls = []evm.Call{{Type: evm.CallPlain, From: odd, To: coin}}
			l.Block(b)
		},
		"created again": func(w *world, l *Lane) {
			b := w.block([]evm.Log{})
			b.Txs[0].Calls = []evm.Call{{Type: evm.CallCreate2, From: odd, To: coin}}
			l.Block(b)
		},
		"a day": func(w *world, l *Lane) {
			l.past(sweepEvery + time.Minute)
			l.sweep()
		},
		"a day, after a restart": func(w *world, l *Lane) {
			l.past(sweepEvery + time.Minute)
			w.do(l.store(w.t.Context()))
			*l = *w.lane()
			l.live = true
			l.sweep()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			l := w.lane()
			c := w.add(coin, &token{name: "Old", symbol: "O", decimals: 18})
			w.grow(l, []evm.Log{transferLog(coin, nobody, alice, 5)})
			c.name, c.decimals = "New", 6
			version := w.index.TokenVersion()
			l.past(changedEvery)
			change(w, l)
			w.settle(l)
			if m, _ := w.meta(w.index, coin); m.Name != "New" || m.Decimals != 6 || w.index.TokenVersion() == version {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestEverydayEvents: transfers and approvals are no reason to ask at once.
func TestEverydayEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.lane()
	w.add(coin, &token{name: "Coin", decimals: 18})
	w.grow(l, []evm.Log{transferLog(coin, nobody, alice, 500)})
	for range 6 { // a new one is visited more often
		l.past(movedEvery)
		w.grow(l, []evm.Log{transferLog(coin, alice, bob, 1)})
	}
	l.past(time.Minute)
	calls := w.calls
	w.grow(l, []evm.Log{transferLog(coin, alice, bob, 1), {Address: coin, Topics: []evm.Hash{topic("Approval(address,address,uint256)")}}})
	if w.calls != calls {
		t.Errorf("%d calls", w.calls-calls)
	}
	l.past(movedEvery)
	w.grow(l, []evm.Log{transferLog(coin, alice, bob, 1)})
	if w.calls == calls {
		t.Error("never asked again while it moves")
	}
	version := w.index.TokenVersion()
	l.past(movedEvery)
	w.grow(l, []evm.Log{transferLog(coin, alice, bob, 1)})
	if w.index.TokenVersion() != version || len(w.notes) != 1 {
		t.Errorf("what did not change was written again: %d notes", len(w.notes))
	}
}

func (w *world) balances(c *index.Chain, a evm.Address, height uint64) (out string) {
	w.t.Helper()
	v, err := c.At(&height)
	w.do(err)
	defer v.Close()
	list, _, err := v.TokenBalances(a, nil, index.Page{Limit: 100})
	w.do(err)
	for _, b := range list {
		out += fmt.Sprintf("%x:%s", b.Token[:1], b.Amount.Dec())
		if b.Said {
			out += fmt.Sprintf("@%d", b.SaidAt)
		}
		if b.Doubtful && !b.Said {
			out += "?"
		}
		out += " "
	}
	return out
}

func (w *world) holders(c *index.Chain, token evm.Address, above uint64) (out string) {
	w.t.Helper()
	v := w.view(c)
	defer v.Close()
	var after []byte
	for range 100 {
		list, next, err := v.Holders(token, *uint256.NewInt(above), index.Frame{End: math.MaxUint64}, index.Page{Limit: 2, After: after})
		w.do(err)
		for _, h := range list {
			out += fmt.Sprintf("%x:%s ", h.Address[:1], h.Balance.Dec())
		}
		if after = next; next == nil {
			return out
		}
	}
	w.t.Fatal("no end")
	return ""
}

// TestUneven: tokens whose events do not add up are found, and their balances are
// what their contracts say, at each height; those of others stay sums.
func TestUneven(t *testing.T) {
	t.Parallel()
	factor := func(height uint64) uint64 { return 1 + height/5 }
	for name, c := range map[string]struct {
		balance func(w *world, a evm.Address, height uint64) uint64
		early   string // alice's after block 1
		want    string // alice's after block 6
		holders string
	}{
		"rebasing": {func(w *world, a evm.Address, height uint64) uint64 {
			return map[evm.Address]uint64{alice: 60, bob: 40}[a] * factor(min(height, w.last.Number))
		}, "c0:60? ", "c0:120@6 ", "01:120 02:80 "},
		"fee on transfer": {func(_ *world, a evm.Address, _ uint64) uint64 {
			return map[evm.Address]uint64{alice: 60, bob: 36, carol: 4}[a]
		}, "c0:60@1 ", "c0:60@1 ", "01:60 02:36 "},
		"events only": {func(*world, evm.Address, uint64) uint64 { return 0 }, "c0:0@1 ", "c0:0@1 ", ""},
		"honest":      {nil, "c0:60 ", "c0:60 ", "01:60 02:40 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			l := w.lane()
			s := w.add(coin, &token{name: "S", decimals: 18})
			if c.balance != nil {
				s.balance = func(a evm.Address, height uint64) uint64 { return c.balance(w, a, height) }
			}
			w.grow(l, []evm.Log{transferLog(coin, nobody, alice, 100), transferLog(coin, alice, bob, 40)})
			for range 5 {
				w.grow(l)
			}
			l.past(time.Hour)
			l.schedule(coin, time.Now(), movedEvery)
			w.settle(l)
			if uneven := w.index.Uneven(coin); uneven != (c.balance != nil) {
				t.Fatalf("uneven: %v", uneven)
			}
			check := func(x *index.Chain) {
				t.Helper()
				if got := w.balances(x, alice, 1); got != c.early {
					t.Errorf("after block 1: %s, want %s", got, c.early)
				}
				if got := w.balances(x, alice, w.last.Number); got != c.want {
					t.Errorf("now: %s, want %s", got, c.want)
				}
				if got := w.holders(x, coin, 0); got != c.holders {
					t.Errorf("holders: %s, want %s", got, c.holders)
				}
			}
			check(w.index)

			// An index made again of the same blocks and the notes says the same, and no
			// node is asked: of all notes at once, and of one after the other, each twice.
			calls := w.calls
			for name, put := range map[string]func(x *index.Chain) error{
				"replayed": func(x *index.Chain) error { return Replay(t.Context(), w.readAll, x) },
				"one by one": func(x *index.Chain) error {
					other := archive.Note{Height: 1, Type: NoteFacts - 1, Data: []byte("of another package")}
					return w.readAll(t.Context(), func(n archive.Note) error {
						return errors.Join(Apply(t.Context(), []archive.Note{other, n}, x), Apply(t.Context(), []archive.Note{n}, x))
					})
				},
			} {
				again := newWorld(t)
				again.tokens = map[evm.Address]*token{}
				again.block([]evm.Log{transferLog(coin, nobody, alice, 100), transferLog(coin, alice, bob, 40)})
				for range 5 {
					again.block()
				}
				if err := put(again.index); err != nil {
					t.Fatal(name, err)
				}
				check(again.index)
				if m, known := w.meta(again.index, coin); !known || m.Name != "S" {
					t.Errorf("%s: %+v", name, m)
				}
			}
			if w.calls != calls {
				t.Error("the node was asked")
			}
		})
	}
}

// TestOverdrawn: a token whose events move more than there was is uneven, though the
// balances that are looked at agree: a wrapped coin that is not known to be one.
func TestOverdrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.lane()
	var log bytes.Buffer
	l.log = slog.New(slog.NewTextHandler(&log, nil))
	said := map[evm.Address]uint64{alice: 60}
	w.add(coin, &token{balance: func(a evm.Address, _ uint64) uint64 { return said[a] }})
	w.grow(l, []evm.Log{transferLog(coin, carol, alice, 60)}) // what carol has wrapped
	if !w.index.Uneven(coin) {
		t.Fatal("not found")
	}
	if got := w.balances(w.index, alice, 1); got != "c0:60@1 " {
		t.Error(got)
	}
	if s := log.String(); !strings.Contains(s, "move more than its holder had") || strings.Contains(s, "do not add up") {
		t.Errorf("equal figures as evidence: %s", s)
	}
}

// TestUnevenWithoutState: a node that has no state of the block leaves sums.
func TestUnevenWithoutState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.noPast = true
	l := w.lane()
	w.add(coin, &token{name: "S", balance: func(evm.Address, uint64) uint64 { return 1 }})
	w.grow(l, []evm.Log{transferLog(coin, nobody, alice, 100)})
	if m, _ := w.meta(w.index, coin); m.Name != "S" || w.index.Uneven(coin) {
		t.Errorf("%+v, uneven: %v", m, w.index.Uneven(coin))
	}
	// One that is known to be uneven is marked though nothing can be asked any more.
	w.do(w.index.PutUneven(t.Context(), coin, 1))
	if got := w.balances(w.index, alice, 1); got != "c0:100? " {
		t.Error(got)
	}
	if got := w.holders(w.index, coin, 0); got != "01:100 " {
		t.Error(got)
	}
}

// TestForkedNode: what a node says after another block than the one that is indexed shows
// nothing about a token. It is asked again once it has the same.
func TestForkedNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.lane()
	w.add(coin, &token{name: "S", balance: func(evm.Address, uint64) uint64 { return 1 }})
	w.forked = true
	w.block([]evm.Log{transferLog(coin, nobody, alice, 100)})
	l.Seen([]index.SeenToken{{Token: coin, Kind: index.ERC20}}, nil)
	for _, n := range l.news.Drain(nil) {
		l.take(t.Context(), n)
	}
	for range 3 {
		if _, err := l.step(t.Context()); !errors.Is(err, evmsource.ErrOtherBlock) {
			t.Fatal(err)
		}
	}
	if w.index.Uneven(coin) || len(w.notes) != 0 {
		t.Errorf("uneven: %t, %d notes", w.index.Uneven(coin), len(w.notes))
	}
	w.forked = false
	w.settle(l)
	if !w.index.Uneven(coin) {
		t.Error("not asked again")
	}
}

// TestTransfersOfUneven: a holder of an uneven token is asked for after each
// transfer, and what a request has asked is kept.
func TestTransfersOfUneven(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.lane()
	w.add(coin, &token{balance: func(a evm.Address, height uint64) uint64 { return 7 + min(height, w.last.Number) }})
	w.grow(l, []evm.Log{transferLog(coin, nobody, alice, 100)})
	w.grow(l, []evm.Log{transferLog(coin, alice, bob, 1)})
	if got := w.balances(w.index, bob, 2); got != "c0:9@2 " {
		t.Error(got)
	}
	w.grow(l)
	got, err := l.Balances(t.Context(), bob, []evm.Address{coin}, headAt(3))
	if err != nil || got[0].Uint64() != 10 {
		t.Errorf("%v, %v", got, err)
	}
	w.settle(l)
	if got := w.balances(w.index, bob, 3); got != "c0:10@3 " {
		t.Error(got)
	}
	calls := w.calls
	if _, err := l.Balances(t.Context(), bob, []evm.Address{coin}, headAt(3)); err != nil || w.calls != calls {
		t.Error("asked again", err)
	}
	w.err = errNode
	if _, err := l.Balances(t.Context(), bob, []evm.Address{coin}, headAt(2)); !errors.Is(err, errNode) {
		t.Error(err)
	}
}

// TestKeptBalancesAreBounded: requests cannot fill the archive.
func TestKeptBalancesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.lane()
	w.do(w.index.PutUneven(t.Context(), coin, 0))
	var list []index.SaidBalance
	for i := range 500 {
		list = append(list, index.SaidBalance{Token: coin, Holder: evm.Address{9, byte(i), byte(i >> 8)}, Amount: *uint256.NewInt(5)})
	}
	now := time.Now()
	for range 3 {
		l.keepSaid(t.Context(), list, now)
	}
	if n := len(w.notes); n != saidRate {
		t.Errorf("%d notes", n)
	}
}

// TestNodeFails: work that failed is done later.
func TestNodeFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.lane()
	w.add(coin, &token{name: "Coin"})
	w.add(art, &token{kind: index.ERC721, uri: func(id uint64) string { return fmt.Sprint(id) }})
	w.err = errNode
	b := w.block([]evm.Log{transferLog(coin, nobody, alice, 100), nftLog(art, nobody, alice, 7)})
	l.Seen([]index.SeenToken{{Token: coin}, {Token: art}}, []index.SeenNFT{{NFT: index.NFT{Token: art, ID: *uint256.NewInt(7)}, Kind: index.ERC721}})
	l.Block(b)
	for _, n := range l.news.Drain(nil) {
		l.take(t.Context(), n)
	}
	for range 3 {
		if _, err := l.step(t.Context()); !errors.Is(err, errNode) {
			t.Fatal(err)
		}
	}
	w.err = nil
	w.settle(l)
	if m, _ := w.meta(w.index, coin); m.Name != "Coin" || w.uri(w.index, art, 7) != "7" {
		t.Errorf("%+v, %s", m, w.uri(w.index, art, 7))
	}
}

// TestRun: a lane works by itself and ends with its context.
func TestRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, err := New(Config{Index: w.index, Node: w})
	w.do(err)
	w.add(coin, &token{name: "Coin"})
	w.block([]evm.Log{transferLog(coin, nobody, alice, 100)})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	l.Seen([]index.SeenToken{{Token: coin}}, nil)
	for {
		if _, known := w.meta(w.index, coin); known {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("never asked")
		}
	}
	stop()
	w.do(<-done)
	if slices.Contains(l.visited.Keys(), odd) {
		t.Error("visited what is no token")
	}
}
