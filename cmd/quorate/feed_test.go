package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/feed"
	"quorate/engine/feed/feedtest"
	"quorate/engine/feed/jetstream"
)

// feedRig is a fleet whose servers share a log.
type feedRig struct {
	d     *devnet.Devnet
	c     *evmchain.Chain
	nats  *feedtest.NATS
	log   *jetstream.Log
	fleet string
	dirs  []string
	all   []*child // two members, two replicas
}

func newFeedRig(t *testing.T, servers int) *feedRig {
	t.Helper()
	r := &feedRig{nats: feedtest.StartNATS(t, servers)}
	r.d = startNetwork(t, devnet.Config{Validators: 2, Blocks: 70, TxsPerBlock: 3})
	r.c, _ = cChain(r.d)
	var err error
	if r.log, err = jetstream.Open(jetstream.Config{URL: r.nats.URL, Name: t.Name()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.log.Close)
	r.fleet = filepath.Join(t.TempDir(), "fleet.yaml")
	mustCommand(t, nil, "fleet", "init", "-o", r.fleet, "--member", "http://127.0.0.1:1", "--log", r.nats.URL)
	r.all, r.dirs = make([]*child, 4), make([]string, 4)
	for i := range r.all {
		r.dirs[i] = t.TempDir()
		r.start(t, i)
	}
	return r
}

// start starts a server: the first two have a node.
func (r *feedRig) start(t *testing.T, i int) {
	t.Helper()
	nodes := r.d.NodeURLs()
	if i > 1 {
		nodes = nil
	}
	r.all[i] = startFleetChild(t, nodes, r.dirs[i], "--fleet", r.fleet)
}

// reach waits until servers have indexed a block.
func (r *feedRig) reach(t *testing.T, height uint64, servers ...int) {
	t.Helper()
	_, number := cChain(r.d)
	for _, i := range servers {
		poll(t, 20*time.Millisecond, fmt.Sprintf("server %d has block %d: %s", i, height, r.all[i].stderr), func() bool {
			return hasBlock(t, r.all[i].url, number, height)
		})
	}
}

// check checks that servers have the same pages, and that the log has each block once, linked.
func (r *feedRig) check(t *testing.T, last uint64, servers ...int) {
	t.Helper()
	r.reach(t, last, servers...)
	for _, i := range servers[1:] { // names of tokens come behind the blocks
		poll(t, 50*time.Millisecond, fmt.Sprintf("server %d has the pages of server %d", i, servers[0]), func() bool {
			pages := r.pages(t, r.all[i].url, last)
			return pages != nil && maps.Equal(pages, r.pages(t, r.all[servers[0]].url, last))
		})
	}
	poll(t, 50*time.Millisecond, "the log has the last block", func() bool { return r.linked(t, last) == nil })
}

func (r *feedRig) pages(t *testing.T, url string, last uint64) map[string]string {
	t.Helper()
	pages := make(map[string]string)
	for _, path := range []string{
		fmt.Sprintf("/v1/chains/C/transactions?startBlock=20&endBlock=%d&pageSize=50", last),
		fmt.Sprintf("/v1/chains/C/blocks/%d/transactions", last),
		fmt.Sprintf("/v1/chains/C/blocks?endBlock=%d&pageSize=50", last),
		"/v1/networks/fuji/blockchains/p-chain/blocks?pageSize=5",
	} {
		status, body := get(t, url+path)
		if status == http.StatusNotFound { // a server that has just started
			return nil
		}
		if status != http.StatusOK {
			t.Fatalf("%s: status %d: %s", path, status, body)
		}
		// A token is of the tip that it was made at.
		var page map[string]json.RawMessage
		if err := json.Unmarshal(body, &page); err != nil {
			t.Fatal(err)
		}
		delete(page, "nextPageToken")
		body, _ = json.Marshal(page)
		pages[path] = string(body)
	}
	return pages
}

// linked checks the log of the C-Chain.
func (r *feedRig) linked(t *testing.T, last uint64) error {
	t.Helper()
	ids, err := r.log.Networks(t.Context())
	if err != nil || len(ids) != 1 {
		return fmt.Errorf("networks %v, %w", ids, err)
	}
	id, err := chain.ParseID(r.blockchainID(t))
	if err != nil {
		return err
	}
	subject := feed.Subject(ids[0], id, feed.SubjectBlocks)
	var next uint64
	var parent [32]byte
	codec := archive.NewCodec(archive.KindEVM)
	for at := uint64(1); ; at++ {
		raw, found, err := r.log.Read(t.Context(), subject, at)
		if errors.Is(err, feed.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		rec, err := feed.Decode(raw)
		if err != nil {
			return err
		}
		if next > 0 && (rec.Next != next || rec.Parent != parent) {
			t.Fatalf("the record at %d, by %s, follows on block %d, and not on %d", found, rec.Writer, rec.Next, next)
		}
		for rest := rec.Data; len(rest) > 0; {
			var unit []byte
			if unit, _, rest, err = archive.SplitUnit(rest); err == nil {
				err = codec.Unpack(unit, func(b archive.Block) error {
					next, parent = b.Height+1, b.ID
					return nil
				})
			}
			if err != nil {
				return err
			}
		}
		at = found
	}
	if next <= last {
		return fmt.Errorf("the log ends before block %d", next)
	}
	return nil
}

func (r *feedRig) signal(t *testing.T, i int, s syscall.Signal) {
	t.Helper()
	if err := r.all[i].cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (r *feedRig) blockchainID(t *testing.T) string {
	t.Helper()
	status, body := post(t, r.d.NodeURL()+"/ext/info", `{"jsonrpc":"2.0","id":1,"method":"info.getBlockchainID","params":{"alias":"C"}}`)
	result, _ := body["result"].(map[string]any)
	id, _ := result["blockchainID"].(string)
	if status != http.StatusOK || id == "" {
		t.Fatal(status, body)
	}
	return id
}

// TestFeed: two servers with nodes and two without share the head of their chains by a log. One
// after the other is killed, and so is the log; after each fault all have the same pages, and
// the log has each block once.
func TestFeed(t *testing.T) {
	for _, servers := range []int{1, 3} {
		if servers == 3 && testing.Short() {
			continue
		}
		t.Run(fmt.Sprint(servers), func(t *testing.T) { testFeed(t, servers) })
	}
}

func testFeed(t *testing.T, servers int) {
	r := newFeedRig(t, servers)
	last := uint64(70)
	grow := func(n int) {
		advance(r.c, n)
		last += uint64(n)
	}
	r.check(t, last, 0, 1, 2, 3)
	grow(10)
	r.check(t, last, 0, 1, 2, 3)
	for _, fault := range []struct {
		name string
		hit  func()
		left []int // that are up
		mend func()
	}{
		{"a member", func() { r.all[0].kill(t) }, []int{1, 2, 3}, func() { r.start(t, 0) }},
		{"the other one", func() { r.all[1].kill(t) }, []int{0, 2, 3}, func() { r.start(t, 1) }},
		{"a replica", func() { r.all[2].kill(t) }, []int{0, 1, 3}, func() { r.start(t, 2) }},
		{"a member stands still", func() { r.signal(t, 0, syscall.SIGSTOP) }, []int{1, 2, 3}, func() { r.signal(t, 0, syscall.SIGCONT) }},
		{"the other one does", func() { r.signal(t, 1, syscall.SIGSTOP) }, []int{0, 2, 3}, func() { r.signal(t, 1, syscall.SIGCONT) }},
		{"the log", func() {
			for i := range servers {
				r.nats.Kill(i)
			}
		}, []int{0, 1}, func() {
			for i := range servers {
				r.nats.Start(i)
			}
		}},
		{"the log with its files", func() {
			for i := range servers {
				r.nats.Kill(i)
				r.nats.Wipe(i)
			}
		}, []int{0, 1}, func() {
			for i := range servers {
				r.nats.Start(i)
			}
		}},
	} {
		t.Log(fault.name)
		fault.hit()
		grow(5)
		r.reach(t, last, fault.left...)
		for _, i := range []int{2, 3} { // who is there answers what it has
			if r.all[i].cmd.ProcessState == nil {
				r.pages(t, r.all[i].url, 70)
			}
		}
		fault.mend()
		r.check(t, last, 0, 1, 2, 3)
		grow(5)
		r.check(t, last, 0, 1, 2, 3)
	}
	for _, c := range r.all {
		began := time.Now()
		c.stop(t)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the stop took %s", took)
		}
	}
}
