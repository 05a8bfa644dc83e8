package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/view"
)

// fakeChains are those of a test, found by number, blockchain ID and "alias".
type fakeChains []*fakeChain

func (f fakeChains) Chain(name string) (Chain, bool) {
	for _, c := range f {
		if name == c.info.ChainID || name == c.info.BlockchainID || name == c.alias {
			return c, true
		}
	}
	return nil, false
}

func (f fakeChains) Chains() (list []Chain) {
	for _, c := range f {
		list = append(list, c)
	}
	return list
}

// fakeChain is a chain in memory that can grow and fail.
type fakeChain struct {
	info  view.ChainInfo
	alias string

	mu     sync.Mutex
	txs    []*index.Tx // oldest first
	tip    uint64
	empty  bool
	down   error
	target uint64 // the node's height, 0 if the index is not behind
	broken error  // of all reads
	node   func(height *uint64) (*uint256.Int, error)
	wei    map[evm.Address]uint64
	erc20  map[evm.Address][]index.TokenBalance
	nfts   map[evm.Address][]index.NFT
	held   map[evm.Address][]index.Holder // by token, in the order of addresses
	items  map[evm.Address][]index.ItemBalance
	noSums bool // of tokens with IDs
	tokens map[evm.Address]index.TokenMeta
	// said is what contracts say of balances; nil: no node answers.
	said      func(tokens []evm.Address, height uint64) ([]uint256.Int, error)
	tokenAsks atomic.Int32
	uris      map[index.NFT]string
	warp      map[evm.Hash][][]byte
	open      int // views that are not closed
	// Interchain messages: their rows are oldest first, and unmade if they are not indexed.
	icmEvents map[evm.Hash][]index.ICMEvent
	icmRows   []index.ICMRow
	icmUnmade bool

	metrics fakeRollup
	gaps    []view.Gap // guarded by mu
	settled string
	head    atomic.Pointer[evm.Hash]
	version atomic.Uint64 // of tokens
}

func (c *fakeChain) Info() *view.ChainInfo { return &c.info }

// Cursor knows no block unless the chain has a head: then no answer is kept,
// though these chains change in ways that real ones cannot.
func (c *fakeChain) Cursor() (number uint64, hash evm.Hash, ok bool) {
	if h := c.head.Load(); h != nil {
		return 0, *h, true
	}
	return 0, hash, false
}

func (c *fakeChain) TokenVersion() uint64 { return c.version.Load() }

func (c *fakeChain) Settled() string { return c.settled }

func (c *fakeChain) Gaps() ([]view.Gap, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.gaps) == 0 {
		if r := c.metrics.roller; r != nil && r.State().Untraced {
			return []view.Gap{{Kind: view.GapUntraced, From: 1, To: r.State().Next - 1}}, ""
		}
		return nil, ""
	}
	return c.gaps, fmt.Sprintf("%s %d-%d", c.gaps[0].Kind, c.gaps[0].From, c.gaps[0].To)
}

func (c *fakeChain) Syncing() (uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.target, c.target > 0
}

func (c *fakeChain) Down() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

func (c *fakeChain) View(tip *uint64) (View, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.empty {
		return nil, index.ErrEmpty
	}
	v := &fakeView{c: c, tip: c.tip, broken: c.broken, txs: c.txs}
	if tip != nil {
		if *tip > c.tip {
			return nil, fmt.Errorf("%w: %d", index.ErrAbove, *tip)
		}
		v.tip = *tip
	}
	c.open++
	return v, nil
}

func (c *fakeChain) NodeTokenBalances(_ context.Context, _ evm.Address, tokens []evm.Address, after *evm.Head) ([]uint256.Int, error) {
	c.tokenAsks.Add(1)
	if c.said == nil {
		return nil, errDown
	}
	return c.said(tokens, after.Number)
}

func (c *fakeChain) NodeBalance(_ context.Context, _ evm.Address, height *uint64) (*uint256.Int, error) {
	if c.node == nil {
		return nil, errors.New("no node")
	}
	return c.node(height)
}

// grow adds transactions of the next block.
func (c *fakeChain) grow(txs ...*index.Tx) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tip++
	for i, tx := range txs {
		tx.Block.Number, tx.Index = c.tip, uint32(i)
		tx.Block.Hash = numbered(c.tip, 0xb)
	}
	c.txs = append(slices.Clip(c.txs), txs...)
}

