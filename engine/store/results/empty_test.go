package results

import (
	"os"
	"path/filepath"
	"testing"
)

// TestEmptyFiles: logs that a killed process had made but not begun to write do
// not keep a database from opening.
func TestEmptyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leave := func(names ...string) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	key, value := []byte("key"), []byte("value")
	r, stop := start(t, dir, Options{})
	if err := r.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
	stop()
	leave("000007.vlog")
	r, stop = start(t, dir, Options{})
	mustHave(t, r, key, value)
	stop()
	leave("000009.vlog", "00042.mem")
	r, stop = start(t, dir, Options{})
	mustHave(t, r, key, value)
	stop()
}
