package results

import (
	"bytes"
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
		if n, err := o.Count([]byte(prefix)); n != want || err != nil {
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
