package nftmeta

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/index"
	"quorate/engine/store/results"
)

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

// TestResults: room is made in the database that records are kept in, and the shares stay
// over a restart.
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
	large := func(m *Metadata) (n int) {
		for id := range uint64(200) {
			if token(t, m, addr(1), id+1).Status == Indexed {
				n++
			}
		}
		return n
	}
	m, stop := start()
	until(t, "there is no room", func() bool {
		m.Changed(home, []index.NFT{{Token: addr(1), ID: *uint256.NewInt(1 + rand.Uint64N(200))}})
		return large(m) == 49
	})
	w.add(addr(2), 1, itself)
	w.add(addr(3), 1, itself)
	until(t, "others have room", func() bool {
		m.Changed(home, []index.NFT{{Token: addr(2), ID: *uint256.NewInt(1)}})
		m.Changed(home, []index.NFT{{Token: addr(3), ID: *uint256.NewInt(1)}})
		return token(t, m, addr(2), 1).Status == Indexed && token(t, m, addr(3), 1).Status == Indexed
	})
	stop()
	m, stop = start()
	until(t, "it is read what there is", func() bool { n, _ := m.kept(); return n > 0 })
	if n, level := m.kept(); n != 49 || level != 47 || large(m) != 47 || token(t, m, addr(2), 1).Status != Indexed {
		t.Errorf("after a restart %d records, %d of the large collection, the level is %d", n, large(m), level)
	}
	stop()
}
