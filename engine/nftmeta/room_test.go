package nftmeta

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/index"
	"quorate/engine/store/results"
)

// itself is a URI that is its own document.
func itself(id int) string { return fmt.Sprintf("data:,%%7B%%22name%%22:%%22%d%%22%%7D", id) }

// put keeps a record.
func put(w *world, token byte, id uint64, r record) {
	r.Version = recordVersion
	raw := r.encode()
	k := key{home, index.NFT{Token: addr(token), ID: *uint256.NewInt(id)}}
	if err := w.store.Put(context.Background(), k.bytes(), raw); err != nil {
		w.t.Fatal(err)
	}
}

// known returns the tokens of a collection of which there is a record.
func known(w *world, m *Metadata, token byte, n uint64) (ids []uint64) {
	for id := uint64(1); id <= n; id++ {
		of := addr(token)
		if got, err := m.Token(home, &of, uint256.NewInt(id)); err != nil {
			w.t.Fatal(err)
		} else if got != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestOldest: when there are more records than may be, failures go first, then old documents;
// what clients ask for counts as young, and passes do not fetch again what was dropped.
func TestOldest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add(addr(1), 100, at("a.example"))
		now := time.Now().Unix()
		for id := uint64(1); id <= 100; id++ {
			r := record{Status: Indexed, URI: digest(at("a.example")(int(id))), At: now - int64(id), Tried: now, Due: now + 1e6, Doc: &Document{Name: "x"}}
			switch {
			case id <= 10:
				r.Status, r.At, r.Doc = Unreachable, 0, nil
			case id > 95:
				r.Asked = now - 1
			}
			put(w, 1, id, r)
		}
		w.cfg.Most = 80
		m, stop := w.run()
		w.settle(2 * time.Minute)
		got := known(w, m, 1, 100)
		if len(got) < 76 || len(got) > 80 || slices.Min(got) <= 10 || !slices.Equal(got[len(got)-5:], []uint64{96, 97, 98, 99, 100}) {
			t.Errorf("left are %d", got)
		}
		w.settle(time.Hour)
		if got, err := m.Check(t.Context()); fmt.Sprint(got) != "{77 0 true}" || err != nil || len(w.requests()) > 0 {
			t.Errorf("%+v, %v, %d requests", got, err, len(w.requests()))
		}
		stop()
	})
}

// TestFull: a collection with more tokens than there may be records leaves room to new tokens and
// to those that clients ask for; there are never more records than allowed, and nothing is fetched
// in turns, also over restarts and kills.
func TestFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cfg.Most = 100
		w.store.check = func(rows map[string][]byte) {
			if len(rows) > 100 {
				t.Errorf("%d records", len(rows))
			}
		}
		w.add(addr(1), 1000, at("a.example"))
		m, stop := w.run()
		w.settle(10 * time.Minute)
		if n := len(known(w, m, 1, 1000)); n != 95 || len(w.requests()) != 95 {
			t.Errorf("%d records, %d requests", n, len(w.requests()))
		}
		for round := range 40 {
			nft := index.NFT{Token: addr(2), ID: *uint256.NewInt(uint64(round + 1))}
			w.add(addr(2), round+1, itself)
			if round%2 == 0 {
				m.Changed(home, []index.NFT{nft})
			} else if err := m.Reindex(t.Context(), home, nft.Token, nft.ID); err != nil {
				t.Fatal(err)
			}
			w.settle(6 * time.Minute) // a pass, which makes room
			if got := token(t, m, addr(2), uint64(round+1)); got.Status != Indexed {
				t.Fatalf("a new token, round %d: %+v", round, got)
			}
			if round%8 == 0 {
				left := w.store.killed()
				stop()
				w.store = left
				m, stop = w.run()
				w.settle(time.Second)
			}
		}
		stop()
		if n := len(w.requests()); n != 95 {
			t.Errorf("%d requests", n)
		}
	})
}

// untilMost bounds the wait for what is to happen, however busy the machine.
const untilMost = 2 * time.Minute

// until waits for what is to happen.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(untilMost); !ok(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", untilMost, what)
		}
	}
}

// TestResults: records are in the database, and room is made there.
func TestResults(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	w.cfg.Most = 50
	w.add(addr(1), 200, itself)
	start := func() (m *Metadata, stop func()) {
		db, err := results.Open(dir, results.Options{})
		if err != nil {
			t.Fatal(err)
		}
		cfg := w.cfg
		cfg.Store = db.Metadata()
		if m, err = New(cfg); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- db.Run(t.Context()) }()
		go func() { ended <- m.Run(ctx) }()
		return m, func() {
			cancel()
			for _, err := range []error{<-ended, db.Close(), <-ended} {
				if err != nil {
					t.Error(err)
				}
			}
		}
	}
	m, stop := start()
	until(t, "it is full", func() bool {
		m.Changed(home, []index.NFT{{Token: addr(1), ID: *uint256.NewInt(1 + rand.Uint64N(200))}})
		return len(known(w, m, 1, 200)) == 50
	})
	stop()
	m, stop = start()
	var last []index.NFT
	for id := range uint64(20) {
		last = append(last, index.NFT{Token: addr(1), ID: *uint256.NewInt(181 + id)})
	}
	m.Changed(home, last)
	until(t, "new ones are kept", func() bool { return len(known(w, m, 1, 200)) >= 48 && token(t, m, addr(1), 200).Status == Indexed })
	stop()
	m, stop = start()
	until(t, "the records are counted", func() bool { n, _ := m.kept(); return n >= 48 && n <= 50 && n == len(known(w, m, 1, 200)) })
	stop()
}
