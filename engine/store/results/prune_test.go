package results

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestPrune: beyond its size the oldest results go, and only as many as must.
func TestPrune(t *testing.T) {
	t.Parallel()
	const limit, entry = 200 << 10, 1000
	r, _ := start(t, t.TempDir(), Options{MaxBytes: limit})
	value := bytes.Repeat([]byte{7}, entry)
	put := func(from, to int) {
		for i := from; i < to; i++ {
			if err := r.Put(t.Context(), fmt.Appendf(nil, "key %05d", i), value); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := func(from, to int) (n int) {
		for i := from; i < to; i++ {
			if _, ok, err := r.Get(fmt.Appendf(nil, "key %05d", i), nil); err != nil {
				t.Fatal(err)
			} else if ok {
				n++
			}
		}
		return n
	}
	put(0, 150)
	if err := r.prune(t.Context()); err != nil || kept(0, 150) != 150 {
		t.Fatalf("below the limit: %d of 150 left, %v", kept(0, 150), err)
	}
	if err := r.Notes().Put(t.Context(), []byte("note"), []byte("stays")); err != nil {
		t.Fatal(err)
	}
	put(150, 400)
	put(0, 10) // written again: these are young
	if err := r.prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := kept(0, 10); n != 10 {
		t.Errorf("%d of the 10 that were written again are left", n)
	}
	if n := kept(10, 200); n != 0 {
		t.Errorf("%d of the 190 oldest are left", n)
	}
	if n := kept(250, 400); n != 150 {
		t.Errorf("%d of the 150 youngest are left", n)
	}
	if total := r.bytes.Load(); total > limit || total < limit*7/10 {
		t.Errorf("%d bytes are left, the limit is %d", total, limit)
	}
	n := 0
	if err := r.Notes().Each([]byte("no"), func(k, v []byte) {
		n++
		if string(k) != "note" || string(v) != "stays" {
			t.Errorf("note %q is %q", k, v)
		}
	}); err != nil || n != 1 {
		t.Errorf("%d notes, %v", n, err)
	}
}

// TestPruneLeavesRewritten: what is written again while it is deleted stays.
func TestPruneLeavesRewritten(t *testing.T) {
	t.Parallel()
	r, _ := start(t, t.TempDir(), Options{})
	var keys [][]byte
	for i := range 100 {
		keys = append(keys, fmt.Appendf(nil, "key %05d", i))
	}
	put := func() {
		var all sync.WaitGroup
		for _, key := range keys {
			all.Go(func() {
				if err := r.Put(t.Context(), key, []byte{7}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	var rows [][]byte
	for _, key := range keys {
		rows = append(rows, append([]byte{prefixResult}, key...))
	}
	for range 30 {
		put()
		newest, err := r.newest()
		if err != nil {
			t.Fatal(err)
		}
		removed := make(chan error)
		go func() {
			_, err := r.remove(slices.Clone(rows), newest)
			removed <- err
		}()
		put()
		if err := <-removed; err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if _, ok, err := r.Get(key, nil); err != nil || !ok {
				t.Fatalf("%s is gone, though it was written again: %v", key, err)
			}
		}
	}
}

// TestPruneByItself: the writer has the database pruned, without waiting for it.
func TestPruneByItself(t *testing.T) {
	t.Parallel()
	const limit = 100 << 10
	r, stop := start(t, t.TempDir(), Options{MaxBytes: limit, GCEvery: time.Hour})
	for i := range 2000 {
		if err := r.Put(t.Context(), fmt.Appendf(nil, "key %05d", i), bytes.Repeat([]byte{7}, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(30 * time.Second); r.bytes.Load() > limit; {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are left, the limit is %d", r.bytes.Load(), limit)
		}
		<-time.After(time.Millisecond)
	}
	stop()
}

// TestNotesExpire: notes that are not written again are forgotten.
func TestNotesExpire(t *testing.T) {
	t.Parallel()
	r, _ := start(t, t.TempDir(), Options{})
	if err := r.Notes().Put(t.Context(), []byte("a"), []byte("b")); err != nil {
		t.Fatal(err)
	}
	r.now = func() time.Time { return time.Now().Add(noteTTL + time.Second) }
	if err := r.Notes().Each(nil, func(k, _ []byte) { t.Errorf("note %q is still there", k) }); err != nil {
		t.Fatal(err)
	}
}
