package engine

import (
	"runtime"
	"testing"
)

// TestMachine: what follows from the machine stays within its bounds.
func TestMachine(t *testing.T) {
	t.Parallel()
	if n := concurrency(); n < minConcurrency || n > maxConcurrency || n < min(2*runtime.GOMAXPROCS(0), maxConcurrency) {
		t.Errorf("%d requests at one time", n)
	}
	if n := machineMemory(); n < 16<<20 {
		t.Errorf("%d bytes of memory", n)
	}
}
