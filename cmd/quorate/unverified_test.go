package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/store/results"
)

// TestUnverified: blocks that an older release could not check lie in the archive as a
// node answered them. They are named until a release knows what they hold, which checks
// them without a node; one of them that turns out to be false is asked of the node. In the
// end archive and index are those of a server that knew it from the beginning.
func TestUnverified(t *testing.T) {
	campaign(t)
	t.Parallel()
	r := newArchiveRig(t, devnet.Config{Blocks: 30, TxsPerBlock: 3})
	p := r.start(t)
	r.awaitWhole(t, p.url)
	p.stop(t)
	const reason = "a transaction of type 126, which is not known"
	lied := r.unverify(t, 11, 14, reason)
	r.remember(t, map[string]any{"first": 11, "last": 11, "count": 1, "reasons": map[string]uint64{reason: 11}})
	if n := len(r.unchecked(t)); n != 4 {
		t.Fatalf("%d blocks are unverified", n)
	}
	removeAll(t, r.path("index")) // rows are those of what was known of the blocks

	p = r.start(t)
	r.awaitWhole(t, p.url)
	poll(t, 50*time.Millisecond, "no block is unverified, and all rows are made again", func() bool {
		_, body := get(t, p.url+"/v1/chains")
		return !strings.Contains(string(body), `"gaps"`)
	})
	p.stop(t)
	if n := r.logged(t, "a block that could not be checked when it came is false"); n != 1 {
		t.Errorf("%d blocks were found to be false, want block %d", n, lied)
	}
	if left := r.unchecked(t); len(left) != 0 {
		t.Errorf("unverified in the archive: %v", left)
	}
	want := honestDigest(t, r.d, r.c)
	if digest(t, r.dir, r.c) != want {
		t.Error("the rows are others")
	}
	if fromArchive(t, r.dir, r.c) != want {
		t.Error("the archive makes other rows")
	}
}

// logged counts the lines of the folder's logs that have a text.
func (r *archiveRig) logged(t *testing.T, text string) (n int) {
	t.Helper()
	files, err := filepath.Glob(r.path("logs", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(raw), text)
	}
	return n
}

// inArchive does something with the archive of a folder that no server uses.
func (r *archiveRig) inArchive(t *testing.T, do func(a *archive.Archive) error) {
	t.Helper()
	a, err := archive.Open(r.path("archive", r.c.Config().ID.String()), archive.Options{Kind: archive.KindEVM})
	if err == nil {
		err = errors.Join(do(a), a.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unchecked returns the heights of blocks that could not be checked.
func (r *archiveRig) unchecked(t *testing.T) (list []uint64) {
	t.Helper()
	r.inArchive(t, func(a *archive.Archive) error {
		return evmarchive.NewReader(a).Read(t.Context(), 0, r.c.Tip(), func(b *evm.Block) error {
			if b.Unverified != "" || b.Foreign != nil || b.Header == nil {
				list = append(list, b.Number)
			}
			return nil
		})
	})
	return list
}

// unverify makes blocks of the archive such as a release leaves them that cannot check
// them. The node lied about one of them, whose height is returned.
func (r *archiveRig) unverify(t *testing.T, from, to uint64, reason string) (lied uint64) {
	t.Helper()
	var blocks []archive.Block
	r.inArchive(t, func(a *archive.Archive) error {
		err := evmarchive.NewReader(a).Read(t.Context(), from, to, func(b *evm.Block) error {
			tag := fmt.Sprintf("0x%x", b.Number)
			block, receipts := string(r.ask(t, "eth_getBlockByNumber", tag, true)), r.ask(t, "eth_getBlockReceipts", tag)
			if b.Number == to {
				lied = b.Number
				gas := b.Txs[0].GasLimit
				block = strings.Replace(block, fmt.Sprintf(`"gas":"0x%x"`, gas), fmt.Sprintf(`"gas":"0x%x"`, gas+1), 1)
				b.Txs[0].GasLimit++
			}
			b.Unverified, b.Header = reason, nil
			b.Foreign = []byte(`{"block":` + block + `,"receipts":` + string(receipts) + `}`)
			blocks = append(blocks, evmarchive.BlockOf(b))
			return nil
		})
		return errors.Join(err, a.Replace(t.Context(), blocks))
	})
	return lied
}

func (r *archiveRig) ask(t *testing.T, method string, args ...any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": args})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := new(http.Client).Post(r.d.NodeURL()+"/ext/bc/"+r.c.Config().ID.String()+"/rpc", "application/json", strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Result json.RawMessage }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Result) < 5 {
		t.Fatalf("%s: %s, %v", method, answer.Result, err)
	}
	return answer.Result
}

// remember writes what a server remembers of the chain's unverified blocks.
func (r *archiveRig) remember(t *testing.T, record any) {
	t.Helper()
	raw, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	db, err := results.Open(filepath.Join(r.dir, "results"), results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	id := r.c.Config().ID
	err = db.Remember(ctx, append([]byte("unverified/"), id[:]...), raw)
	cancel()
	if err = errors.Join(err, <-ended, db.Close()); err != nil {
		t.Fatal(err)
	}
}
