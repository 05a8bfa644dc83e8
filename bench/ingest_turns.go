package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/metric"
	store "quorate/engine/store/index"
	"quorate/rollup"
)

// index indexes all blocks in a new database and gives the time of the commits,
// each of which is on disk when it ends.
func (r *ingestRun) index(ctx context.Context, noRollup bool) (took time.Duration, err error) {
	_, err = r.withDB(nil, func(db *store.DB) error {
		c, err := index.Open(db, chain.ID{1}, index.Options{NoRollup: noRollup})
		if err != nil {
			return err
		}
		took, err = r.groups(func(blocks []*evm.Block) error { return c.Commit(ctx, blocks) })
		return err
	})
	return took, err
}

// withDB opens a new database, lets use have it, and removes it. It gives the size
// that its tables had.
func (r *ingestRun) withDB(set *metric.Set, use func(db *store.DB) error) (tables int64, err error) {
	dir, err := os.MkdirTemp(r.dir, "index-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := store.Open(dir, store.Options{Metrics: set})
	if err != nil {
		return 0, err
	}
	err = use(db)
	if err := errors.Join(err, db.Close()); err != nil { // writes all tables
		return 0, err
	}
	return tablesIn(dir)
}

// tablesIn returns the size of a database's tables; its logs are of fixed size.
func tablesIn(dir string) (n int64, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	for _, name := range files {
		info, e := os.Stat(name)
		if e != nil {
			return 0, e
		}
		n += info.Size()
	}
	return n, err
}

// prepare indexes all blocks once, which warms up, and takes from the index what
// the other turns are made of.
func (r *ingestRun) prepare(ctx context.Context) error {
	r.doing = "preparing"
	set := metric.NewSet()
	tables, err := r.withDB(set, func(db *store.DB) error {
		c, err := index.Open(db, chain.ID{1}, index.Options{})
		if err != nil {
			return err
		}
		if _, err := r.groups(func(blocks []*evm.Block) error { return c.Commit(ctx, blocks) }); err != nil {
			return err
		}
		r.written.rows = int(set.Value("quorate_store_index_rows_total"))
		r.written.bytes = int(set.Value("quorate_store_index_row_bytes_total"))
		r.written.commits = int(set.Value("quorate_store_index_commit_seconds"))
		if err := r.readEvents(ctx, c); err != nil {
			return err
		}
		r.rows, err = readRows(ctx, db)
		return err
	})
	if err == nil && (r.written.commits == 0 || len(r.rows.rows) == 0) {
		err = errors.New("the index has written nothing")
	}
	r.written.disk = tables
	return err
}

// blockEvents is what the rollup is told of a block.
type blockEvents struct {
	milli, gas uint64
	traced     bool
	events     []event
}

// event is a transaction, a token transfer or a creation. It refers to nothing,
// so that the garbage collector passes it over.
type event struct {
	kind     eventKind
	from, to rollup.Address
	gas      uint64
	price    uint256.Int
}

type eventKind uint8

const (
	eventTx eventKind = iota
	eventCreation
	eventTransfer
	eventCreated
)

// addresses is the number of addresses in an event.
func (k eventKind) addresses() int {
	if k == eventTx || k == eventTransfer {
		return 2
	}
	return 1
}

// readEvents reads back what the index has told the rollup.
func (r *ingestRun) readEvents(ctx context.Context, c *index.Chain) error {
	v, err := c.At(nil)
	if err != nil {
		return err
	}
	defer v.Close()
	for n := range v.Tip().Number + 1 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, found, err := v.Block(n)
		if err != nil || !found {
			return errors.Join(err, fmt.Errorf("block %d: found %v", n, found))
		}
		var hashes []evm.Hash
		_, err = v.BlockTxs(n, index.Page{Limit: r.cfg.TxsPerBlock, Ascending: true, To: n + 1}, func(tx *index.Tx) bool {
			hashes = append(hashes, tx.Hash)
			return true
		})
		if err != nil {
			return err
		}
		b := blockEvents{milli: h.TimeMilli, gas: h.GasUsed, traced: h.Traced}
		for _, hash := range hashes {
			tx, found, err := v.Tx(hash)
			if err != nil || !found {
				return errors.Join(err, fmt.Errorf("transaction %s: found %v", hash, found))
			}
			b.events = appendEvents(b.events, tx)
		}
		for i := range b.events {
			r.count += b.events[i].kind.addresses()
		}
		r.events = append(r.events, b)
	}
	return nil
}

func appendEvents(to []event, tx *index.Tx) []event {
	e := event{from: tx.From, to: tx.To, gas: tx.GasUsed, price: tx.GasPrice}
	if tx.Creation {
		e.kind = eventCreation
	}
	to = append(to, e)
	for i := range tx.Transfers {
		to = append(to, event{kind: eventTransfer, from: tx.Transfers[i].From, to: tx.Transfers[i].To})
	}
	if tx.Creation && !tx.Failed {
		to = append(to, event{kind: eventCreated, from: tx.From})
	}
	for i := range tx.Calls {
		if c := &tx.Calls[i]; c.Type.Creates() && !c.Reverted && !c.To.IsZero() {
			to = append(to, event{kind: eventCreated, from: c.From})
		}
	}
	return to
}

