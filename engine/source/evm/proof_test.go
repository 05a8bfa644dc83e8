package evm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/source"
)

// ledgerChain is a chain on which accounts move the coin, with its states.
type ledgerChain struct {
	states []*state // by height
	blocks []*evm.Block
}

var minerAt = evm.Address{1}

// ledgerStates are the states of all such chains by height: the same ones in each.
var ledgerStates struct {
	sync.Mutex
	list []*state
}

// ledgerState returns the state after a height, which is made of wei when it is asked for first.
func ledgerState(height int, wei map[evm.Address]uint256.Int) *state {
	ledgerStates.Lock()
	defer ledgerStates.Unlock()
	if height == len(ledgerStates.list) {
		ledgerStates.list = append(ledgerStates.list, newState(wei))
	}
	return ledgerStates.list[height]
}

// account is that of number i.
func accountOf(i int) evm.Address { return evm.Address{7, 18: byte(i >> 8), 19: byte(i)} }

// newLedgerChain makes blocks of five transactions, each with a call that passes on a
// part of the value, a delegated one and one that was reverted.
func newLedgerChain(blocks int) *ledgerChain {
	wei := map[evm.Address]uint256.Int{}
	for i := range 20 {
		wei[accountOf(i)] = *uint256.NewInt(1 << 60)
	}
	c := &ledgerChain{states: []*state{ledgerState(0, wei)}, blocks: []*evm.Block{{}}}
	for n := 1; n <= blocks; n++ {
		b := &evm.Block{Number: uint64(n), Miner: minerAt, Traced: true}
		was := map[evm.Address]uint256.Int{}
		change := func(a evm.Address, by int64) {
			w := wei[a]
			if _, ok := was[a]; !ok {
				was[a] = w
			}
			if by < 0 {
				w.SubUint64(&w, uint64(-by))
			} else {
				w.AddUint64(&w, uint64(by))
			}
			wei[a] = w
		}
		for i := range 5 {
			from, to, next := accountOf((n*7+i)%20), accountOf((n*11+i*3)%20), accountOf(100+(n+i)%10)
			t := evm.Tx{From: from, To: to, Value: *uint256.NewInt(1000), GasUsed: 21_000, GasPrice: *uint256.NewInt(3), Failed: i == 4}
			call := evm.Call{Type: evm.CallPlain, From: to, To: next, Value: *uint256.NewInt(400)}
			t.Calls = []evm.Call{call, {Type: evm.CallDelegate, From: to, To: next, Value: *uint256.NewInt(400)}, {Type: evm.CallPlain, From: to, To: next, Value: *uint256.NewInt(7), Reverted: true}}
			change(from, -63_000)
			change(minerAt, 63_000)
			if !t.Failed {
				change(from, -1000)
				change(to, 600)
				change(next, 400)
			}
			b.Txs = append(b.Txs, t)
		}
		for a, w := range was {
			b.Balances = append(b.Balances, evm.Balance{Address: a, Before: w, Wei: wei[a]})
		}
		if n%3 == 0 {
			b.Atomic = []evm.Atomic{{Address: accountOf(99), Wei: *uint256.NewInt(5)}}
			w := wei[accountOf(99)]
			now := *new(uint256.Int).AddUint64(&w, 5)
			wei[accountOf(99)] = now
			set := false
			for i := range b.Balances {
				if b.Balances[i].Address == accountOf(99) {
					b.Balances[i].Wei, set = now, true
				}
			}
			if !set {
				b.Balances = append(b.Balances, evm.Balance{Address: accountOf(99), Before: w, Wei: now})
			}
		}
		c.states = append(c.states, ledgerState(n, wei))
		c.blocks = append(c.blocks, b)
	}
	for n, b := range c.blocks {
		h := consensus.Header{Number: uint64(n), StateRoot: c.states[n].root}
		b.Header = h.Append(nil)
	}
	return c
}

