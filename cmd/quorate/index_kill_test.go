package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/settle"
	"quorate/engine/index"
	"quorate/engine/ingest"
	"quorate/engine/source"
	evmsource "quorate/engine/source/evm"
	"quorate/engine/source/platform"
	store "quorate/engine/store/index"
)

// These tell a child of the test binary to follow a chain in groups.
const (
	groupChild = "QUORATE_TEST_GROUP"
	groupDir   = "QUORATE_TEST_GROUP_DIR"
	groupNode  = "QUORATE_TEST_GROUP_NODE"
	groupChain = "QUORATE_TEST_GROUP_CHAIN"
)

// killCount returns how often a server is killed: QUORATE_KILLS, or three times,
// and the whole number of times in make torture.
func killCount(t *testing.T, whole int) int {
	t.Helper()
	s := os.Getenv("QUORATE_KILLS")
	if s == "" {
		return torture.Pick(3, whole)
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("QUORATE_KILLS: %v", err)
	}
	return n
}

// startNetwork starts a simulated network for the length of the test, a small one where
// the test does not say how large: a server shakes hands with each validator, and indexes
// each transaction.
func startNetwork(t testing.TB, cfg devnet.Config) *devnet.Devnet {
	t.Helper()
	if cfg.Validators == 0 {
		cfg.Validators = max(cfg.Nodes, 1)
	}
	if cfg.TxsPerBlock == 0 {
		cfg.TxsPerBlock = 3
	}
	cfg.Drain = patience
	d, stop, err := startDevnet(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if stop(&err); err != nil {
			t.Error(err)
		}
	})
	return d
}

// cChain returns the C-Chain of a simulated network and its number.
func cChain(d *devnet.Devnet) (c *evmchain.Chain, number string) {
	c = d.EVMChain(d.World().CChainID())
	return c, strconv.FormatUint(c.Config().EVMChainID, 10)
}

// advance lets a chain accept blocks.
func advance(c *evmchain.Chain, blocks int) {
	for range blocks {
		c.Advance()
	}
}

