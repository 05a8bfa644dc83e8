package results

import (
	"errors"
	"testing"
	"time"

	"quorate/engine/store"
)

func TestHas(t *testing.T) {
	t.Parallel()
	r, stop := start(t, t.TempDir(), Options{TTL: time.Hour})
	for _, key := range []string{"a1", "a2", "c"} {
		if err := r.Put(t.Context(), []byte(key), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	has := func(prefix string, want bool) {
		t.Helper()
		if got, err := r.Has([]byte(prefix)); err != nil || got != want {
			t.Errorf("%q: %v, %v", prefix, got, err)
		}
	}
	has("a", true)
	has("a2", true)
	has("a3", false)
	has("b", false)
	has("c", true)
	has("cc", false)
	begin := time.Now()
	r.now = func() time.Time { return begin.Add(2 * time.Hour) }
	has("a", false)
	stop()
	if _, err := r.Has([]byte("a")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
