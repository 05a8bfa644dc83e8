package follow

import (
	"strings"
	"testing"
	"time"

	"quorate/engine/primary"
	"quorate/engine/source/container/containertest"
)

// TestUnreadable: a chain stands before a block of a type that this release does not know,
// and says so with all that an operator needs. After a restart it stands there too, and it
// goes on when the block can be read.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	genesis, future := containertest.MakeFuture(t, 40, 0, 31, 33)
	node := containertest.New(t, primary.PChain, future)
	node.Genesis = genesis
	until := func(what string, done func() bool) {
		t.Helper()
		late := time.After(time.Minute)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for !done() {
			select {
			case <-tick.C:
			case <-late:
				t.Fatal(what)
			}
		}
	}
	stands := func(p *Primary) {
		t.Helper()
		until("it does not stand", func() bool { return p.Unreadable() != nil })
		s, ok, err := p.Check()
		if !ok || s.Height != 30 || err == nil {
			t.Fatalf("%+v, %v, %v", s, ok, err)
		}
		for _, part := range []string{"the index stands at block 30 since 2", "block 31 (", ", of 1970-01-01T00:00:31Z)", "knows avalanchego 9.0.0", "type not allowed: 99"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q lacks %q", err, part)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one reason: %v", err)
		}
		gaps := p.Gaps()
		if len(gaps) != 1 || gaps[0].Kind != GapUnreadable || gaps[0].From != 31 || gaps[0].To != 40 || !gaps[0].Rows {
			t.Errorf("gaps %+v", gaps)
		}
		if target, behind := p.Syncing(); target != 40 || !behind {
			t.Errorf("of %d, behind %v", target, behind)
		}
	}
	t.Run("from the first block on", func(t *testing.T) {
		p, rows, _ := followed(t, dir, primary.PChain, nil, node)
		rows.await(t, 30)
		stands(p)
	})
	t.Run("after a restart", func(t *testing.T) {
		p, rows, _ := followed(t, dir, primary.PChain, nil, node)
		rows.await(t, 30)
		stands(p)
		// What a release that knows the type would read: the chain has blocks of a known one.
		_, known := containertest.MakeChain(t, 40, 0)
		node.Set(func(n *containertest.Node) { n.Containers = known })
		rows.await(t, 40)
		until("it is not well afterwards", func() bool {
			_, _, err := p.Check()
			return err == nil && len(p.Gaps()) == 0
		})
	})
}
