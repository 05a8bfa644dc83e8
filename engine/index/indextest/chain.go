// Package indextest makes chains up for tests and benchmarks of the index: the
// same seed gives the same blocks, and all that they say is consistent.
package indextest

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// Config says what a chain is like.
type Config struct {
	Seed uint64
	// Txs is the number of transactions in a block at most; a block has between
	// none and so many, or exactly so many if Full.
	Txs  int
	Full bool
	// Accounts is the number of accounts. Default 40.
	Accounts int
	// Step is the mean time between blocks in milliseconds. Default 1,500.
	Step int
	// Untraced blocks have neither calls nor balances.
	Untraced bool
}

// Chain makes blocks.
type Chain struct {
	cfg      Config
	rnd      *rand.Rand
	next     uint64
	hash     evm.Hash
	time     uint64
	accounts []evm.Address
	wei      map[evm.Address]*uint256.Int
	nonces   map[evm.Address]uint64
	log      uint32
	touched  map[evm.Address]uint256.Int // with the balance before the block
	order    []evm.Address
	// How many interchain messages were sent, and came.
	sent, came uint64
}

// Contracts of the chains. Liar is an ERC-20 token that logs moves of what is
// not there, Odd logs what looks like transfers and is none, Router wraps coins
// for others and keeps none.
var (
	Coins   = []evm.Address{named("coin", 0), named("coin", 1), named("coin", 2)}
	Liar    = named("liar", 0)
	Odd     = named("odd", 0)
	Arts    = []evm.Address{named("art", 0), named("art", 1)}
	Items   = []evm.Address{named("item", 0), named("item", 1)}
	Wrapped = named("wrapped", 0)
	Factory = named("factory", 0)
	Router  = named("router", 0)
)

func named(kind string, n int) (a evm.Address) {
	h := evm.Keccak([]byte(kind), []byte{byte(n), byte(n >> 8), byte(n >> 16)})
	copy(a[:], h[:])
	return a
}

// New returns a chain without blocks.
func New(cfg Config) *Chain {
	if cfg.Accounts == 0 {
		cfg.Accounts = 40
	}
	cfg.Step = cmp.Or(cfg.Step, 1500)
	c := &Chain{
		cfg: cfg, rnd: rand.New(rand.NewPCG(cfg.Seed, 1)), time: 1_600_000_000_000,
		wei: map[evm.Address]*uint256.Int{}, nonces: map[evm.Address]uint64{},
	}
	for i := range cfg.Accounts {
		a := named("account", i)
		c.accounts = append(c.accounts, a)
		c.wei[a] = uint256.NewInt(1e18)
	}
	return c
}

// Blocks makes the next n blocks.
func (c *Chain) Blocks(n int) []*evm.Block {
	list := make([]*evm.Block, n)
	for i := range list {
		list[i] = c.Block()
	}
	return list
}

// Accounts returns the accounts.
func (c *Chain) Accounts() []evm.Address { return c.accounts }

func (c *Chain) account() evm.Address {
	// A few accounts have part in most of what happens.
	if c.rnd.IntN(3) == 0 {
		return c.accounts[c.rnd.IntN(min(3, len(c.accounts)))]
	}
	return c.accounts[c.rnd.IntN(len(c.accounts))]
}

// Block makes the next block.
func (c *Chain) Block() *evm.Block {
	b := &evm.Block{
		Number: c.next, Parent: c.hash, TimeMilli: c.time, GasLimit: 15_000_000,
		BaseFee: uint256.NewInt(25e9), Miner: named("miner", 0), Size: 600, Traced: !c.cfg.Untraced,
	}
	b.Hash = evm.Keccak(c.hash[:], binary.BigEndian.AppendUint64(nil, c.next), binary.BigEndian.AppendUint64(nil, c.cfg.Seed))
	c.log, c.touched, c.order = 0, map[evm.Address]uint256.Int{}, c.order[:0]
	n := c.cfg.Txs
	if !c.cfg.Full {
		n = c.rnd.IntN(n + 1)
	}
	if c.next == 0 {
		n, b.BaseFee, b.Traced = 0, nil, false
	}
	for i := range n {
		b.Txs = append(b.Txs, c.tx(b, uint32(i)))
		b.GasUsed += b.Txs[i].GasUsed
	}
	if b.Traced {
		for _, a := range c.order {
			b.Balances = append(b.Balances, evm.Balance{Address: a, Before: c.touched[a], Wei: *c.wei[a]})
		}
	}
	c.next, c.hash = c.next+1, b.Hash
	c.time += uint64(c.rnd.IntN(2 * c.cfg.Step))
	return b
}

