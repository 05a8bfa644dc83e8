package index

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// Snapshots between two commits are of one moment, those after a commit see it,
// and older ones do not.
func TestMoments(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	write(t, d, map[string]string{"table1": "a", "table2": "b"})
	one, two := snapshot(t, d), snapshot(t, d)
	if one.at != two.at || one.at.users != 3 {
		t.Errorf("two snapshots without a commit between share %v, %d users", one.at == two.at, one.at.users)
	}
	old := one.at
	two.Close()
	write(t, d, map[string]string{"table3": "c"})
	three := snapshot(t, d)
	if three.at == old || old.users != 1 {
		t.Errorf("after a commit: the same moment %v, the old one has %d users", three.at == old, old.users)
	}
	if got := keys(t, one, "table", false, "table"); !slices.Equal(got, []string{"table1", "table2"}) {
		t.Errorf("before the commit: %q", got)
	}
	if got := keys(t, three, "table", true, "table9"); !slices.Equal(got, []string{"table3", "table2", "table1"}) {
		t.Errorf("after the commit: %q", got)
	}
	one.Close()
	one.Close()
	if old.users != 0 || three.at.users != 2 {
		t.Errorf("%d and %d users", old.users, three.at.users)
	}
}

// Iterators stay within their prefix, whatever was read before.
func TestIterators(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	rows := map[string]string{}
	for i := range 40 {
		rows[fmt.Sprintf("tableA%02d", i)], rows[fmt.Sprintf("tableB%02d", i)] = "", ""
	}
	write(t, d, rows)
	s := snapshot(t, d)
	for range 3 {
		for _, prefix := range []string{"tableA", "tableB", "tableA1"} {
			r, err := s.Rows([]byte(prefix), false)
			if err != nil {
				t.Fatal(err)
			}
			r.Seek([]byte(prefix)) // and stops on the way
			r.Next()
			r.Close()
			r.Close()
			want := 40
			if len(prefix) > 6 {
				want = 10
			}
			if got := keys(t, s, prefix, false, prefix); len(got) != want || got[0] != prefix+"00"[len(prefix)-6:] {
				t.Errorf("%s: %q", prefix, got)
			}
			if got := keys(t, s, prefix, true, prefix+"\xff"); len(got) != want {
				t.Errorf("%s in reverse: %q", prefix, got)
			}
		}
	}
	s.Close()
}

// A snapshot sees every commit that ended before it, whoever commits and reads
// meanwhile.
func TestMomentsAtOnce(t *testing.T) {
	t.Parallel()
	const writers, readers, commits = 3, 3, 60
	d := openSmall(t, t.TempDir(), Options{NoSync: true})
	var ended [writers]atomic.Uint64
	var writing, reading sync.WaitGroup
	var stop atomic.Bool
	for w := range writers {
		writing.Go(func() {
			for n := uint64(1); n <= commits; n++ {
				b, err := d.Batch()
				if err == nil {
					err = b.Set([]byte{'t', byte(w)}, binary.BigEndian.AppendUint64(nil, n))
				}
				if err == nil {
					err = b.Commit()
				}
				if err != nil {
					t.Error(err)
					return
				}
				ended[w].Store(n)
			}
		})
	}
	for range readers {
		reading.Go(func() {
			for !stop.Load() {
				for w := range writers {
					checkSeen(t, d, byte(w), ended[w].Load())
				}
			}
		})
	}
	writing.Wait()
	stop.Store(true)
	reading.Wait()
	for w := range writers {
		checkSeen(t, d, byte(w), commits)
	}
}

// checkSeen checks by Get and by an iterator that a new snapshot sees at least a commit.
func checkSeen(t *testing.T, d *DB, writer byte, least uint64) {
	s, err := d.Snapshot()
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Close()
	var got, again uint64
	read := func(n *uint64) func([]byte) error {
		return func(v []byte) error { *n = binary.BigEndian.Uint64(v); return nil }
	}
	key := []byte{'t', writer}
	if _, err := s.Get(key, read(&got)); err != nil {
		t.Error(err)
	}
	r, err := s.Rows(key, false)
	if err != nil {
		t.Error(err)
		return
	}
	if r.Seek(key); r.Valid() {
		if err := r.Value(read(&again)); err != nil {
			t.Error(err)
		}
	}
	if got < least || again != got {
		t.Errorf("writer %d: %d by key and %d by iterator, committed was %d", writer, got, again, least)
	}
}

// TestScansKept: iterators are used again, by one snapshot at a time, and end with
// their moment.
func TestScansKept(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	rows := map[string]string{}
	for i := range 3 {
		rows[fmt.Sprintf("aaaaa%d", i)], rows[fmt.Sprintf("bbbbb%d", i)] = "", ""
	}
	write(t, d, rows)
	s := snapshot(t, d)
	m := s.at
	open := func(prefix string, reverse bool) *Rows {
		t.Helper()
		r, err := s.Rows([]byte(prefix), reverse)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	one := open("aaaaa", false)
	two := open("aaaaa1", false)
	if one.it == two.it {
		t.Error("two use one iterator at once")
	}
	was := two.it
	two.Close()
	two.Close()
	if len(m.idle) != 1 {
		t.Errorf("%d are idle", len(m.idle))
	}
	for prefix, reverse := range map[string]bool{"bbbbb": false, "aaaaa": true, "aaaa": false} {
		if r := open(prefix, reverse); r.it == was {
			t.Errorf("%s, reverse %v: the iterator of another table or direction", prefix, reverse)
		}
	}
	again := open("aaaaa2", false)
	if again.it != was {
		t.Error("the idle iterator is not used again")
	}
	if again.Seek([]byte("aaaaa2")); !again.Valid() || string(again.Key()) != "aaaaa2" {
		t.Error("the row is not found")
	}
	for again.Next(); again.Valid(); again.Next() {
		t.Errorf("%s is behind the prefix", again.Key())
	}
	for range maxIdle + 5 {
		open("aaaaa", false)
	}
	write(t, d, map[string]string{"aaaaa9": ""})
	s.Close()
	if len(m.idle) != 0 || m.users != 0 {
		t.Errorf("%d are idle in a moment that has ended, %d users", len(m.idle), m.users)
	}
	if got := keys(t, snapshot(t, d), "aaaaa", false, "aaaaa"); len(got) != 4 {
		t.Errorf("after the commit: %q", got)
	}
}

// TestScansBounded: no more are kept than the bound says.
func TestScansBounded(t *testing.T) {
	t.Parallel()
	d := openSmall(t, t.TempDir(), Options{})
	write(t, d, map[string]string{"aaaaa1": "", "bbbbb1": ""})
	for range 2 {
		s := snapshot(t, d)
		for i := range 2 * maxIdle {
			if _, err := s.Rows([]byte([]string{"aaaaa", "bbbbb"}[i%2]), i%3 == 0); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		if n := len(d.newest.idle); n != maxIdle {
			t.Errorf("%d are kept", n)
		}
	}
}
