package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
)

// TestKeepGrowth: how far the embedded network has come is in the data folder, and a file
// that is not ours is no beginning.
func TestKeepGrowth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var cfg devnet.Config
	if err := keepGrowth(&cfg, dir); err != nil || cfg.Grown != (devnet.Growth{}) {
		t.Fatalf("%+v, %v", cfg.Grown, err)
	}
	want := devnet.Growth{Blocks: 7, Heights: 3, Helicon: time.Date(2024, 12, 1, 0, 0, 0, 0, time.UTC)}
	cfg.OnGrowth(devnet.Growth{Blocks: 6, Heights: 3})
	cfg.OnGrowth(want)
	var next devnet.Config
	if err := keepGrowth(&next, dir); err != nil || next.Grown != want || next.Helicon != want.Helicon {
		t.Errorf("%+v, %v", next.Grown, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("files %v, %v", files, err)
	}
	if err := os.WriteFile(filepath.Join(dir, growthFile), []byte(`{"blocks":1,"heights":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	before := devnet.Config{Helicon: want.Helicon}
	if err := keepGrowth(&before, dir); err != nil || !before.Helicon.IsZero() {
		t.Errorf("a folder of before goes on with Helicon at %s: %v", before.Helicon, err)
	}
	for _, bad := range []string{"", "{", `{"blocks":-1}`, `{"blocks":5000001}`, `{"heights":18446744073709551615}`} {
		if err := os.WriteFile(filepath.Join(dir, growthFile), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := keepGrowth(&next, dir); err == nil || !strings.Contains(err.Error(), growthFile) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