// native changes a native balance.
func (c *Chain) native(a evm.Address, amount *uint256.Int, less bool) {
	w, ok := c.wei[a]
	if !ok {
		w = new(uint256.Int)
		c.wei[a] = w
	}
	if _, ok := c.touched[a]; !ok {
		c.touched[a] = *w
		c.order = append(c.order, a)
	}
	if less {
		if w.Lt(amount) {
			w.Clear()
			return
		}
		w.Sub(w, amount)
		return
	}
	w.Add(w, amount)
}

func (c *Chain) tx(b *evm.Block, index uint32) evm.Tx {
	from := c.account()
	tx := evm.Tx{
		Index: index, Type: uint8(c.rnd.IntN(3)), Nonce: c.nonces[from], From: from,
		GasLimit: 100_000, GasUsed: 21_000 + c.rnd.Uint64N(50_000), GasPrice: *uint256.NewInt(25e9),
	}
	c.nonces[from]++
	if tx.Type == 2 {
		tx.MaxFee, tx.MaxPriorityFee = uint256.NewInt(50e9), uint256.NewInt(1e9)
	}
	tx.Hash = evm.Keccak(b.Hash[:], []byte{byte(index), byte(index >> 8), byte(index >> 16)})
	fee := new(uint256.Int).Mul(&tx.GasPrice, uint256.NewInt(tx.GasUsed))
	c.native(from, fee, true)
	c.native(b.Miner, fee, false)
	switch k := c.rnd.IntN(20); {
	case k < 5:
		tx.To = c.account()
		tx.Value = *uint256.NewInt(c.rnd.Uint64N(1e12))
		c.native(from, &tx.Value, true)
		c.native(tx.To, &tx.Value, false)
	case k < 6:
		tx.Creation = true
		tx.Contract = evm.CreateAddress(from, tx.Nonce)
		tx.Failed = c.rnd.IntN(2) == 0
		tx.Input = c.bytes(200 + c.rnd.IntN(400))
	case k < 7:
		tx.To, tx.Failed = c.token(), true
		tx.Input = c.bytes(68)
	case k < 8:
		tx.To = Factory
		tx.Calls = c.deploy(&tx)
	default:
		tx.Input = c.bytes(68)
		c.tokens(&tx)
	}
	c.icm(&tx)
	if tx.Failed && index%3 > 0 { // every third one as blocks had it before failures were kept
		tx.Failure = &evm.Failure{Error: "execution reverted", Revert: tx.Input[:min(int(index), 36)]}
	}
	if c.cfg.Untraced {
		tx.Calls, tx.Failure = nil, nil
	}
	return tx
}

func (c *Chain) token() evm.Address { return Coins[c.rnd.IntN(len(Coins))] }

func (c *Chain) bytes(n int) []byte {
	b := make([]byte, n)
	for i := 0; i+8 <= n; i += 32 { // like ABI words: mostly zeros
		binary.BigEndian.PutUint64(b[i:], c.rnd.Uint64())
	}
	return b
}

// deploy makes calls that create contracts, in part reverted.
func (c *Chain) deploy(tx *evm.Tx) []evm.Call {
	made := evm.CreateAddress(Factory, c.rnd.Uint64())
	inner := evm.CreateAddress(made, 1)
	bad := c.rnd.IntN(3) == 0
	calls := []evm.Call{
		{Type: evm.CallCreate2, Depth: 1, From: Factory, To: made, Gas: 50_000, GasUsed: 30_000, Reverted: bad},
		{Type: evm.CallCreate, Depth: 2, From: made, To: inner, Gas: 20_000, GasUsed: 10_000, Reverted: bad},
		{Type: evm.CallCreate, Depth: 1, From: Factory, Gas: 10_000, GasUsed: 10_000, Reverted: true},
		{Type: evm.CallStatic, Depth: 1, From: Factory, To: tx.From, Gas: 700, GasUsed: 100},
		{Type: evm.CallDelegate, Depth: 1, From: Factory, To: Odd, Gas: 700, GasUsed: 100},
	}
	if !bad {
		v := uint256.NewInt(5)
		to := c.account()
		calls = append(calls, evm.Call{Type: evm.CallPlain, Depth: 1, From: Factory, To: to, Value: *v, Gas: 2300})
		c.native(to, v, false)
	}
	return calls
}
