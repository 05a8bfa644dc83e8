package results

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"quorate/engine/store"
)

// TestResultsBackup moves results to another folder while they are in use.
func TestResultsBackup(t *testing.T) {
	t.Parallel()
	r, stop := start(t, t.TempDir(), Options{})
	want := map[string]string{"a": "signed a", "b": "signed b"}
	for k, v := range want {
		if err := r.Put(t.Context(), []byte(k), []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	var copied bytes.Buffer
	if err := r.Backup(&copied); err != nil {
		t.Fatal(err)
	}
	stop()
	dir := t.TempDir()
	if err := errors.Join(Restore(dir, bytes.NewReader(copied.Bytes())), VerifyFiles(dir)); err != nil {
		t.Fatal(err)
	}
	other, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range want {
		if got, ok, err := other.Get([]byte(k), nil); err != nil || !ok || string(got) != v {
			t.Errorf("%s: %q, %v, %v", k, got, ok, err)
		}
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if err := other.Backup(&copied); !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// TestVerifyDamaged: a flipped bit is found wherever it is in a table, and ends nothing else.
func TestVerifyDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, stop := start(t, dir, Options{})
	for k := range 300 {
		if err := r.Put(t.Context(), []byte{byte(k >> 8), byte(k)}, bytes.Repeat([]byte{byte(k), 7}, 50)); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	whole, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		bad := bytes.Clone(whole)
		bad[i*len(bad)/8+3] ^= 16
		if err := os.WriteFile(tables[0], bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if VerifyFiles(dir) == nil {
			t.Errorf("byte %d of %d is damaged, and not found", i*len(bad)/8+3, len(bad))
		}
	}
	if err := errors.Join(os.WriteFile(tables[0], whole, 0o600), VerifyFiles(dir)); err != nil {
		t.Error(err)
	}
}

// TestBackupMemory: a backup beside a server takes little memory, whatever the
// database's own has per thread: garbage collections keep requests waiting.
func TestBackupMemory(t *testing.T) {
	r, stop := start(t, t.TempDir(), Options{})
	defer stop()
	value := bytes.Repeat([]byte{7}, 1000)
	for k := range 500 {
		if err := r.Put(t.Context(), []byte{byte(k >> 8), byte(k)}, value); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := r.Backup(io.Discard); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("a backup of half a megabyte takes %d bytes of memory", took)
	}
}
