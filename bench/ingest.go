package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// MaxIngestTxs bounds the transactions of a run of [Ingest]: their rows are held
// in memory, about 2 KB for each.
const MaxIngestTxs = 200_000

// IngestConfig says what to index. Zero values take the defaults given with each
// field.
type IngestConfig struct {
	// Blocks is the number of blocks, TxsPerBlock that of the transactions in
	// each. Defaults 300 and 100; together at most [MaxIngestTxs].
	Blocks, TxsPerBlock int
	// Accounts is the number of accounts that take part: the more, the more
	// addresses are seen for the first time, which is what metrics cost most for.
	// Default 10,000, at most 1,000,000.
	Accounts int
	// Rounds is how often each thing is measured, 1 to 100. Default 3.
	Rounds int
	// Dir is where a temporary folder for databases is made. Default: that of the
	// system. What is measured includes its disk.
	Dir string
	// Progress, if not nil, is told how far the run is, from one goroutine.
	Progress func(IngestProgress)
}

// IngestProgress is a point in a run: how many of how many steps are done, and
// what is being done.
type IngestProgress struct {
	Done, Total int
	Doing       string
}

func (c *IngestConfig) fill() error {
	c.Blocks = cmp.Or(c.Blocks, 300)
	c.TxsPerBlock = cmp.Or(c.TxsPerBlock, 100)
	c.Accounts = cmp.Or(c.Accounts, 10_000)
	c.Rounds = cmp.Or(c.Rounds, 3)
	switch {
	case c.Blocks < 1 || c.TxsPerBlock < 1 || c.Blocks > MaxIngestTxs/c.TxsPerBlock:
		return fmt.Errorf("%w: %d blocks of %d transactions, want 1 to %d transactions", ErrConfig, c.Blocks, c.TxsPerBlock, MaxIngestTxs)
	case c.Accounts < 1 || c.Accounts > 1_000_000:
		return fmt.Errorf("%w: %d accounts, want 1 to 1,000,000", ErrConfig, c.Accounts)
	case c.Rounds < 1 || c.Rounds > 100:
		return fmt.Errorf("%w: %d rounds, want 1 to 100", ErrConfig, c.Rounds)
	}
	return nil
}

// ingestGroup is the number of blocks in a commit.
const ingestGroup = 64

// Ingest measures how fast blocks are indexed that it makes up, without a node
// or a server. In each round, in an order that changes, it measures: the rollup
// of metrics alone, in memory on one core; the index without metrics; the index
// with metrics; and, as the floor of that, the database alone writing as many
// rows of the same bytes in as many commits. When ctx ends, the whole rounds so
// far are in the report, which is nil if there are none, and the error is the
// cause of that end. The error wraps [ErrConfig] if nothing was done.
func Ingest(ctx context.Context, cfg IngestConfig) (_ *IngestReport, err error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(cfg.Dir, "quorate-bench-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &ingestRun{cfg: cfg, dir: dir, total: (cfg.Blocks + 1) * (1 + 4*cfg.Rounds)}
	if err := r.prepare(ctx); err != nil {
		return nil, causeOf(ctx, err)
	}
	turns := [...]turn{
		{"rollup alone", r.rollupAlone},
		{"index without metrics", func(ctx context.Context) (time.Duration, error) { return r.index(ctx, true) }},
		{"index with metrics", func(ctx context.Context) (time.Duration, error) { return r.index(ctx, false) }},
		{"database alone", r.floor},
	}
	var took [len(turns)][]time.Duration
	for round := range cfg.Rounds {
		var now [len(turns)]time.Duration
		for i := range turns {
			which := (round + i) % len(turns)
			r.doing = fmt.Sprintf("round %d of %d, %s", round+1, cfg.Rounds, turns[which].name)
			if now[which], err = turns[which].run(ctx); err != nil {
				return r.report(took), causeOf(ctx, err)
			}
		}
		for i := range now {
			took[i] = append(took[i], now[i])
		}
	}
	return r.report(took), nil
}

// turn measures one thing and gives the time for all blocks.
type turn struct {
	name string
	run  func(ctx context.Context) (time.Duration, error)
}

// ingestRun is a run of Ingest.
type ingestRun struct {
	cfg IngestConfig
	dir string

	// What was learned when the blocks were indexed for the first time.
	events  []blockEvents
	count   int // of events
	rows    *rowStock
	written struct {
		rows, bytes, commits int
		disk                 int64 // bytes of all tables
	}

	doing       string
	done, total int
}

// step reports that n blocks more are done.
func (r *ingestRun) step(n int) {
	r.done += n
	if r.cfg.Progress != nil {
		r.cfg.Progress(IngestProgress{Done: r.done, Total: r.total, Doing: r.doing})
	}
}

// groups hands over the blocks in groups, always the same ones, and adds up the
// time that take needs: they are made while the clock stands.
func (r *ingestRun) groups(take func(blocks []*evm.Block) error) (took time.Duration, err error) {
	gen := indextest.New(indextest.Config{Seed: 1, Txs: r.cfg.TxsPerBlock, Full: true, Accounts: r.cfg.Accounts})
	for left := r.cfg.Blocks + 1; left > 0; { // the first one is the genesis block
		n := min(left, ingestGroup)
		blocks := gen.Blocks(n)
		start := time.Now()
		if err := take(blocks); err != nil {
			return 0, err
		}
		took += time.Since(start)
		left -= n
		r.step(n)
	}
	return took, nil
}