// node answers eth_getProof.
func (c *ledgerChain) node(t *testing.T) *Client {
	t.Helper()
	client, err := New(Config{Path: "/", Node: nodeFunc(func(calls []source.BatchCall) error {
		for i := range calls {
			p := calls[i].Params.([]any)
			height := must(hexUint([]byte(p[2].(string))))
			proof := c.states[height].prove(must(evm.ParseAddress(p[0].(string))))
			text := must(json.Marshal(map[string]any{"address": p[0], "accountProof": proof, "balance": "0x1", "storageProof": []any{}}))
			if calls[i].Err = nil; calls[i].Decode(text) != nil {
				return fmt.Errorf("%w: %w", source.ErrBadAnswer, calls[i].Decode(text))
			}
		}
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// judge has a part of the balances of the blocks proven and returns the first lie.
func (c *ledgerChain) judge(t *testing.T, share uint32) (proven int, lie error) {
	t.Helper()
	client, sampler := c.node(t), Sampler{share: share}
	for _, b := range c.blocks {
		if err := client.Prove(t.Context(), sampler.Sample(b), func(d *Doubt, err error) {
			if proven++; err != nil && lie == nil {
				lie = err
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	return proven, lie
}

// What an honest node says of balances and calls is proven, all of it.
func TestProvenBalances(t *testing.T) {
	t.Parallel()
	if proven, lie := newLedgerChain(30).judge(t, 1); lie != nil || proven < 200 {
		t.Errorf("%d proven: %v", proven, lie)
	}
}

// settled has the blocks from one on executed after they were accepted: each header has
// the root of the state some blocks below, of several blocks at once now and then.
func (c *ledgerChain) settled(from int) *ledgerChain {
	last := from - 1
	for n := from; n < len(c.blocks); n++ {
		if n%3 > 0 { // else it settles nothing
			last = max(last, n-2)
		}
		at, unix := uint64(last), uint64(1)
		h := consensus.Header{
			Number: uint64(n), StateRoot: c.states[last].root, BaseFee: new(uint256.Int), BlockGasCost: new(uint256.Int), BlobGasUsed: new(uint64),
			ExcessBlobGas: new(uint64), ParentBeaconRoot: new(evm.Hash), TimeMilli: new(uint64), MinDelayExcess: new(uint64), TargetExponent: new(uint64),
			MinPriceExponent: new(uint64), SettledHeight: &at, SettledGasUnix: &unix, SettledGasNumerator: new(uint64), SettledExcess: new(uint64),
		}
		c.blocks[n].Header = h.Append(nil)
	}
	return c
}

// Where headers have the roots of states below them what is said of all the blocks from
// one root to the next is proven together.
func TestProvenSettled(t *testing.T) {
	t.Parallel()
	if proven, lie := newLedgerChain(30).settled(10).judge(t, 1); lie != nil || proven < 200 {
		t.Errorf("%d proven: %v", proven, lie)
	}
	for n := 12; n < 27; n++ {
		c := newLedgerChain(30).settled(10)
		c.blocks[n].Txs[0].Calls[0].Value.SetUint64(401)
		if _, lie := c.judge(t, 1); !errors.Is(lie, ErrFalse) {
			t.Errorf("a lie about block %d: %v", n, lie)
		}
	}
	if list := Disputes(newLedgerChain(12).settled(10).blocks[10], newLedgerChain(12).settled(10).blocks[11]); len(list[0]) > 0 {
		t.Error("the root of another state proves nothing")
	}
}

// False balances, left out balances and false calls that move value are found when
// their account is looked at, and by the sample soon.
func TestFalseBalances(t *testing.T) {
	t.Parallel()
	other := accountOf(77)
	for name, lie := range map[string]func(b *evm.Block){
		"balance after":    func(b *evm.Block) { b.Balances[1].Wei.AddUint64(&b.Balances[1].Wei, 1) },
		"balance before":   func(b *evm.Block) { b.Balances[1].Before.AddUint64(&b.Balances[1].Before, 1) },
		"balance left out": func(b *evm.Block) { b.Balances = without(b.Balances, b.Txs[0].From) },
		"balance made up": func(b *evm.Block) {
			b.Balances = append(b.Balances, evm.Balance{Address: other, Wei: *uint256.NewInt(1)})
		},
		"value of a call": func(b *evm.Block) { b.Txs[0].Calls[0].Value.SetUint64(401) },
		"call left out":   func(b *evm.Block) { b.Txs[0].Calls = b.Txs[0].Calls[1:] },
		"call made up":    func(b *evm.Block) { b.Txs[0].Calls = append(b.Txs[0].Calls, b.Txs[0].Calls[0]) },
		"receiver":        func(b *evm.Block) { b.Txs[0].Calls[0].To = other },
		"sender":          func(b *evm.Block) { b.Txs[0].Calls[0].From = other },
		"reverted":        func(b *evm.Block) { b.Txs[0].Calls[0].Reverted = true },
		"not reverted":    func(b *evm.Block) { b.Txs[0].Calls[2].Reverted = false },
		"kind":            func(b *evm.Block) { b.Txs[0].Calls[0].Type = evm.CallStatic },
	} {
		c := newLedgerChain(3)
		lie(c.blocks[2])
		if _, err := c.judge(t, 1); !errors.Is(err, ErrFalse) || !strings.Contains(err.Error(), "block 2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, lie := range map[string]func(b *evm.Block){
		"balances": func(b *evm.Block) { b.Balances[1].Wei.AddUint64(&b.Balances[1].Wei, 1) },
		"calls":    func(b *evm.Block) { b.Txs[0].Calls[0].Value.SetUint64(401) },
	} {
		proven, err := 0, error(nil)
		for _, blocks := range []int{200, 1000} { // nearly always the first are enough
			c := newLedgerChain(blocks)
			for _, b := range c.blocks[1:] {
				lie(b)
			}
			if proven, err = c.judge(t, 0); err != nil {
				break
			}
		}
		if !errors.Is(err, ErrFalse) {
			t.Errorf("%s: not found in 1,000 blocks by %d proofs: %v", name, proven, err)
		} else {
			t.Logf("%s: %d proofs: %v", name, proven, err)
		}
	}
}

func without(list []evm.Balance, a evm.Address) (rest []evm.Balance) {
	for _, b := range list {
		if b.Address != a {
			rest = append(rest, b)
		}
	}
	return rest
}

// A node without proofs proves nothing, and is none the worse for it; one with false
// ones is a bad one.
func TestUnproven(t *testing.T) {
	t.Parallel()
	c := newLedgerChain(5)
	sampler := Sampler{share: 1}
	var doubts []Doubt
	for _, b := range c.blocks {
		doubts = append(doubts, sampler.Sample(b)...)
	}
	for name, node := range map[string]nodeFunc{
		"no method": func(calls []source.BatchCall) error {
			for i := range calls {
				calls[i].Err = &source.RPCError{Code: codeNoMethod, Message: "the method eth_getProof does not exist/is not available"}
			}
			return nil
		},
		"no state": func(calls []source.BatchCall) error {
			for i := range calls {
				calls[i].Err = &source.RPCError{Code: -32000, Message: "missing trie node"}
			}
			return nil
		},
	} {
		client := must(New(Config{Path: "/", Node: node}))
		unproven := 0
		if err := client.Prove(t.Context(), doubts, func(_ *Doubt, err error) {
			if errors.Is(err, ErrUnproven) {
				unproven++
			}
		}); err != nil || unproven != len(doubts) {
			t.Errorf("%s: %d of %d, %v", name, unproven, len(doubts), err)
		}
	}
	c.states[3] = c.states[2]
	if err := c.node(t).Prove(t.Context(), doubts, func(*Doubt, error) { t.Error("judged") }); !errors.Is(err, ErrBadAnswer) || !errors.Is(err, consensus.ErrProof) {
		t.Errorf("false proofs: %v", err)
	}
	if none := (&Sampler{share: 1}).Sample(c.blocks[2]); none != nil {
		t.Errorf("the first block of a sampler: %v", none)
	}
}