// indexed returns the height up to which a server has indexed a chain. It is asked
// again and again and looks at two families alone.
func indexed(t testing.TB, url, number string) uint64 {
	t.Helper()
	resp, err := new(http.Client).Get(url + "/ext/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var name string
	heights := make(map[string]string) // by the chain's label
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "quorate_chain_info{") && !strings.HasPrefix(line, "quorate_ingest_height{") {
			continue
		}
		_, label, _ := strings.Cut(line, `chain="`)
		label, _, _ = strings.Cut(label, `"`)
		if _, height, _ := strings.Cut(line, " "); strings.HasPrefix(line, "quorate_ingest_height{") {
			heights[label] = height
		} else if strings.Contains(line, `evm_chain_id="`+number+`"`) {
			name = label
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	height, err := strconv.ParseFloat(heights[name], 64)
	if err != nil {
		return 0 // it has no such chain yet
	}
	return uint64(height)
}

// patience bounds the wait for what is to happen, however busy the machine.
var patience = time.Duration(torture.Pick(5, 40)) * time.Minute

// poll asks until ok reports true: every so often, and less often where asking takes
// long, so that what is waited for has most of the processor.
func poll(t testing.TB, every time.Duration, what string, ok func() bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		asked := time.Now()
		if ok() {
			return
		}
		select {
		case <-time.After(max(every, min(12*time.Since(asked), time.Second))):
		case <-limit:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// awaitIndexed waits until a server has indexed a chain up to its tip. It looks for
// that block before it asks for metrics, which are dear to make with the race detector.
func awaitIndexed(t testing.TB, url string, c *evmchain.Chain) {
	t.Helper()
	poll(t, 50*time.Millisecond, fmt.Sprint("chain ", c.Config().EVMChainID, " is indexed"), func() bool { return isIndexed(t, url, c) })
}

// isIndexed reports whether a server has indexed a chain up to its tip.
func isIndexed(t testing.TB, url string, c *evmchain.Chain) bool {
	t.Helper()
	number, tip := strconv.FormatUint(c.Config().EVMChainID, 10), c.Tip()
	return hasBlock(t, url, number, tip) && indexed(t, url, number) >= tip
}

// hasBlock reports whether a server may have indexed a block of a chain.
func hasBlock(t testing.TB, url, number string, height uint64) bool {
	t.Helper()
	status, _ := get(t, fmt.Sprintf("%s/v1/chains/%s/blocks/%d/transactions?pageSize=1", url, number, height))
	return status != http.StatusNotFound && status != http.StatusServiceUnavailable
}

// digest returns the digest of what a server that has ended has indexed of a
// chain, and checks that it is indexed up to the tip.
func digest(t *testing.T, dir string, c *evmchain.Chain) [32]byte {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, "index"), smallStore)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	rows, err := index.Open(db, c.Config().ID, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if number, hash, ok := rows.Cursor(); !ok || number != c.Tip() || hash != c.Hash(number) {
		t.Errorf("chain %d is indexed up to %d, %v, %v; its tip is %d", c.Config().EVMChainID, number, hash, ok, c.Tip())
	}
	sum, err := rows.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// undisturbed has a server that is left alone index the C-Chain of a network, gives
// its data folder and how long it took.
func undisturbed(t *testing.T, d *devnet.Devnet) (dir string, took time.Duration) {
	t.Helper()
	dir = t.TempDir()
	start := time.Now()
	s := startChild(t, d, dir)
	c, _ := cChain(d)
	awaitIndexed(t, s.url, c)
	took = time.Since(start)
	s.stop(t)
	return dir, took
}

// smallStore are options for a database of a test, which is read or written once.
var smallStore = store.Options{NoSync: true, MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8}

// honestDigest returns the digest of the rows of a chain as its node tells of it, all at
// once and without a server: those of a server must be the same, whatever it went through.
func honestDigest(t *testing.T, d *devnet.Devnet, c *evmchain.Chain) (sum [32]byte) {
	t.Helper()
	client := chainClient(t, d, c)
	blocks, err := client.Fetch(t.Context(), 0, c.Tip())
	var paid settle.Chain // sets base fees to those that were
	for _, b := range blocks {
		if err == nil && client.Needs(b) {
			err = client.Complete(t.Context(), b)
		}
		if err == nil {
			err = paid.Next(b)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.TempDir(), smallStore)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := index.Open(db, c.Config().ID, index.Options{})
	if err == nil {
		err = rows.Commit(t.Context(), blocks)
	}
	if err == nil {
		sum, err = rows.Digest(t.Context())
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return sum
}

// chainClient returns a client of a chain's RPC at the node of a simulated network.
func chainClient(t testing.TB, d *devnet.Devnet, c *evmchain.Chain) *evmsource.Client {
	t.Helper()
	node, err := source.Open(d.NodeURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	client, err := evmsource.New(evmsource.Config{
		Node: node, Path: "/ext/bc/" + c.Config().ID.String() + "/rpc", AVAXAssetID: evm.Hash(c.Config().AssetID),
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// killBlocks is the height at the start, and killGrowth by how much the chain then
// grows while the server is down: there is always something to catch up with.
var (
	killBlocks = torture.Pick(40, 600)
	killGrowth = torture.Pick(8, 100)
)

// TestKillWhileIndexing: however often the server is killed while it catches up,
// its database ends the same as that of one that was left alone. [killCount]
// says how often, for each of: the server, killed at any moment after its start,
// and the ingest of groups of 1, 7 and 64 blocks from the same node, killed at any
// height.
func TestKillWhileIndexing(t *testing.T) {
	campaign(t)
	t.Parallel()
	if os.Getenv(groupChild) != "" {
		followGroups()
		return
	}
	kills := killCount(t, 25)
	d := startNetwork(t, devnet.Config{Blocks: killBlocks, TxsPerBlock: torture.Pick(2, 5)})
	c, _ := cChain(d)
	_, took := undisturbed(t, d)
	rnd := rand.New(rand.NewPCG(uint64(kills), 5))

	dirs := map[string]string{"serve": t.TempDir()}
	for range kills {
		killAfter(t, d, dirs["serve"], time.Duration(rnd.Int64N(int64(took))))
		advance(c, killGrowth)
	}
	last := startChild(t, d, dirs["serve"])
	awaitIndexed(t, last.url, c)
	last.stop(t)
	for _, group := range []int{1, 7, 64} {
		name := fmt.Sprint("groups of ", group)
		dirs[name] = t.TempDir()
		for n := range kills {
			// Spread over the whole chain, each at a height and a moment by chance.
			part := int(c.Tip()) / (kills + 1)
			killGroups(t, d, dirs[name], group, part*n+rnd.IntN(part), time.Duration(rnd.IntN(3000))*time.Microsecond)
		}
		killGroups(t, d, dirs[name], group, -1, 0)
	}
	want := honestDigest(t, d, c)
	for name, dir := range dirs {
		if digest(t, dir, c) != want {
			t.Errorf("%s: after %d kills the database is another one", name, kills)
		}
	}
	if fromArchive(t, dirs["serve"], c) != want {
		t.Errorf("after %d kills the archive makes another database", kills)
	}
	t.Logf("4 times %d kills, tip %d", kills, c.Tip())
}

// killAfter starts a server and kills it some time later, whatever it does then.
func killAfter(t *testing.T, d *devnet.Devnet, dir string, later time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--node-url", d.NodeURL(), "--http-port", "0",
		"--data-dir", dir, "--log-display-level", "fatal")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	errs := &lockedBuffer{}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-time.After(later):
	case err := <-ended:
		t.Fatalf("the server ended by itself: %v\n%s", err, errs)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// killGroups starts a child that follows the chain in groups, and kills it some
// time after it has told of a height. With a height below zero it is left alone
// until it has reached the tip.
func killGroups(t *testing.T, d *devnet.Devnet, dir string, group, height int, later time.Duration) {
	t.Helper()
	c, _ := cChain(d)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillWhileIndexing$")
	cmd.Env = append(os.Environ(), groupDir+"="+filepath.Join(dir, "index"), fmt.Sprint(groupChild, "=", group),
		groupNode+"="+d.NodeURL(), groupChain+"="+c.Config().ID.String())
	errs := &lockedBuffer{}
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	leftAlone := height < 0
	if leftAlone {
		height = int(c.Tip())
	}
	reached := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text, told := strings.CutPrefix(lines.Text(), "indexed ")
		n, err := strconv.Atoi(text)
		if !told || err != nil || n < height || reached {
			continue
		}
		reached = true
		sig := os.Kill
		if leftAlone {
			sig = os.Interrupt
		}
		timer := time.AfterFunc(later, func() { _ = cmd.Process.Signal(sig) }) // Wait tells whether it came
		defer timer.Stop()
	}
	err = cmd.Wait()
	if killed := errors.As(err, new(*exec.ExitError)); !reached || leftAlone && err != nil || !leftAlone && !killed {
		t.Fatalf("groups of %d: the child ended with %v, height %d reached: %v\n%s", group, err, height, reached, errs)
	}
}

// followGroups is the child: it follows the chain until it is interrupted.
func followGroups() {
	if err := followChain(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func followChain() (err error) {
	group, err := strconv.Atoi(os.Getenv(groupChild))
	if err != nil {
		return err
	}
	id, err := chain.ParseID(os.Getenv(groupChain))
	if err != nil {
		return err
	}
	node, err := source.Open(os.Getenv(groupNode))
	if err != nil {
		return err
	}
	defer node.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	asset, err := platform.New(node).StakingAssetID(ctx)
	if err != nil {
		return err
	}
	client, err := evmsource.New(evmsource.Config{Node: node, Path: "/ext/bc/" + id.String() + "/rpc", AVAXAssetID: evm.Hash(asset)})
	if err != nil {
		return err
	}
	db, err := store.Open(os.Getenv(groupDir), store.Options{MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := index.Open(db, id, index.Options{})
	if err != nil {
		return err
	}
	if number, _, ok := rows.Cursor(); ok {
		fmt.Println("indexed", number)
	}
	i, err := ingest.New(ingest.Config[*evm.Block]{
		Source: client, Sink: index.Sink{Chain: rows}, Completer: client, Group: group, Span: max(group, 4),
		OnBlock: func(b *evm.Block) { fmt.Println("indexed", b.Number) },
	})
	if err != nil {
		return err
	}
	return i.Run(ctx)
}
