package results

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"testing"

	"quorate/engine/store"
)

// TestOperations: operations are kept until they are removed, apart from all else, over
// a restart and with a backup.
func TestOperations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, stop := start(t, dir, Options{})
	o := r.Operations()
	all := func(o Operations) map[string]string {
		t.Helper()
		got := map[string]string{}
		if err := o.Each(func(key, value []byte) { got[string(key)] = string(value) }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	ctx := t.Context()
	err := errors.Join(r.Put(ctx, []byte("a"), []byte("signed")), r.Notes().Put(ctx, []byte("a"), []byte("note")),
		o.Put(ctx, []byte("a"), []byte("first")), o.Put(ctx, []byte("b"), []byte("second")), o.Put(ctx, []byte("a"), []byte("third")),
		o.Put(ctx, []byte("c"), nil), o.Remove(ctx, []byte("b")), o.Remove(ctx, []byte("none")))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "third", "c": ""}
	if got := all(o); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if v, found, err := o.Get([]byte("a")); string(v) != "third" || !found || err != nil {
		t.Errorf("%q, %t, %v", v, found, err)
	}
	if v, found, err := o.Get([]byte("b")); found || err != nil {
		t.Errorf("removed, but there is %q, %v", v, err)
	}
	if err := o.EachOf([]byte("c"), func(key, _ []byte) {
		if string(key) != "c" {
			t.Errorf("%q", key)
		}
	}); err != nil {
		t.Error(err)
	}
	for prefix, want := range map[string]int{"": 2, "a": 1, "b": 0, "d": 0} {
		if n, err := o.Count(t.Context(), []byte(prefix)); n != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", prefix, n, err, want)
		}
	}
	if err := o.Put(ctx, []byte("a"), make([]byte, MaxValue+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	var copied bytes.Buffer
	if err := r.Backup(&copied); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := o.Each(nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v", err)
	}
	restored := t.TempDir()
	if err := Restore(restored, &copied); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, restored} {
		again, stop := start(t, dir, Options{})
		if got := all(again.Operations()); !maps.Equal(got, want) {
			t.Errorf("%v", got)
		}
		stop()
	}
}

// TestCount: counting takes the database a chunk at a time, so that it ends when it is told
// to, and reads no other kind.
func TestCount(t *testing.T) {
	t.Parallel()
	r, stop := start(t, t.TempDir(), Options{})
	defer stop()
	o, n := r.Metadata(), 2*pruneChunk+7
	b := r.db.NewWriteBatch()
	for i := range n {
		key := binary.BigEndian.AppendUint32([]byte{prefixMetadata, 'd'}, uint32(i))
		if err := b.Set(key, make([]byte, expiryLen)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Flush(), o.Put(t.Context(), []byte("a"), nil), o.Put(t.Context(), []byte("e"), nil), r.Webhooks().Put(t.Context(), []byte("d"), nil)); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]int{"d": n, "": n + 2, "x": 0} {
		if got, err := o.Count(t.Context(), []byte(prefix)); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", prefix, got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	if got, err := o.Count(&ends{ctx, cancel, 2}, []byte("d")); !errors.Is(err, context.Canceled) {
		t.Errorf("it counted %d though it was to end: %v", got, err)
	}
}

// ends is a context that ends after it was looked at a number of times.
type ends struct {
	context.Context
	end  func()
	left int
}

func (e *ends) Err() error {
	if e.left--; e.left < 0 {
		e.end()
	}
	return e.Context.Err()
}