func numbered(n uint64, last byte) (h evm.Hash) {
	binary.BigEndian.PutUint64(h[:], n)
	h[31] = last
	return h
}

// fakeView lists by full scans.
type fakeView struct {
	c      *fakeChain
	tip    uint64
	broken error
	txs    []*index.Tx
}

func (v *fakeView) Tip() evm.Head {
	return evm.Head{Number: v.tip, Hash: numbered(v.tip, 0xb), TimeMilli: v.tip * 1000}
}

func (v *fakeView) First() uint64 { return 0 }

func (v *fakeView) Close() {
	v.c.mu.Lock()
	defer v.c.mu.Unlock()
	v.c.open--
}

// scan returns a page of what all holds, which is oldest first; at tells the
// position of an element.
func scan[T any](v *fakeView, all []T, p index.Page, at func(T) []byte, height func(T) uint64) ([]T, []byte, error) {
	if v.broken != nil {
		return nil, nil, v.broken
	}
	all = slices.Clone(all)
	if !p.Ascending {
		slices.Reverse(all)
	}
	var out []T
	for _, e := range all {
		h := height(e)
		if h > v.tip || h < p.From || h >= p.To {
			continue
		}
		if order := bytes.Compare(at(e), p.After); p.After != nil && (order <= 0 == p.Ascending || order == 0) {
			continue
		}
		if len(out) == p.Limit {
			return out, at(out[len(out)-1]), nil
		}
		out = append(out, e)
	}
	return out, nil, nil
}

// hand hands over a page as the index does.
func hand[T any](list []T, next []byte, err error, at func(T) []byte, take func(T) bool) ([]byte, error) {
	for i, e := range list {
		if !take(e) && i+1 < len(list) {
			return at(e), err
		}
	}
	return next, err
}

func (v *fakeView) txPage(p index.Page, take index.TxFunc, keep func(*index.Tx) bool) ([]byte, error) {
	var all []*index.Tx
	for _, tx := range v.txs {
		if keep(tx) {
			all = append(all, tx)
		}
	}
	at := func(t *index.Tx) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, t.Block.Number), t.Index)
	}
	list, next, err := scan(v, all, p, at, func(t *index.Tx) uint64 { return t.Block.Number })
	return hand(list, next, err, at, take)
}

func (v *fakeView) Tx(hash evm.Hash) (*index.Tx, bool, error) {
	for _, tx := range v.txs {
		if tx.Hash == hash && tx.Block.Number <= v.tip {
			return tx, true, v.broken
		}
	}
	return nil, false, v.broken
}

func (v *fakeView) BlockNumber(hash evm.Hash) (uint64, bool, error) {
	n := binary.BigEndian.Uint64(hash[:])
	return n, n <= v.tip && hash == numbered(n, 0xb), v.broken
}

func (v *fakeView) MayBeToken(*evm.Address) bool { return true }

// Newest is the tip: each block may have brought a row.
func (v *fakeView) Newest(index.List, evm.Address) (uint64, bool, error) {
	return v.tip, true, v.broken
}

func (v *fakeView) BlockTxs(number uint64, p index.Page, take index.TxFunc) ([]byte, error) {
	return v.txPage(p, take, func(t *index.Tx) bool { return t.Block.Number == number })
}

func (v *fakeView) LatestTxs(p index.Page, failed *bool, take index.TxFunc) ([]byte, error) {
	return v.txPage(p, take, func(t *index.Tx) bool { return failed == nil || *failed == t.Failed })
}

func (v *fakeView) AddressTxs(a evm.Address, p index.Page, take index.TxFunc) ([]byte, error) {
	return v.txPage(p, take, func(t *index.Tx) bool {
		return t.From == a || t.To == a || t.Creation && t.Contract == a ||
			slices.ContainsFunc(t.Transfers, func(x index.Transfer) bool { return x.From == a || x.To == a }) ||
			slices.ContainsFunc(t.Calls, func(x evm.Call) bool { return x.From == a || x.To == a })
	})
}

