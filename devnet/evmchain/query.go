package evmchain

import (
	"errors"
	"slices"

	"github.com/holiman/uint256"

	"quorate/devnet/form"
	"quorate/engine/chain/evm"
)

// ErrGenesis is returned for a trace of the first block, which nothing led to.
var ErrGenesis = errors.New("genesis is not traceable")

// Tip returns the height of the last block.
func (c *Chain) Tip() uint64 {
	defer c.read()()
	return uint64(len(c.records) - 1)
}

// Grown returns the height of the last block and a channel that is closed when
// another one follows, or one is executed.
func (c *Chain) Grown() (uint64, <-chan struct{}) {
	defer c.read()()
	return uint64(len(c.records) - 1), c.tip
}

// Height finds a block by its hash.
func (c *Chain) Height(hash evm.Hash) (uint64, bool) {
	defer c.read()()
	height, ok := c.byHash[short(hash)]
	return uint64(height), ok && c.records[height].hash == hash
}

// Hash returns the hash of a block. The height must exist.
func (c *Chain) Hash(height uint64) evm.Hash {
	defer c.read()()
	return c.records[height].hash
}

// StateRoot returns the root of the state after a block. The height must exist.
func (c *Chain) StateRoot(height uint64) evm.Hash {
	defer c.read()()
	return c.records[height].post()
}

// TxHashes returns the hashes of a block's transactions. The height must exist.
func (c *Chain) TxHashes(height uint64) []evm.Hash {
	defer c.read()()
	var all []evm.Hash
	for _, t := range c.block(height).txs {
		all = append(all, t.hash)
	}
	return all
}

// AppendBlock appends a block as eth_getBlockByNumber gives it, with its
// transactions or with their hashes. The height must exist, as everywhere below.
func (c *Chain) AppendBlock(dst []byte, height uint64, full bool, v View) []byte {
	defer c.read()()
	w := form.Writer(dst)
	total := height + 1 // the genesis block has a difficulty, too
	if c.records[len(c.records)-1].late != nil {
		total = 0 // nodes of such chains say so of all blocks
	}
	c.block(height).render(&w, &c.cfg, full, total, v)
	return w
}

// AppendConsensus appends a block in its consensus encoding.
func (c *Chain) AppendConsensus(dst []byte, height uint64) []byte {
	defer c.read()()
	return c.block(height).append(dst)
}

// AppendHead appends a header as a subscription gives it.
func (c *Chain) AppendHead(dst []byte, height uint64) []byte {
	defer c.read()()
	w := form.Writer(dst)
	c.block(height).renderHead(&w, &c.cfg)
	return w
}

// AppendReceipts appends a block's receipts as eth_getBlockReceipts gives them.
func (c *Chain) AppendReceipts(dst []byte, height uint64, v View) []byte {
	defer c.read()()
	b := c.seen(height, v)
	txs := b.txs
	if v.MissingReceipts && len(txs) > 0 {
		txs = txs[:len(txs)-1]
	}
	w := form.Writer(dst)
	w.Open('[')
	for _, t := range txs {
		b.renderReceipt(&w, t)
	}
	w.Close(']')
	return w
}

// find finds a transaction. The caller holds the lock.
func (c *Chain) find(hash evm.Hash, v View) (*block, *tx) {
	at, ok := c.txs[short(hash)]
	if !ok {
		return nil, nil
	}
	b := c.seen(at>>16, v)
	if t := b.txs[at&0xffff]; t.hash == hash {
		return b, t
	}
	return nil, nil
}

// AppendTx appends a transaction as eth_getTransactionByHash gives it, or null.
func (c *Chain) AppendTx(dst []byte, hash evm.Hash) []byte {
	defer c.read()()
	b, t := c.find(hash, View{})
	if t == nil {
		return append(dst, "null"...)
	}
	w := form.Writer(dst)
	b.renderTx(&w, &c.cfg, t)
	return w
}

// AppendReceipt appends a receipt as eth_getTransactionReceipt gives it, or null.
func (c *Chain) AppendReceipt(dst []byte, hash evm.Hash, v View) []byte {
	defer c.read()()
	b, t := c.find(hash, v)
	if t == nil {
		return append(dst, "null"...)
	}
	w := form.Writer(dst)
	b.renderReceipt(&w, t)
	return w
}

