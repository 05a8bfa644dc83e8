package chaintest

import (
	"testing"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
)

// Container is a block with its header as the Index API of a real network returned it.
type Container struct {
	ID    string
	Bytes Hex
	JSON  json.RawMessage // of the block without the header
}

// Recorded calls each with all containers of a recording in order, and with the chain.
func Recorded(t *testing.T, file []byte, each func(chain.ID, *Container)) {
	t.Helper()
	r := Load[struct {
		Chain      string
		Containers []Container
	}](t, file)
	id, err := chain.ParseID(r.Chain)
	if err != nil || len(r.Containers) == 0 {
		t.Fatalf("%d containers of chain %s, %v", len(r.Containers), r.Chain, err)
	}
	for i := range r.Containers {
		each(id, &r.Containers[i])
	}
}
