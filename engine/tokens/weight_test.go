package tokens

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/index"
)

// TestReplacedURIs: URIs that change do not count again, so that a contract's later NFTs
// have one too; those that were long and are short have made room.
func TestReplacedURIs(t *testing.T) {
	t.Parallel()
	const most, first = 100, 40
	w := newWorld(t)
	l := w.lane()
	l.mostURIs = most
	name := "0-"
	w.add(art, &token{kind: index.ERC721, name: "a", decimals: -1, uri: func(id uint64) string { return fmt.Sprint(name, id) }})
	w.grow(l, mints(art, 0, first))
	ask := func(uri string) {
		t.Helper()
		name = uri
		for id := range uint64(first) {
			l.AskURI(art, *uint256.NewInt(id))
		}
		w.settle(l)
		v := w.view(w.index)
		defer v.Close()
		got, _ := l.counted.Get(countKey{art, false})
		if want, err := v.CountURIs(art, 100*most); err != nil || got != want {
			t.Errorf("%.5s: they count as %d, and are %d, %v", uri, got, want, err)
		}
	}
	for i := range 5 {
		ask(fmt.Sprint(i+1, "-"))
	}
	ask("data:," + strings.Repeat("x", 20<<10)) // of some, until they fill it
	ask("6-")
	w.grow(l, mints(art, first, most))
	for id := range uint64(most) {
		if got, want := w.uri(w.index, art, id), fmt.Sprint("6-", id); got != want {
			t.Fatalf("%d: %s, want %s", id, got, want)
		}
	}
}

// TestFullURIs: where there is no room for long URIs they are none, however they are found,
// and that is kept once: not each time that the contract is asked.
func TestFullURIs(t *testing.T) {
	t.Parallel()
	const most = 10
	long := "data:," + strings.Repeat("x", 20<<10)
	for name, find := range map[string]func(w *world, l *Lane){
		"asked": func(w *world, l *Lane) {
			for id := range uint64(most) {
				l.AskURI(art, *uint256.NewInt(id))
			}
			w.settle(l)
		},
		"visited": func(w *world, l *Lane) {
			for range 20 { // a sample can be empty
				l.past(movedEvery)
				l.schedule(art, time.Now(), movedEvery)
				w.settle(l)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			l := w.lane()
			l.mostURIs = most
			told := 0
			l.cfg.URIs = func(nfts []index.NFT) { told += len(nfts) }
			uri := "short"
			w.add(art, &token{kind: index.ERC721, name: "a", decimals: -1, uri: func(id uint64) string { return uri }})
			w.grow(l, mints(art, 0, most))
			uri = long
			find(w, l)
			for id := range uint64(most) {
				if got := w.uri(w.index, art, id); got != "" {
					t.Errorf("%d: %d bytes", id, len(got))
				}
			}
			notes, hints := slices.Clone(w.notes), told
			calls := w.calls
			find(w, l)
			if len(w.notes) != len(notes) || told != hints {
				t.Errorf("%d notes and %d hints of what was known", len(w.notes)-len(notes), told-hints)
			}
			if n := w.calls - calls; n > max(most, 20*(7+sampleURIs+1)) {
				t.Errorf("%d calls", n)
			}
		})
	}
}