// AppendTrace appends the traces of a block as debug_traceBlockByNumber gives them.
func (c *Chain) AppendTrace(dst []byte, height uint64, tc TraceConfig, v View) ([]byte, error) {
	defer c.read()()
	if height == 0 {
		return dst, ErrGenesis
	}
	b := c.seen(height, v)
	s := states{block: b, current: make(map[uint32]*seen)}
	w := form.Writer(dst)
	w.Open('[')
	for _, t := range b.txs {
		w.Open('{')
		w.Name("txHash").Hex(t.hash[:])
		s.renderTrace(w.Name("result"), t, tc)
		w.Close('}')
	}
	w.Close(']')
	return w, nil
}

func (s *states) renderTrace(w *form.Writer, t *tx, tc TraceConfig) {
	if tc.Tracer == CallTracer {
		s.block.renderCalls(w, t, 0, tc)
		return
	}
	s.renderState(w, t, tc.Tracer == PrestateDiff)
}

// AppendTxTrace appends the trace of a transaction as debug_traceTransaction
// gives it; false when there is none.
func (c *Chain) AppendTxTrace(dst []byte, hash evm.Hash, tc TraceConfig, v View) ([]byte, bool) {
	defer c.read()()
	b, t := c.find(hash, v)
	if t == nil {
		return dst, false
	}
	s, w := states{block: b, current: make(map[uint32]*seen)}, form.Writer(dst)
	if tc.Tracer != CallTracer {
		for _, before := range b.txs[:t.index] {
			s.renderState(new(form.Writer), before, false)
		}
	}
	s.renderTrace(&w, t, tc)
	return w, true
}

// LogFilter selects logs: of any of the addresses, with any of the topics at
// each place. None stands for all.
type LogFilter struct {
	From, To  uint64
	Addresses []evm.Address
	Topics    [][]evm.Hash
}

func (f *LogFilter) match(l *log) bool {
	if len(f.Addresses) > 0 && !slices.Contains(f.Addresses, l.address.address) {
		return false
	}
	if len(f.Topics) > len(l.topics) {
		return false
	}
	for i, any := range f.Topics {
		if len(any) > 0 && !slices.Contains(any, l.topics[i].hash) {
			return false
		}
	}
	return true
}

// AppendLogs appends the logs that match, up to limit bytes; false when there are more.
func (c *Chain) AppendLogs(dst []byte, f LogFilter, limit int, v View) ([]byte, bool) {
	w := form.Writer(dst)
	w.Open('[')
	for height := f.From; height <= f.To; height++ {
		unlock := c.read()
		b := c.seen(height, v)
		unlock()
		for _, t := range b.txs {
			for i := range t.logs {
				if f.match(&t.logs[i]) {
					b.renderLog(&w, t, i)
				}
			}
		}
		if len(w) > limit {
			return w, false
		}
	}
	w.Close(']')
	return w, true
}

// Balance returns an account's balance in wei after a block.
func (c *Chain) Balance(a evm.Address, height uint64) uint256.Int {
	defer c.read()()
	index, ok := c.ledger.byAddr[a]
	if !ok {
		return uint256.Int{}
	}
	e := c.ledger.state(index, uint32(height)) // bounded
	return e.wei()
}

// Nonce returns an account's nonce after a block.
func (c *Chain) Nonce(a evm.Address, height uint64) uint64 {
	defer c.read()()
	index, ok := c.ledger.byAddr[a]
	if !ok {
		return 0
	}
	return uint64(c.ledger.state(index, uint32(height)).nonce) // bounded
}

// Code returns an account's code after a block.
func (c *Chain) Code(a evm.Address, height uint64) []byte {
	defer c.read()()
	index, ok := c.ledger.byAddr[a]
	if !ok {
		return nil
	}
	return codeOf(&c.ledger.accounts[index], uint32(height)) // bounded
}

// Accounts returns the addresses of all accounts that there ever were.
func (c *Chain) Accounts() []evm.Address {
	defer c.read()()
	all := make([]evm.Address, len(c.ledger.accounts))
	for i := range all {
		all[i] = c.ledger.accounts[i].address
	}
	return all
}

// Time returns the time of a block in Unix milliseconds.
func (c *Chain) Time(height uint64) uint64 { return c.cfg.timeOf(height) }

// NextFee returns about the base fee in wei of the block after one that exists.
func (c *Chain) NextFee(height uint64) uint64 {
	defer c.read()()
	if l := c.records[height].late; l != nil {
		return l.baseFee
	}
	return baseFee(height + 1)
}
