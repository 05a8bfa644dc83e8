package index

import (
	"errors"
	"testing"

	"quorate/engine/index/indextest"
)

// CommitAfter writes nothing before it is told to, however many transactions the
// blocks take, and nothing at all if it is told not to.
func TestCommitAfter(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 3, Txs: 12}).Blocks(60)
	c := openChain(t, Options{})
	commit(t, c, blocks[:1], 1)
	empty := digest(t, c)
	never := errors.New("not durable")
	asked := 0
	err := c.CommitAfter(t.Context(), blocks[1:], func() error {
		asked++
		if digest(t, c) != empty {
			t.Error("rows were written before the blocks are durable")
		}
		return never
	})
	if !errors.Is(err, never) || asked != 1 || digest(t, c) != empty {
		t.Errorf("got %v after %d questions", err, asked)
	}
	if n, _, _ := c.Cursor(); n != 0 {
		t.Errorf("the cursor is at %d", n)
	}
	asked = 0
	if err := c.CommitAfter(t.Context(), blocks[1:], func() error { asked++; return nil }); err != nil || asked != 1 {
		t.Fatalf("got %v after %d questions", err, asked)
	}
	if n, _, _ := c.Cursor(); n != 59 {
		t.Errorf("the cursor is at %d", n)
	}
}
