package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/world"
	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/follow"
	"quorate/engine/index"
	"quorate/engine/ingest"
	"quorate/engine/source"
	evmsource "quorate/engine/source/evm"
	store "quorate/engine/store/index"
)

// chainFarm in the environment makes the test binary a simulated network in a
// process of its own, with so many blocks of so many transactions, so many blocks of
// the P-Chain, and whether the C-Chain executes blocks after their acceptance:
// "400x100+0 false".
const chainFarm = "QUORATE_BENCH_CHAIN"

// TestChainFarm is that process. It accepts a block for each line of its input,
// and answers with the time from which on its node has the block as the latest one.
func TestChainFarm(t *testing.T) {
	form := os.Getenv(chainFarm)
	if form == "" {
		t.Skip("only as the process of another test")
	}
	if err := runChainFarm(form); err != nil {
		t.Fatal(err)
	}
}

func runChainFarm(form string) (err error) {
	cfg, late := devnet.Config{HistoryInterval: devnet.DefaultBlockInterval, ExecutionDelay: devnet.DefaultExecutionDelay}, false
	if _, err := fmt.Sscanf(form, "%dx%d+%d %t", &cfg.Blocks, &cfg.TxsPerBlock, &cfg.PrimaryBlocks, &late); err != nil {
		return err
	}
	if late {
		cfg.Helicon = world.Start().AddDate(-1, 0, 0) // before the history
	}
	d, err := devnet.New(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	defer func() { cancel(); err = errors.Join(err, <-ended) }()
	select {
	case <-d.Ready():
	case err := <-ended:
		ended <- nil
		return err
	}
	c := d.EVMChain(d.World().CChainID())
	c.Tip() // builds the chain, before anyone measures
	fmt.Println("chain", d.NodeURL(), c.Config().ID, c.Config().AssetID)
	if made := d.Primary(); made != nil {
		v, x := made.Vertices(), made.AVM()
		fmt.Println("primary", d.World().XChainID(), len(made.Platform()), len(v), len(x))
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		height, at := c.Tip()+1, make(chan time.Time, 1)
		go func() { // woken as those are whom the node tells of it
			c.Wait(height)
			at <- time.Now()
		}()
		if !late { // both kinds take as long, so that what goes on meanwhile costs as much
			<-time.After(cfg.ExecutionDelay)
		}
		c.Advance()
		fmt.Println("executed", height, (<-at).UnixNano())
	}
	return nil
}

// farm is a simulated chain in another process.
type farm struct {
	url       string
	id, asset chain.ID
	blocks    uint64
	in        io.Writer
	out       *bufio.Scanner
}

func startChainFarm(t testing.TB, blocks, txs int) *farm {
	return startFarmWith(t, blocks, txs, 0, false)
}

func startFarmWith(t testing.TB, blocks, txs, primaryBlocks int, late bool) *farm {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChainFarm$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%dx%d+%d %t", chainFarm, blocks, txs, primaryBlocks, late))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	f := &farm{in: in, out: bufio.NewScanner(out), blocks: uint64(blocks)}
	words := f.line(t, "chain")
	f.url = words[0]
	if f.id, err = chain.ParseID(words[1]); err != nil {
		t.Fatal(err)
	}
	if f.asset, err = chain.ParseID(words[2]); err != nil {
		t.Fatal(err)
	}
	return f
}

// line returns the words of the next line that begins with a word, without it.
func (f *farm) line(t testing.TB, first string) []string {
	t.Helper()
	for f.out.Scan() {
		if words := strings.Fields(f.out.Text()); len(words) > 0 && words[0] == first {
			return words[1:]
		}
	}
	t.Fatalf("no line %q: %v", first, f.out.Err())
	return nil
}

// accept lets the chain accept a block, and returns its height and since when the node has
// it as the latest one.
func (f *farm) accept(t testing.TB) (height uint64, at time.Time) {
	t.Helper()
	if _, err := io.WriteString(f.in, "\n"); err != nil {
		t.Fatal(err)
	}
	words := f.line(t, "executed")
	height, err := strconv.ParseUint(words[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	nano, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return height, time.Unix(0, nano)
}

// client returns a reader of the chain.
func (f *farm) client(t testing.TB) *evmsource.Client {
	t.Helper()
	node, err := source.Open(f.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	at, err := source.ParseEndpoint(f.url)
	if err != nil {
		t.Fatal(err)
	}
	path := "/ext/bc/" + f.id.String()
	c, err := evmsource.New(evmsource.Config{
		Node: node, Path: path + "/rpc", WS: at.At(path + "/ws"), AVAXAssetID: evm.Hash(f.asset),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// openChain opens an index in a new folder.
func openChain(t testing.TB, opts store.Options) (*store.DB, *index.Chain, string) {
	t.Helper()
	dir := t.TempDir()
	db, c := reopenChain(t, dir, opts)
	return db, c, dir
}

func reopenChain(t testing.TB, dir string, opts store.Options) (*store.DB, *index.Chain) {
	t.Helper()
	db, err := store.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := index.Open(db, chain.ID{1}, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db, c
}

// openSink opens where a server puts the blocks of a chain, in a new folder: the
// archive and the index.
func openSink(t testing.TB) (ingest.Sink[*evm.Block], *store.DB, *index.Chain, string) {
	t.Helper()
	a, err := archive.Open(t.TempDir(), archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	db, c, dir := openChain(t, store.Options{})
	return sinkOf(a, c), db, c, dir
}

func sinkOf(a *archive.Archive, c *index.Chain) *follow.Sink[*evm.Block] {
	return follow.NewSink(a, index.Sink{Chain: c}, evmarchive.Append, evmarchive.NewReader(a), func() error { return nil })
}

// nowhere is a sink that keeps nothing: what is measured is the source alone.
type nowhere struct{ last atomic.Pointer[evm.Block] }

func (s *nowhere) Cursor() (head chain.Head, ok bool) {
	b := s.last.Load()
	if b == nil {
		return head, false
	}
	return b.Link().Head, true
}

func (s *nowhere) Commit(_ context.Context, blocks []*evm.Block) error {
	s.last.Store(blocks[len(blocks)-1])
	return nil
}

// sourceLanes bounds the requests of each kind at one time.
const sourceLanes = 4

// follow runs an ingest up to the farm's first tip, and tells how long that took
// and how many transactions there were.
func (f *farm) follow(t testing.TB, sink ingest.Sink[*evm.Block]) (took time.Duration, txs int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := f.client(t)
	i, err := ingest.New(ingest.Config[*evm.Block]{
		Source: client, Sink: sink, Completer: client, Fetchers: sourceLanes, Completers: sourceLanes,
		OnBlock: func(b *evm.Block) {
			txs += len(b.Txs)
			if b.Number == f.blocks {
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := i.Run(ctx); err != nil {
		t.Fatal(err)
	}
	took = time.Since(start)
	if head, ok := sink.Cursor(); !ok || head.Height < f.blocks {
		t.Fatalf("followed up to %d, %v", head.Height, i.Status().Err)
	}
	return took, txs
}

// BenchmarkIngest archives and indexes blocks of 100 transactions on average, all rows
// on, each group on disk before the next, from a simulated node in another process on
// the same cores. x/source is the rate against that of fetching, tracing and
// decoding the same blocks alone, in turns; disk-B/tx is the size of all tables
// after the database was closed; cpu-us/tx is without the node, and verify/cpu the
// part of it that goes into verification. database/source is the rate at which the
// database alone writes the same rows, against that of the source.
func BenchmarkIngest(b *testing.B) {
	const blocks = 300
	f := startChainFarm(b, blocks, 100)
	f.follow(b, new(nowhere)) // warms up both sides
	var rates, alone, disk, ours, base []float64
	count := 0
	for b.Loop() {
		before := cpu()
		took, txs := f.follow(b, new(nowhere))
		base = append(base, float64(cpu()-before)/1e3/float64(txs))
		alone = append(alone, float64(txs)/took.Seconds())

		sink, db, _, dir := openSink(b)
		before = cpu()
		took, txs = f.follow(b, sink)
		count = txs
		ours = append(ours, float64(cpu()-before)/1e3/float64(txs))
		rates = append(rates, float64(txs)/took.Seconds())
		if err := db.Close(); err != nil { // writes all tables
			b.Fatal(err)
		}
		disk = append(disk, float64(tableBytes(b, dir))/float64(txs))
	}
	// Behind the others, which would go through the rows at each collection of garbage.
	sink, db, _, _ := openSink(b)
	f.follow(b, sink)
	floor := writeRows(b, rowsOf(b, db, 0, store.PrimaryCursor), wall())
	b.ReportMetric(float64(count)/floor.Seconds()/median(alone), "database/source")
	b.ReportMetric(median(rates), "txs/s")
	b.ReportMetric(median(alone), "source-txs/s")
	b.ReportMetric(median(rates)/median(alone), "x/source")
	b.ReportMetric(median(ours), "cpu-us/tx")
	b.ReportMetric(median(base), "source-cpu-us/tx")
	b.ReportMetric(median(disk), "disk-B/tx")
	share := f.verification(b) / median(ours)
	b.ReportMetric(share, "verify/cpu")
	if share > maxVerifyShare {
		b.Errorf("%.3f of the processor time goes into verification, at most %.2f may", share, maxVerifyShare)
	}
	if v := median(disk); v >= 1200 {
		b.Errorf("%.0f bytes on disk for a transaction, at most 1,200 are allowed", v)
	}
}

// tableBytes returns the size of a database's tables; its logs are of fixed size.
func tableBytes(t testing.TB, dir string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// TestIngestFarm: the benchmarks above stand on it.
func TestIngestFarm(t *testing.T) {
	t.Parallel()
	f := startChainFarm(t, 20, 10)
	_, c, _ := openChain(t, store.Options{MemTableMB: 8})
	_, indexed := f.follow(t, index.Sink{Chain: c})
	_, fetched := f.follow(t, new(nowhere))
	if indexed != fetched || indexed < 100 {
		t.Errorf("%d transactions indexed, %d fetched", indexed, fetched)
	}
	if height, at := f.accept(t); height != 21 || time.Since(at) > time.Minute {
		t.Errorf("height %d at %s", height, at)
	}
}