func (v *fakeView) SignedTxs(a evm.Address, p index.Page, take index.TxFunc) ([]byte, error) {
	return v.txPage(p, take, func(t *index.Tx) bool { return t.From == a || t.To == a || t.Creation && t.Contract == a })
}

// fakePart is a transfer or a call with its place.
type fakePart struct {
	tx *index.Tx
	i  int
}

func (v *fakeView) AddressParts(a evm.Address, kind index.Part, p index.Page, take index.PartFunc) ([]byte, error) {
	var all []fakePart
	for _, tx := range v.txs {
		if kind == index.PartMade && tx.Creation && tx.From == a {
			all = append(all, fakePart{tx, -1})
		}
		for i, t := range tx.Transfers {
			if (kind == index.PartERC20 && t.Kind == index.ERC20 || kind == index.PartERC1155 && t.Kind == index.ERC1155) && (t.From == a || t.To == a) {
				all = append(all, fakePart{tx, i})
			}
		}
		for i, c := range tx.Calls {
			if kind == index.PartCalls && (c.From == a || c.To == a) || kind == index.PartMade && c.Type.Creates() && c.From == a {
				all = append(all, fakePart{tx, i})
			}
		}
	}
	at := func(f fakePart) []byte {
		b := binary.BigEndian.AppendUint64(nil, f.tx.Block.Number)
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, f.tx.Index), uint32(f.i+1))
	}
	list, next, err := scan(v, all, p, at, func(f fakePart) uint64 { return f.tx.Block.Number })
	return hand(list, next, err, at, func(f fakePart) bool { return take(f.tx, f.i) })
}

func (v *fakeView) Maker(contract evm.Address) (*index.Tx, int, bool, error) {
	for _, tx := range v.txs {
		if tx.Creation && tx.Contract == contract {
			return tx, -1, true, v.broken
		}
		for i, c := range tx.Calls {
			if c.Type.Creates() && c.To == contract {
				return tx, i, true, v.broken
			}
		}
	}
	return nil, 0, false, v.broken
}

// block makes a block of its transactions.
func (v *fakeView) block(number uint64) index.Block {
	b := index.Block{Txs: new(uint64)}
	b.Number, b.Hash, b.Parent, b.TimeMilli = number, numbered(number, 0xb), numbered(number-1, 0xb), number*1000
	b.GasLimit, b.Fees = 15_000_000, new(uint256.Int)
	if number != 1 {
		b.GasCost = uint256.NewInt(number)
	}
	for _, tx := range v.txs {
		if tx.Block.Number == number {
			b.TxCount++
			b.GasUsed += tx.GasUsed
			b.TimeMilli, b.BaseFee = tx.Block.TimeMilli, tx.Block.BaseFee
			b.Fees.Add(b.Fees, new(uint256.Int).Mul(&tx.GasPrice, uint256.NewInt(tx.GasUsed)))
		}
		if tx.Block.Number <= number {
			*b.Txs++
		}
	}
	if number == 0 {
		b.Txs = nil
	}
	return b
}

func (v *fakeView) Blocks(p index.Page, take index.BlockFunc) ([]byte, error) {
	all := make([]uint64, v.tip+1)
	for i := range all {
		all[i] = uint64(i)
	}
	at := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	list, next, err := scan(v, all, p, at, func(n uint64) uint64 { return n })
	return hand(list, next, err, at, func(n uint64) bool { b := v.block(n); return take(&b) })
}

func (v *fakeView) BlockAt(number uint64) (index.Block, bool, error) {
	if number > v.tip {
		return index.Block{}, false, v.broken
	}
	return v.block(number), true, v.broken
}

// BlocksBefore knows the time of a block from its transactions.
func (v *fakeView) BlocksBefore(milli uint64) (uint64, error) {
	if milli == 0 {
		return 0, v.broken
	}
	for _, tx := range v.txs {
		if tx.Block.Number <= v.tip && tx.Block.TimeMilli >= milli {
			return tx.Block.Number, v.broken
		}
	}
	return v.tip + 1, v.broken
}

