package index

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// killDir is the variable that names the database of a child of the test binary.
const killDir = "QUORATE_TEST_REBUILD_DIR"

// killBlocks is the length of the chain. Blocks are committed while tables are made
// again.
var killBlocks = torture.Pick(80, 120)

func killChain() []*evm.Block {
	return indextest.New(indextest.Config{Seed: 71, Txs: torture.Pick(4, 8)}).Blocks(killBlocks)
}

// openKilled opens a database as a server does.
func openKilled(dir string) (*store.DB, *Chain, error) {
	db, err := store.Open(dir, store.Options{MemTableMB: 8, BlockCacheMB: 16, IndexCacheMB: 8})
	if err != nil {
		return nil, nil, err
	}
	c, err := Open(db, indextest.Self, Options{Wrapped: []evm.Address{indextest.Wrapped}})
	if err == nil {
		c.groupTxs, c.within = 15, uint64(killBlocks*5/8)
	}
	return db, c, err
}

// TestKillRebuild: however often a process is killed that makes tables again, drops
// the old ones, checks them, completes and commits blocks, the database ends the same as one
// that nobody disturbed.
func TestKillRebuild(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(killDir); dir != "" {
		err := rebuildForEver(dir)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dir, rnd := t.TempDir(), rand.New(rand.NewPCG(71, 1))
	for n := range torture.Pick(3, 50) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillRebuild$")
		cmd.Env = append(os.Environ(), killDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines, reached := 1+rnd.IntN(40), false
		for s := bufio.NewScanner(out); s.Scan(); {
			if lines--; lines == 0 {
				reached = true
				timer := time.AfterFunc(time.Duration(rnd.IntN(20_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
				defer timer.Stop()
			}
		}
		if err := cmd.Wait(); !reached || !errors.As(err, new(*exec.ExitError)) {
			t.Fatalf("kill %d: the child ended by itself: %v", n, err)
		}
	}
	db, c, err := openKilled(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	blocks := killChain()
	next := 0
	if number, _, ok := c.Cursor(); ok {
		next = int(number) + 1
	}
	commit(t, c, blocks[next:], 30)
	for _, g := range c.Gaps() {
		for n := g.From; n <= g.To; n++ {
			complete(t, c, blocks[n])
		}
	}
	rebuild(t, c, &archive{blocks: blocks}, c.Stale()...)
	rebuild(t, c, &archive{blocks: blocks}, store.TableFailed)
	clean := openAlone(t, Options{})
	commit(t, clean, blocks, 100)
	if digest(t, c) != digest(t, clean) {
		t.Error("the digests differ")
	}
	if got, want := countRows(t, c), countRows(t, clean); got > want+2 {
		t.Errorf("%d rows, want %d", got, want)
	}
}

// rebuildForEver is the child. It prints a line at each step.
func rebuildForEver(dir string) error {
	_, c, err := openKilled(dir)
	if err != nil {
		return err
	}
	blocks := killChain()
	given := bare(blocks, func(n uint64) bool { return n%12 == 7 })
	next := 0
	if number, _, ok := c.Cursor(); ok {
		next = int(number) + 1
	}
	ctx := context.Background()
	more := func(n int) {
		for ; n > 0 && next < killBlocks; n-- {
			if n%2 == 0 { // written while the next one is made
				err = errors.Join(err, c.CommitAhead(ctx, given[next:next+1], ready))
			} else {
				err = errors.Join(err, c.Commit(ctx, given[next:next+1]))
			}
			next++
		}
		err = errors.Join(err, c.Land())
		fmt.Println("committed", next)
	}
	if next < killBlocks/2 {
		more(killBlocks/2 - next)
	}
	a := &archive{blocks: blocks} // it has the traces already
	step := func(done, of uint64) {
		if done+c.within < of {
			more(2)
		}
		fmt.Println("made", done)
	}
	for err == nil {
		if gaps := c.Gaps(); len(gaps) > 0 {
			err = errors.Join(err, c.Complete(ctx, blocks[gaps[0].From]))
			fmt.Println("completed")
		}
		err = errors.Join(err, c.Rebuild(ctx, a, Tables(), step))
		fmt.Println("rebuilt")
		more(5)
		_, failed := c.Check(ctx, a, step, func(d Difference) {
			if len(c.Gaps()) == 0 { // a block without its trace differs
				err = errors.Join(err, errors.New(d.String()))
			}
		})
		err = errors.Join(err, failed)
		fmt.Println("checked")
	}
	return err
}
