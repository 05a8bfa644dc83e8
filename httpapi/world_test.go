package httpapi

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/history"
	"quorate/engine/index"
	store "quorate/engine/store/index"
	"quorate/httpapi/view"
)

// worlds are the databases of the chains of all tests. Each chain has an ID and rows of its
// own in the first one; those whose ID matters have a database for themselves.
var worlds struct {
	mu   sync.Mutex
	dirs []string
	all  []*store.DB
	made uint64 // IDs
}

// newDB opens a database, which all tests may use.
func newDB() *store.DB {
	dir, err := os.MkdirTemp("", "worlds")
	must(err)
	db, err := store.Open(dir, store.Options{NoSync: true, MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8})
	must(err)
	worlds.mu.Lock()
	defer worlds.mu.Unlock()
	worlds.dirs, worlds.all = append(worlds.dirs, dir), append(worlds.all, db)
	return db
}

var sharedDB = sync.OnceValue(newDB)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// TestMain fails if a view was left open: its database could not be closed then.
func TestMain(m *testing.M) {
	code := m.Run()
	for i, db := range worlds.all {
		if err := db.CloseWithin(10 * time.Second); err != nil {
			fmt.Fprintln(os.Stderr, "is a view left open?", err)
			code = 1
		}
		_ = os.RemoveAll(worlds.dirs[i])
	}
	os.Exit(code)
}

// growing has the blocks of a chain that a test makes up.
type growing struct {
	db     *store.DB
	x      *index.Chain
	blocks []*evm.Block
}

// newGrowing returns a chain without blocks that no other test has.
func newGrowing() *growing {
	worlds.mu.Lock()
	worlds.made++
	id := chain.ID{31: 1}
	binary.BigEndian.PutUint64(id[:], worlds.made)
	worlds.mu.Unlock()
	return growIn(sharedDB(), id)
}

func growIn(db *store.DB, id chain.ID) *growing {
	x, err := index.Open(db, id, index.Options{})
	must(err)
	return &growing{db: db, x: x}
}

// tip returns the height of the last block.
func (g *growing) tip() uint64 { return g.blocks[len(g.blocks)-1].Number }

// grow adds a block of transactions with their transfers. What a test leaves open follows
// from the height; the time is that of the first transaction.
func (g *growing) grow(txs ...*index.Tx) { g.add(g.next(txs...)) }

// add adds a block.
func (g *growing) add(b *evm.Block) {
	g.blocks = append(g.blocks, b)
	must(g.x.Commit(context.Background(), []*evm.Block{b}))
}

// next makes the block.
func (g *growing) next(txs ...*index.Tx) *evm.Block {
	b := &evm.Block{GasLimit: 15_000_000, Traced: true}
	if n := len(g.blocks); n > 0 {
		last := g.blocks[n-1]
		b.Number, b.Parent, b.TimeMilli = last.Number+1, last.Hash, max(last.TimeMilli, (last.Number+1)*1000)
	}
	b.Hash = numbered(b.Number, 0xb)
	if b.Number != 1 { // whose header is not known
		b.Header = (&consensus.Header{BaseFee: new(uint256.Int), BlockGasCost: uint256.NewInt(b.Number)}).Append(nil)
	}
	if b.Number > 0 {
		b.Balances = []evm.Balance{{Address: alice, Wei: wei(5_000_000_000_000_000_000 + b.Number)}, {Address: gold, Wei: wei(b.Number)}}
	}
	log := uint32(0)
	for i, tx := range txs {
		if i == 0 {
			b.TimeMilli, b.BaseFee = max(b.TimeMilli, tx.Block.TimeMilli), tx.Block.BaseFee
		}
		tx.Block.Number, tx.Index = b.Number, uint32(i)
		plain := tx.Tx
		plain.Logs = append(slices.Clip(plain.Logs), logsOf(tx.Transfers)...)
		for k := range plain.Logs {
			l := &plain.Logs[k]
			l.Index = max(l.Index, log)
			log = l.Index + 1
		}
		b.GasUsed += tx.GasUsed
		b.Txs = append(b.Txs, plain)
	}
	return b
}

// Topics of the events that move tokens.
var (
	topicTransfer = evm.Keccak([]byte("Transfer(address,address,uint256)"))
	topicBatch    = evm.Keccak([]byte("TransferBatch(address,address,address,uint256[],uint256[])"))
)

// logsOf returns what contracts log of transfers: a log each, or a batch of those that say
// that they are of one log.
func logsOf(list []index.Transfer) (logs []evm.Log) {
	for len(list) > 0 {
		t, n := &list[0], 1
		l := evm.Log{Index: t.LogIndex, Address: t.Token}
		switch t.Kind {
		case index.ERC20:
			l.Topics, l.Data = []evm.Hash{topicTransfer, topicOf(t.From), topicOf(t.To)}, wordOf(&t.Value)
		case index.ERC721:
			l.Topics = []evm.Hash{topicTransfer, topicOf(t.From), topicOf(t.To), t.ID.Bytes32()}
		case index.ERC1155:
			for n < len(list) && list[n].Item > 0 {
				n++
			}
			l.Topics, l.Data = []evm.Hash{topicBatch, topicOf(t.From), topicOf(t.From), topicOf(t.To)}, batchOf(list[:n])
		}
		logs, list = append(logs, l), list[n:]
	}
	return logs
}

func topicOf(a evm.Address) (h evm.Hash) {
	copy(h[evm.HashLen-evm.AddressLen:], a[:])
	return h
}

func wordOf(v *uint256.Int) []byte {
	w := v.Bytes32()
	return w[:]
}