// memoryStamps keeps stamps in memory.
type memoryStamps map[rollup.Address]rollup.Stamp

func (m memoryStamps) Stamp(a *rollup.Address) (rollup.Stamp, error) { return m[*a], nil }
func (m memoryStamps) PutStamp(a *rollup.Address, s rollup.Stamp)    { m[*a] = s }

// roll makes the metrics of the events.
func roll(events []blockEvents) (*rollup.Roller, error) {
	roller, err := rollup.NewRoller(rollup.State{}, nil, memoryStamps{})
	if err != nil {
		return nil, err
	}
	for i := range events {
		b := &events[i]
		roller.Begin(b.milli, b.gas, b.traced)
		for k := range b.events {
			switch e := &b.events[k]; e.kind {
			case eventTx:
				roller.Tx(&e.from, &e.to, e.gas, &e.price)
			case eventCreation:
				roller.Tx(&e.from, nil, e.gas, &e.price)
			case eventTransfer:
				roller.Transfer(&e.from, &e.to)
			case eventCreated:
				roller.Created(&e.from)
			}
		}
		if err := roller.End(); err != nil {
			return nil, err
		}
	}
	return roller, nil
}

// rollupAlone is the mean time of as many passes as take long enough to measure.
func (r *ingestRun) rollupAlone(ctx context.Context) (time.Duration, error) {
	const least = 300 * time.Millisecond
	start, passes := time.Now(), 0
	for time.Since(start) < least {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if _, err := roll(r.events); err != nil {
			return 0, err
		}
		passes++
	}
	took := time.Since(start) / time.Duration(passes)
	r.step(r.cfg.Blocks + 1)
	return took, nil
}

// rowStock has rows of an index, in one piece of memory.
type rowStock struct {
	bytes []byte
	rows  []stockRow
}

// stockRow is a row: its key begins at at, and its value lies between key and end.
type stockRow struct {
	at, key, end int
	when         float64 // its place in the order of writing, 0 to 1
}

// byHeight are the tables whose rows are written in the order of their keys, more
// or less. Those of the others come in no order of keys.
var byHeight = [...]byte{store.TableBlocks, store.TableTxs, store.TableWarp}

// readRows takes all rows of a database, about in the order in which an index
// writes them: what is sorted by height comes in the order of its keys, all else is
// spread evenly.
func readRows(ctx context.Context, db *store.DB) (*rowStock, error) {
	s, err := db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	st := &rowStock{}
	random := rand.New(rand.NewPCG(1, 1))
	for table := range 256 {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		first := len(st.rows)
		if err := st.take(s, byte(table)); err != nil {
			return nil, err
		}
		rows := st.rows[first:]
		for i := range rows {
			if rows[i].when = random.Float64(); slices.Contains(byHeight[:], byte(table)) {
				rows[i].when = float64(i) / float64(len(rows))
			}
		}
	}
	slices.SortFunc(st.rows, func(a, b stockRow) int { return cmp.Compare(a.when, b.when) })
	return st, nil
}

// take adds the rows of a table.
func (st *rowStock) take(s *store.Snapshot, table byte) error {
	rows, err := s.Rows([]byte{table}, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Seek([]byte{table}); rows.Valid(); rows.Next() {
		row := stockRow{at: len(st.bytes)}
		st.bytes = append(st.bytes, rows.Key()...)
		row.key = len(st.bytes)
		if err := rows.Value(func(v []byte) error { st.bytes = append(st.bytes, v...); return nil }); err != nil {
			return err
		}
		row.end = len(st.bytes)
		st.rows = append(st.rows, row)
	}
	return nil
}

// floor writes as many rows as the index did in as many commits, and nothing else.
func (r *ingestRun) floor(ctx context.Context) (took time.Duration, err error) {
	_, err = r.withDB(nil, func(db *store.DB) error {
		start, at := time.Now(), 0
		for c := range r.written.commits {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			end := r.written.rows * (c + 1) / r.written.commits
			for at < end {
				if at, err = r.rows.write(db, at, end); err != nil {
					return err
				}
			}
		}
		took = time.Since(start)
		return nil
	})
	r.step(r.cfg.Blocks + 1)
	return took, err
}

// write commits rows from at on, up to end or until the transaction is full, and
// gives where it ended. The stock is gone through round and round.
func (st *rowStock) write(db *store.DB, at, end int) (int, error) {
	b, err := db.Batch()
	if err != nil {
		return at, err
	}
	defer b.Discard()
	begin := at
	for ; at < end; at++ {
		row := st.rows[at%len(st.rows)]
		err := b.Set(st.bytes[row.at:row.key:row.key], st.bytes[row.key:row.end:row.end])
		if errors.Is(err, store.ErrBatchFull) && at > begin {
			break
		}
		if err != nil {
			return at, err
		}
	}
	return at, b.Commit()
}
