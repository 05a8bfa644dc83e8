package follow

import (
	"context"
	"errors"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/ingest"
)

func (m *memoryIndex) rewind(_ context.Context, to uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.blocks = m.blocks[:to+1]
	return nil
}

var _ ingest.Rewinder = (*Sink[*block])(nil)

// TestRewind: archive and index go back together and take other blocks; an end
// between the two leaves what was there.
func TestRewind(t *testing.T) {
	t.Parallel()
	dir, m := t.TempDir(), &memoryIndex{}
	blocks := chainOf(40, "a")
	s := newSink(t, dir, m)
	if err := s.Commit(t.Context(), blocks); err != nil {
		t.Fatal(err)
	}
	if id, err := s.ID(t.Context(), 17); err != nil || id != blocks[17].id {
		t.Errorf("block 17 is %x, %v", id, err)
	}
	if _, err := s.ID(t.Context(), 40); !errors.Is(err, errOldBlock) {
		t.Errorf("a block that is not there: %v", err)
	}
	m.fail = errors.New("disk full")
	if err := s.Rewind(t.Context(), 20); !errors.Is(err, m.fail) {
		t.Error(err)
	}
	m.fail = nil
	mustHold(t, s, m, blocks, 40)

	// As after a crash between the two.
	if err := m.rewind(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	if err := s.CatchUp(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, m, blocks, 40)

	if err := s.Rewind(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, m, blocks, 21)
	next := &block{21, chain.ID{9}, blocks[20].id}
	if err := s.Commit(t.Context(), []*block{next}); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, m, append(blocks[:21:21], next), 22)
}
