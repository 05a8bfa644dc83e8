package evm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/source"
)

const (
	// proofShare is the part of the accounts of a block whose balances are proven:
	// one of so many. A node that lies about one balance in each block is found
	// within 1,000 blocks but for one chance in seven million.
	proofShare uint32 = 64
	// maxProofs bounds the accounts of one block.
	maxProofs = 16
	// maxProofNodes bounds a proof: a path has 64 nibbles.
	maxProofNodes = 65
)

// movers are precompiles that change balances without a call: the one that mints the
// coin on L1s, and the one that moved assets on the C-Chain.
var movers = []evm.Address{{0: 2, 19: 1}, {0: 1, 19: 2}}

// Doubt is an account whose balances are to be proven over the blocks from one state root
// to the next.
type Doubt struct {
	// From and Height are the first and the last of these blocks: they are the same where
	// each block's header has the root of the state after it.
	From, Height   uint64
	Account        evm.Address
	root, before   evm.Hash // of the states after the blocks and before them
	told           *evm.Balance
	in, out        uint256.Int // what the blocks' transactions and calls move
	explained      bool        // in and out should explain the difference
	wasAcc, nowAcc consensus.Account
}

// maxPending bounds the blocks that wait for the header with the root of their state.
const maxPending = 4096

// Sampler picks accounts whose balances are to be proven. It is not safe for
// concurrent use: blocks come to it in their order.
type Sampler struct {
	next    uint64       // height of the block that follows
	root    evm.Hash     // of the state after the block at rooted; zero: not known
	rooted  uint64       // the last block whose state has a root in a header
	pending []*evm.Block // blocks above it, up to the last one
	share   uint32
}

// Sample returns accounts to prove of the blocks to whose state b's header has the root:
// of b, or of blocks before it that it settles. They are a random part of those whose
// balance changed, as the node says, and of those that value was moved to or from. There
// are none of the first block that it sees, nor of one whose calls or header are not known.
func (s *Sampler) Sample(b *evm.Block) (doubts []Doubt) {
	var h consensus.Header
	known := len(b.Header) > 0 && h.Parse(b.Header) == nil
	if b.Number != s.next || !known || len(s.pending) >= maxPending {
		s.root, s.pending = evm.Hash{}, nil
	}
	s.next = b.Number + 1
	if !known {
		return nil
	}
	before, from := s.root, s.rooted+1
	s.root = h.StateRoot
	if h.Settles() {
		s.rooted = *h.SettledHeight
	} else {
		s.rooted = b.Number
		s.pending = append(s.pending, b)
	}
	n := 0
	for n < len(s.pending) && s.pending[n].Number <= s.rooted {
		n++
	}
	unit := s.pending[:n:n]
	s.pending = slices.Clone(s.pending[n:])
	if h.Settles() {
		s.pending = append(s.pending, b)
	}
	if before.IsZero() || n == 0 || unit[0].Number != from {
		return nil
	}
	return s.pick(unit, before, h.StateRoot)
}

// pick returns accounts to prove of blocks between two states.
func (s *Sampler) pick(unit []*evm.Block, before, root evm.Hash) (doubts []Doubt) {
	var picked []evm.Address
	pick := func(a evm.Address) {
		if rand.Uint32N(cmp.Or(s.share, proofShare)) == 0 && len(picked) < maxProofs && !slices.Contains(picked, a) { //nolint:gosec // the node does not see the draw
			picked = append(picked, a)
		}
	}
	for _, b := range unit {
		if !b.Traced || b.Balances == nil {
			return nil
		}
		for i := range b.Balances {
			pick(b.Balances[i].Address)
		}
		eachMove(b, func(a evm.Address, _ bool, wei *uint256.Int) {
			if !wei.IsZero() {
				pick(a)
			}
		})
	}
	for _, a := range picked {
		doubts = append(doubts, doubtOf(unit, a, before, root))
	}
	return doubts
}

// doubtOf returns what a node says of an account in blocks between two states.
func doubtOf(unit []*evm.Block, a evm.Address, before, root evm.Hash) Doubt {
	first, last := unit[0], unit[len(unit)-1]
	d := Doubt{From: first.Number, Height: last.Number, Account: a, before: before, root: root, explained: a != last.Miner}
	for _, b := range unit {
		d.add(b)
	}
	return d
}

// add takes what a block says of the account.
func (d *Doubt) add(b *evm.Block) {
	a := d.Account
	if i := slices.IndexFunc(b.Balances, func(x evm.Balance) bool { return x.Address == a }); i >= 0 {
		told := b.Balances[i]
		if d.told != nil {
			told.Before = d.told.Before
		}
		d.told = &told
	}
	eachMove(b, func(of evm.Address, out bool, wei *uint256.Int) {
		switch {
		case of != a:
		case out:
			d.out.Add(&d.out, wei)
		default:
			d.in.Add(&d.in, wei)
		}
	})
	for i := range b.Txs {
		t := &b.Txs[i]
		if t.From == a {
			fee := new(uint256.Int).SetUint64(t.GasUsed)
			d.out.Add(&d.out, fee.Mul(fee, &t.GasPrice))
			d.explained = d.explained && t.Type != consensus.TypeBlob && t.Type <= consensus.LastType
		}
		d.explained = d.explained && !slices.Contains(movers, t.To)
		for k := range t.Calls {
			c := &t.Calls[k]
			// What is destroyed for its own benefit may be burnt.
			d.explained = d.explained && !slices.Contains(movers, c.To) && (c.Type != evm.CallSelfDestruct || c.From != c.To)
		}
	}
}