// batchOf encodes the arrays of IDs and amounts.
func batchOf(list []index.Transfer) (data []byte) {
	n := uint64(len(list))
	for _, v := range []uint64{64, 96 + 32*n, n} {
		data = append(data, wordOf(uint256.NewInt(v))...)
	}
	for i := range list {
		data = append(data, wordOf(&list[i].ID)...)
	}
	data = append(data, wordOf(uint256.NewInt(n))...)
	for i := range list {
		data = append(data, wordOf(&list[i].Value)...)
	}
	return data
}

// spoil makes rows of a chain unreadable: those of the tables, or all of them.
func (g *growing) spoil(only ...byte) {
	if len(only) == 0 {
		for _, table := range index.Tables() {
			only = append(only, byte(table))
		}
		only = append(only, store.TableTokenMeta)
	}
	for _, table := range only {
		g.rewrite(table, func([]byte) []byte { return []byte{0xff, 0xff, 0xff} })
	}
}

// rewrite changes the rows of a table behind the index's back; nil removes one.
func (g *growing) rewrite(table byte, change func(value []byte) []byte) {
	ordinal, err := g.db.Ordinal(g.x.ID())
	must(err)
	s, err := g.db.Snapshot()
	must(err)
	defer s.Close()
	batch, err := g.db.Batch()
	must(err)
	defer batch.Discard()
	prefix := store.TableKey(nil, table, ordinal, 0)
	rows, err := s.Rows(prefix, false)
	must(err)
	defer rows.Close()
	for rows.Seek(prefix); rows.Valid(); rows.Next() {
		must(rows.Value(func(b []byte) error {
			if b = change(b); b == nil {
				return batch.Delete(slices.Clone(rows.Key()))
			}
			return batch.Set(slices.Clone(rows.Key()), b)
		}))
	}
	must(batch.Commit())
}

// older returns the chain as a program left it that did not have a table.
func (c *testChain) older(table byte) *testChain {
	const lead, entry = 1, 4 // version | for each table: table, u16 version, edition
	c.rewrite(store.TableEditions, func(b []byte) []byte {
		kept := slices.Clone(b[:lead])
		for e := range slices.Chunk(b[lead:], entry) {
			if e[0] != table {
				kept = append(kept, e...)
			}
		}
		return kept
	})
	next := growIn(c.db, c.x.ID())
	next.blocks = c.blocks
	return &testChain{Chain: next.x, growing: *next, info: c.info, alias: c.alias}
}

// warpTx returns a transaction that sends messages.
func warpTx(hash evm.Hash, messages ...[]byte) *index.Tx {
	tx := &index.Tx{Tx: evm.Tx{Hash: hash, From: bob, To: precompile}}
	for _, msg := range messages {
		tx.Logs = append(tx.Logs, warpLog(0, msg))
	}
	return tx
}

// testChain is a chain in a real index. What its nodes say is what a test sets.
type testChain struct {
	*index.Chain
	growing
	info  view.ChainInfo
	alias string

	untraced bool // what is mined

	once  sync.Once
	chain *Chain

	mu      sync.Mutex
	down    error
	target  uint64 // the node's height, 0 if the index is not behind
	gaps    []view.Gap
	settled string
	updated time.Time

	node func(height *uint64) (*uint256.Int, error)
	// said is what contracts say of balances; nil: no node answers.
	said      func(tokens []evm.Address, height uint64) ([]uint256.Int, error)
	tokenAsks atomic.Int32

	past *history.History
}

func (c *testChain) Past() *history.History { return c.past }

// emptyOf returns a chain without blocks.
func emptyOf(info view.ChainInfo) *testChain { return emptyIn(newGrowing(), info) }

func emptyIn(g *growing, info view.ChainInfo) *testChain {
	return &testChain{Chain: g.x, growing: *g, info: info}
}

// newChain returns a chain that has its genesis block.
func newChain(info view.ChainInfo) *testChain {
	c := emptyOf(info)
	c.grow()
	return c
}

// testChains are those of a test, found by number, blockchain ID and alias.
type testChains []*testChain

func (f testChains) Chain(name string) (*Chain, bool) {
	for _, c := range f {
		if name == c.info.ChainID || name == c.info.BlockchainID || name == c.alias {
			return c.served(), true
		}
	}
	return nil, false
}

func (f testChains) Chains() (list []*Chain) {
	for _, c := range f {
		list = append(list, c.served())
	}
	return list
}

// served returns the chain as servers have it.
func (c *testChain) served() *Chain {
	c.once.Do(func() { c.chain = &Chain{Chain: c.Chain, Nodes: c, Info: &c.info} })
	return c.chain
}

func (c *testChain) Settled() string { return c.settled }

func (c *testChain) Gaps() ([]view.Gap, string) {
	state, _, err := c.RollupState()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.gaps) > 0:
	case err == nil && state.Untraced:
		return []view.Gap{{Kind: view.GapUntraced, From: 1, To: state.Next - 1}}, ""
	default:
		return nil, ""
	}
	return c.gaps, fmt.Sprintf("%s %d-%d", c.gaps[0].Kind, c.gaps[0].From, c.gaps[0].To)
}

func (c *testChain) Syncing() (uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.target, c.target > 0
}

func (c *testChain) Down() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

func (c *testChain) Updated() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.updated
}

func (c *testChain) TokenBalances(_ context.Context, _ evm.Address, tokens []evm.Address, after *evm.Head) ([]uint256.Int, error) {
	c.tokenAsks.Add(1)
	if c.said == nil {
		return nil, errDown
	}
	return c.said(tokens, after.Number)
}

func (c *testChain) Balance(_ context.Context, _ evm.Address, height *uint64) (*uint256.Int, error) {
	if c.node == nil {
		return nil, errDown
	}
	return c.node(height)
}

func numbered(n uint64, last byte) (h evm.Hash) {
	binary.BigEndian.PutUint64(h[:], n)
	h[31] = last
	return h
}
