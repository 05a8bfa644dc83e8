package helicon

import (
	"context"
	"testing"
	"time"

	"quorate/e2e/helicon/replay"
)

// TestStartBlock begins the C-Chain among blocks that are settled by later ones. The P- and
// X-Chain have not so many.
func TestStartBlock(t *testing.T) {
	t.Parallel()
	const from = 100
	w := world(t)
	s := startServer(t, t.TempDir(), []served{startNode(t, w, len(w.Blocks), replay.Lie{})}, "--start-block", "100")
	s.judgeFrom(t, w, from)
	s.stop(t)
	checkFolder(t, s.data)
}

// TestLies has the first of two nodes say what is false of a block that it alone has: what
// settles the block finds it out, and no page says it 10 s after.
func TestLies(t *testing.T) {
	for _, lie := range []replay.Lie{{Block: 82, Member: "log"}, {Block: 79, Member: "status"}, {Block: 100, Member: "gasUsed"}} {
		t.Run(lie.Member, func(t *testing.T) {
			t.Parallel()
			w := world(t)
			liar, honest := startNode(t, w, lastPlain+1, lie), startNode(t, w, lastPlain+1, replay.Lie{})
			s := startServer(t, t.TempDir(), []served{liar, honest})
			s.waitBlock(t, lastPlain+1)
			liar.Advance(lie.Block)
			s.waitBlock(t, lie.Block)
			truth := w.Blocks[lie.Block]
			if s.block(t.Context(), truth) == nil {
				t.Error("the lie is not served, so nothing is tested")
			}
			settling := lie.Block
			for w.Blocks[settling].Settled < lie.Block {
				settling++
			}
			liar.Advance(settling)
			honest.Advance(settling)
			s.waitBlock(t, settling)
			eventually(t, 10*time.Second, func(ctx context.Context) error { return s.block(ctx, truth) })
			eventually(t, 10*time.Second, func(context.Context) error { return s.says(liar.http.URL, "a node answered falsely") })
			liar.Advance(len(w.Blocks))
			honest.Advance(len(w.Blocks))
			s.judge(t, w)
			s.stop(t)
			checkFolder(t, s.data)
		})
	}
}