// eachMove calls f with what a block's transactions, calls, imports and exports put
// into an account or take out of it, fees aside.
func eachMove(b *evm.Block, f func(a evm.Address, out bool, wei *uint256.Int)) {
	for i := range b.Txs {
		t := &b.Txs[i]
		if t.Failed {
			continue
		}
		to := t.To
		if t.Creation {
			to = t.Contract
		}
		f(t.From, true, &t.Value)
		f(to, false, &t.Value)
		for k := range t.Calls {
			c := &t.Calls[k]
			moves := c.Type != evm.CallDelegate && c.Type != evm.CallStatic && c.Type != evm.CallCode
			if moves && !c.Reverted {
				f(c.From, true, &c.Value)
				f(c.To, false, &c.Value)
			}
		}
	}
	for i := range b.Atomic {
		f(b.Atomic[i].Address, b.Atomic[i].Export, &b.Atomic[i].Wei)
	}
}

// ErrUnproven is wrapped by the error about balances that no node proves: it has no
// proofs, or none of a state that old.
var ErrUnproven = errors.New("no node proves the balance")

// ErrUnexplained is wrapped, beside [ErrFalse], by the error about a balance that is as
// the node said and that the calls do not explain.
var ErrUnexplained = errors.New("calls do not explain the balance")

// Prove asks for the proofs of balances and calls judge with each doubt and what
// came of it: nil if the balances are as the node said and the calls explain their
// difference, [ErrFalse] if not, [ErrUnproven] if nobody knows. The error is about
// all of them: no node has answered.
func (c *Client) Prove(ctx context.Context, doubts []Doubt, judge func(d *Doubt, err error)) error {
	calls := make([]source.BatchCall, 0, 2*len(doubts))
	for i := range doubts {
		d := &doubts[i]
		calls = append(calls, d.call(d.From-1, d.before, &d.wasAcc), d.call(d.Height, d.root, &d.nowAcc))
	}
	// What is proven does not depend on who proves it: any node will do.
	err := c.cfg.Node.CallBatchOf(ctx, c.cfg.Path, calls, source.Choice{Rank: c.pool.forBlocks(0), Check: func(_ source.Node, calls []source.BatchCall) error {
		for i := range calls {
			if calls[i].Err != nil {
				return source.Pass(calls[i].Err)
			}
		}
		return nil
	}})
	if err != nil && (ctx.Err() != nil || !errors.As(err, new(*source.RPCError))) {
		return outward(err)
	}
	for i := range doubts {
		d := &doubts[i]
		if refusal := errors.Join(calls[2*i].Err, calls[2*i+1].Err); refusal != nil || err != nil {
			judge(d, fmt.Errorf("%w: block %d: %w", ErrUnproven, d.Height, errors.Join(refusal, err)))
			continue
		}
		judge(d, d.verdict())
	}
	return nil
}

// verdict compares what is proven with what the node said.
func (d *Doubt) verdict() error {
	was, now := &d.wasAcc.Balance, &d.nowAcc.Balance
	told := d.told
	if told == nil {
		told = &evm.Balance{Before: *was, Wei: *was} // it is said to be unchanged
	}
	if told.Before != *was || told.Wei != *now {
		return fmt.Errorf("%w: block %d: the balance of %s goes from %s to %s, proven is from %s to %s",
			ErrFalse, d.Height, d.Account, told.Before.Dec(), told.Wei.Dec(), was.Dec(), now.Dec())
	}
	var want uint256.Int
	want.Sub(want.Add(was, &d.in), &d.out)
	if d.explained && want != *now {
		return fmt.Errorf("%w: %w: block %d: transactions and calls make %s of the balance of %s, proven is %s",
			ErrFalse, ErrUnexplained, d.Height, want.Dec(), d.Account, now.Dec())
	}
	return nil
}

// call asks for the proof of an account in the state after a block.
func (d *Doubt) call(height uint64, root evm.Hash, acc *consensus.Account) source.BatchCall {
	return source.BatchCall{
		Method: "eth_getProof",
		Params: []any{d.Account.String(), []string{}, number(height)},
		Decode: func(text []byte) (err error) {
			var f fields
			var nodes [][]byte
			f.Reset(text)
			f.Members(func(name []byte) {
				if string(name) != "accountProof" || f.Null() {
					f.Skip()
					return
				}
				nodes = nil
				f.Elements(func(i int) {
					f.bound(i, maxProofNodes, "accountProof")
					nodes = append(nodes, f.data("accountProof"))
				})
			})
			if !f.End() {
				return f.Err()
			}
			*acc, err = consensus.ProveAccount(root, d.Account, nodes)
			return err
		},
	}
}
