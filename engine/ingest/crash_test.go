package ingest

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

const (
	// crashDir and crashGroup tell a child of the test binary what to do.
	crashDir   = "QUORATE_TEST_INGEST_DIR"
	crashGroup = "QUORATE_TEST_INGEST_GROUP"
)

// crashBlocks is the length of the chain.
var crashBlocks = torture.Pick(240, 800)

var crashChain = sync.OnceValue(func() []*evm.Block {
	return indextest.New(indextest.Config{Seed: 77, Txs: 10, Step: 1_700_000}).Blocks(crashBlocks)
})

func openIndex(dir string) (*store.DB, *index.Chain, error) {
	db, err := store.Open(dir, store.Options{MemTableMB: 8, BlockCacheMB: 16, IndexCacheMB: 8})
	if err != nil {
		return nil, nil, err
	}
	c, err := index.Open(db, chain.ID{9}, index.Options{Wrapped: []evm.Address{indextest.Wrapped}})
	return db, c, err
}

// follow indexes the chain to its end in groups, and tells each commit.
func follow(dir string, group int, told func(height uint64)) (digest [32]byte, err error) {
	db, c, err := openIndex(dir)
	if err != nil {
		return digest, err
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	blocks := crashChain()
	last := blocks[len(blocks)-1].Number
	node := newNode(blocks, last)
	i, err := New(Config[*evm.Block]{
		Source: node, Completer: node, Sink: index.Sink{Chain: c}, Group: group,
		OnBlock: func(b *evm.Block) {
			told(b.Number)
			if b.Number == last {
				cancel()
			}
		},
	})
	if err != nil {
		return digest, err
	}
	number, _, ok := c.Cursor()
	if ok {
		told(number)
	}
	if !ok || number < last {
		if err := i.Run(ctx); err != nil {
			return digest, err
		}
	}
	return c.Digest(context.Background())
}

// TestCrash: however often the process is killed while it catches up, the
// database ends the same as one that was left alone.
func TestCrash(t *testing.T) {
	if dir := os.Getenv(crashDir); dir != "" {
		crashChild(dir)
		return
	}
	t.Parallel()
	kills := torture.Pick(3, 40)
	want, err := follow(t.TempDir(), 256, func(uint64) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range []int{1, 7, 64} {
		t.Run(fmt.Sprint("groups of ", group), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "db")
			seed := uint64(group)
			rnd := rand.New(rand.NewPCG(seed, 2))
			for n := range kills {
				// Kills spread over the whole chain, at heights and moments by chance.
				height := crashBlocks*n/(kills+1) + rnd.IntN(crashBlocks/(kills+1))
				crash(t, dir, group, height, time.Duration(rnd.IntN(4000))*time.Microsecond)
			}
			got, err := follow(dir, group, func(uint64) {})
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("after %d kills the database is another one", kills)
			}
		})
	}
}

// crash starts a child and kills it some time after it has told of a height; one
// that is there already is killed soon after its start.
func crash(t *testing.T, dir string, group, height int, later time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrash$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir, fmt.Sprint(crashGroup, "=", group))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	armed := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "committed ")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Errorf("the child says %q", lines.Text())
			break
		}
		if n >= height && !armed {
			armed = true
			timer := time.AfterFunc(later, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
		}
	}
	err = cmd.Wait()
	if _, ended := err.(*exec.ExitError); !ended && err != nil || !armed {
		t.Fatalf("the child ended with %v before it was killed", err)
	}
}

func crashChild(dir string) {
	group, err := strconv.Atoi(os.Getenv(crashGroup))
	if err == nil {
		_, err = follow(dir, group, func(height uint64) { fmt.Println("committed", height) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
