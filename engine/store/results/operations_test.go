package results

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	for prefix, want := range map[string]int{"": 2, "a": 1, "b": 0, "d": 0} {
		if got := paged(t, o, prefix); len(got) != want {
			t.Errorf("%q: %q, want %d", prefix, got, want)
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

// paged returns the keys that begin with prefix, page by page.
func paged(t *testing.T, o Operations, prefix string) (keys []string) {
	t.Helper()
	var next []byte
	var err error
	for {
		if next, err = o.Page([]byte(prefix), next, func(key, _ []byte) { keys = append(keys, string(key)) }); err != nil {
			t.Fatal(err)
		}
		if next == nil {
			return keys
		}
	}
}

// TestPages: pages hold the database for a chunk each, together have every key once, and
// none of another kind; what is removed at once stays so.
func TestPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, stop := start(t, dir, Options{})
	o, n := r.Metadata(), 2*pruneChunk+7
	b := r.db.NewWriteBatch()
	for i := range n {
		key := binary.BigEndian.AppendUint32([]byte{prefixMetadata, 'd'}, uint32(i))
		if err := b.Set(key, append(make([]byte, expiryLen), byte(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Flush(), o.Put(t.Context(), []byte("a"), nil), o.Put(t.Context(), []byte("e"), nil), r.Webhooks().Put(t.Context(), []byte("d"), nil)); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]int{"d": n, "": n + 2, "x": 0} {
		if got := paged(t, o, prefix); len(got) != want || !slices.IsSorted(got) {
			t.Errorf("%q: %d, want %d", prefix, len(got), want)
		}
	}
	var doomed [][]byte
	next, err := o.Page([]byte("d"), nil, func(key, value []byte) {
		if k := binary.BigEndian.Uint32(key[1:]); len(value) != 1 || value[0] != byte(k) {
			t.Errorf("%x: %x", key, value)
		}
		doomed = append(doomed, bytes.Clone(key))
	})
	if err != nil || len(doomed) != pruneChunk || next == nil {
		t.Fatalf("%d in a page, then %x, %v", len(doomed), next, err)
	}
	doomed = append(doomed, []byte("dx"), []byte("e")) // the first of them is not there
	if done, err := o.RemoveAll(doomed); done != len(doomed) || err != nil {
		t.Errorf("%d of %d removed, %v", done, len(doomed), err)
	}
	stop()
	if _, err := o.Page(nil, nil, nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := o.RemoveAll(doomed); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	r, stop = start(t, dir, Options{})
	defer stop()
	if got := paged(t, r.Metadata(), ""); len(got) != n-pruneChunk+1 || got[0] != "a" || got[1] != string(next) {
		t.Errorf("%d are left", len(got))
	}
	if got := paged(t, r.Webhooks(), ""); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestDisown: of a copied database everything is kept but what only one server may have.
func TestDisown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, stop := start(t, dir, Options{})
	for i := range 3000 {
		key := fmt.Appendf(nil, "%04d", i)
		for _, put := range []func(context.Context, []byte, []byte) error{r.Put, r.Webhooks().Put, r.Operations().Put, r.Metadata().Put} {
			if err := put(t.Context(), key, key); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.Webhooks().Put(t.Context(), []byte("secret/acme"), []byte("secret")); err != nil {
		t.Fatal(err)
	}
	stop()
	webhooks, operations, err := Disown(dir)
	if err != nil || webhooks != 3000 || operations != 3000 {
		t.Errorf("%d webhooks, %d operations, %v", webhooks, operations, err)
	}
	r, _ = start(t, dir, Options{})
	for i, of := range []Operations{r.Webhooks(), r.Operations(), r.Metadata()} {
		n := 0
		if err := of.Each(func(_, _ []byte) { n++ }); err != nil || n > 0 != (i == 2) {
			t.Errorf("kind %d: %d are left, %v", i, n, err)
		}
	}
	mustHave(t, r, []byte("2999"), []byte("2999"))
}
