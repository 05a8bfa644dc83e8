package engine

import (
	"encoding/json"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/engine/ingest"
)

// TestSyncing: a chain's check says that its index is empty or far behind, and how far.
func TestSyncing(t *testing.T) {
	t.Parallel()
	f := func(s ingest.Status, want string) {
		t.Helper()
		if got, err := json.Marshal(syncing(&s)); err != nil || string(got) != want {
			t.Errorf("%+v: %s, %v, want %s", s, got, err, want)
		}
	}
	f(ingest.Status{}, `{"syncing":true,"chainHeight":0,"missingBlocks":1}`)
	f(ingest.Status{Target: 7}, `{"syncing":true,"chainHeight":7,"missingBlocks":8}`)
	f(ingest.Status{Started: true}, "null")
	f(ingest.Status{Started: true, Head: chain.Head{Height: 936}, Target: 1000}, "null")
	f(ingest.Status{Target: 7, Left: 90 * time.Second}, `{"syncing":true,"chainHeight":7,"missingBlocks":8,"timeLeft":"1m30s"}`)
	f(ingest.Status{Started: true, Head: chain.Head{Height: 935}, Target: 1000}, `{"syncing":true,"chainHeight":1000,"missingBlocks":65}`)
	f(ingest.Status{Started: true, Head: chain.Head{Height: 1001}, Target: 1000}, "null")
}