func (v *fakeView) transfers(p index.Page, take index.TransferFunc, keep func(*index.Transfer) bool) ([]byte, error) {
	var all []index.AddressedTransfer
	for _, tx := range v.txs {
		for i := range tx.Transfers {
			if keep(&tx.Transfers[i]) {
				all = append(all, index.AddressedTransfer{
					Tx: index.TxRef{Block: tx.Block, Hash: tx.Hash, Index: tx.Index}, Transfer: tx.Transfers[i]})
			}
		}
	}
	at := func(t index.AddressedTransfer) []byte {
		b := binary.BigEndian.AppendUint64(nil, t.Tx.Block.Number)
		return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(b, t.LogIndex), t.Item)
	}
	list, next, err := scan(v, all, p, at, func(t index.AddressedTransfer) uint64 { return t.Tx.Block.Number })
	return hand(list, next, err, at, func(t index.AddressedTransfer) bool { return take(&t) })
}

func (v *fakeView) AddressTransfers(a evm.Address, kind index.TransferKind, p index.Page, take index.TransferFunc) ([]byte, error) {
	return v.transfers(p, take, func(t *index.Transfer) bool { return t.Kind == kind && (t.From == a || t.To == a) })
}

func (v *fakeView) TokenTransfers(token evm.Address, p index.Page, take index.TransferFunc) ([]byte, error) {
	return v.transfers(p, take, func(t *index.Transfer) bool { return t.Token == token })
}

// everywhere is the height of what has none.
func everywhere[T any](T) uint64 { return 0 }

func (v *fakeView) TokenBalances(a evm.Address, contracts []evm.Address, p index.Page) ([]index.TokenBalance, []byte, error) {
	p.Ascending = true
	list := slices.DeleteFunc(slices.Clone(v.c.erc20[a]), func(b index.TokenBalance) bool {
		return len(contracts) > 0 && !slices.Contains(contracts, b.Token)
	})
	return scan(v, list, p, func(b index.TokenBalance) []byte { return b.Token[:] }, everywhere)
}

func (v *fakeView) NFTs(a evm.Address, contract *evm.Address, p index.Page) ([]index.ItemBalance, []byte, error) {
	p.Ascending = true
	var list []index.ItemBalance
	for _, n := range v.c.nfts[a] {
		if contract == nil || n.Token == *contract {
			list = append(list, index.ItemBalance{NFT: n, Doubtful: n.Token == items})
		}
	}
	at := func(n index.ItemBalance) []byte { return n.Position() }
	slices.SortFunc(list, func(a, b index.ItemBalance) int { return bytes.Compare(at(a), at(b)) })
	return scan(v, list, p, at, everywhere)
}

func (v *fakeView) Holders(token evm.Address, above uint256.Int, _ index.Frame, p index.Page) ([]index.Holder, []byte, error) {
	p.Ascending = true
	list := slices.DeleteFunc(slices.Clone(v.c.held[token]), func(h index.Holder) bool { return !above.Lt(&h.Balance) })
	return scan(v, list, p, func(h index.Holder) []byte { return h.Address[:] }, everywhere)
}

func (v *fakeView) NativeBalance(a evm.Address) (uint256.Int, bool, error) {
	wei, known := v.c.wei[a]
	return *uint256.NewInt(wei + v.tip), known, v.broken
}

func (v *fakeView) Token(a evm.Address) (index.TokenMeta, bool, error) {
	t, known := v.c.tokens[a]
	return t, known, v.broken
}

func (v *fakeView) NFTOwner(nft index.NFT) (evm.Address, bool, error) {
	for owner, list := range v.c.nfts {
		if slices.Contains(list, nft) {
			return owner, true, v.broken
		}
	}
	return evm.Address{}, false, v.broken
}

func (v *fakeView) TokenURI(token evm.Address, id uint256.Int) (string, bool, error) {
	uri, known := v.c.uris[index.NFT{Token: token, ID: id}]
	return uri, known, v.broken
}

func (v *fakeView) WarpMessages(hash evm.Hash) ([][]byte, error) { return v.c.warp[hash], v.broken }

func (v *fakeView) HasWarpIDs() bool { return !v.c.icmUnmade }

func (v *fakeView) WarpMessage(id chain.ID) ([]byte, error) {
	for _, list := range v.c.warp {
		for _, msg := range list {
			if sha256.Sum256(msg) == id {
				return msg, v.broken
			}
		}
	}
	return nil, v.broken
}

var _ View = (*index.View)(nil)
