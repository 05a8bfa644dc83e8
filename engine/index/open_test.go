package index

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// patience is how long a database may take to close, however busy the machine.
const patience = time.Minute

func openDB(t testing.TB, dir string) *store.DB {
	t.Helper()
	db, err := openSmall(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.CloseWithin(patience); err != nil {
			t.Error(err)
		}
	})
	return db
}

func openSmall(dir string) (*store.DB, error) {
	return store.Open(dir, store.Options{MemTableMB: 8, BlockCacheMB: 16, IndexCacheMB: 8, NoSync: true})
}

// openChain opens a chain without blocks in a database that nobody else uses meanwhile,
// and in which chains of former tests may lie.
func openChain(t testing.TB, opts Options) *Chain { return openChainIn(t, lent.take(t), opts) }

// openAlone opens a chain in a database of its own, for those who look at all rows.
func openAlone(t testing.TB, opts Options) *Chain {
	return openChainIn(t, openDB(t, t.TempDir()), opts)
}

func openChainIn(t testing.TB, db *store.DB, opts Options) *Chain {
	t.Helper()
	opts.Wrapped = []evm.Address{indextest.Wrapped}
	c, err := Open(db, indextest.Self, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lender keeps databases from one test to the next: opening and closing one takes more
// than most tests do with it. The chains of former tests stay in it under other IDs, as
// chains do that are not served any more.
type lender struct {
	mu   sync.Mutex
	root string
	free []lentDB
	made int
}

type lentDB struct {
	db   *store.DB
	uses int
}

// lentUses is how many tests a database is for: the more rows there are, the longer it
// takes to find those of one chain.
const lentUses = 5

var lent lender

func TestMain(m *testing.M) {
	code := m.Run()
	if err := lent.close(); err != nil {
		fmt.Fprintln(os.Stderr, "databases of the tests:", err)
		code = 1
	}
	os.Exit(code)
}

func (l *lender) take(t testing.TB) *store.DB {
	t.Helper()
	d, err := l.next()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.giveBack(d, t.Failed()); err != nil {
			t.Error(err)
		}
	})
	return d.db
}

func (l *lender) next() (d lentDB, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n > 0 {
		d, l.free = l.free[n-1], l.free[:n-1]
		return d, nil
	}
	if l.root == "" {
		if l.root, err = os.MkdirTemp("", "quorate-index-"); err != nil {
			return d, err
		}
	}
	l.made++
	d.db, err = openSmall(fmt.Sprintf("%s/%d", l.root, l.made))
	return d, err
}

func (l *lender) giveBack(d lentDB, failed bool) error {
	if d.uses++; d.uses >= lentUses || failed {
		return d.db.CloseWithin(patience)
	}
	if err := leave(d.db); err != nil {
		return errors.Join(err, d.db.CloseWithin(patience))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, d)
	return nil
}

// leave gives the chains of a test other IDs, so that the next one finds none.
func leave(db *store.DB) error {
	s, err := db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	prefix := []byte{store.TableChains}
	rows, err := s.Rows(prefix, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	b, err := db.Batch()
	if err != nil {
		return err
	}
	defer b.Discard()
	for rows.Seek(prefix); rows.Valid(); rows.Next() {
		id := append(bytes.Clone(prefix), make([]byte, len(chain.ID{}))...)
		_, _ = rand.Read(id[len(prefix):]) // never fails
		if err := errors.Join(b.Delete(bytes.Clone(rows.Key())), rows.Value(func(ordinal []byte) error {
			return b.Set(id, bytes.Clone(ordinal))
		})); err != nil {
			return err
		}
	}
	return b.Commit()
}

// close closes the databases that nobody has, which shows whether a test has left one in
// use, and removes them.
func (l *lender) close() (err error) {
	for _, d := range l.free {
		err = errors.Join(err, d.db.CloseWithin(patience))
	}
	if l.root != "" {
		err = errors.Join(err, os.RemoveAll(l.root))
	}
	return err
}
