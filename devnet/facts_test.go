package devnet

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFactsNoFile: a folder in the place of the file is said to be the fault.
func TestFactsNoFile(t *testing.T) {
	t.Parallel()
	if err := (Facts{}).Write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "rename") {
		t.Errorf("a folder: %v", err)
	}
	if err := (Facts{}).Write(string(filepath.Separator)); err == nil || strings.Contains(err.Error(), "pattern") {
		t.Errorf("the root: %v", err)
	}
}
