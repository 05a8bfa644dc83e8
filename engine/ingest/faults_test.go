package ingest

import (
	"errors"
	"fmt"

	"quorate/engine/chain/evm"
)

type fault struct {
	fault  func(f *fakeNode)
	want   error
	height int // reached meanwhile, at most
}

// What a node's client says of it.
var (
	errUnreachable = errors.New("node is unreachable")
	errBadAnswer   = errors.New("bad answer")
)

// faults returns what a node can do wrong, to those who ask for block 60 above all.
func faults() map[string]fault {
	unreachable := fmt.Errorf("node: %w", errUnreachable)
	garbled := fmt.Errorf("%w: not JSON-RPC", errBadAnswer)
	only := func(n uint64, f func(f *fakeNode, from, to uint64) ([]*evm.Block, error)) func(*fakeNode) {
		return func(node *fakeNode) {
			node.fetch = func(from, to uint64) ([]*evm.Block, error) {
				if from > n || to < n {
					return nil, nil
				}
				return f(node, from, to)
			}
		}
	}
	// wrong changes one block of an otherwise good answer.
	wrong := func(change func(b *evm.Block)) func(*fakeNode) {
		return only(60, func(f *fakeNode, from, to uint64) (list []*evm.Block, err error) {
			for n := from; n <= to; n++ {
				b := f.copied(n)
				if n == 60 {
					change(b)
				}
				list = append(list, b)
			}
			return list, nil
		})
	}
	return map[string]fault{
		"wrong parent":  {wrong(func(b *evm.Block) { b.Parent[5]++ }), ErrParent, 59},
		"another block": {wrong(func(b *evm.Block) { b.Number = 3 }), ErrAnswer, 59},
		// Said of that block or of the next one, whichever was tried last.
		"wrong hash": {wrong(func(b *evm.Block) { b.Hash[5]++ }), errForeign, 59},
		"too few": {only(60, func(f *fakeNode, from, _ uint64) ([]*evm.Block, error) {
			return []*evm.Block{f.copied(from)}[:0:0], garbled
		}), errBadAnswer, 59},
		"nil block": {only(60, func(*fakeNode, uint64, uint64) ([]*evm.Block, error) { return []*evm.Block{nil}, nil }), ErrAnswer, 59},
		"none":      {only(60, func(*fakeNode, uint64, uint64) ([]*evm.Block, error) { return []*evm.Block{}, nil }), ErrAnswer, 59},
		"too many": {only(60, func(f *fakeNode, from, to uint64) ([]*evm.Block, error) {
			return append(f.blocks[from:to+1:to+1], f.blocks[to+1]), nil
		}), ErrAnswer, 59},
		"garbled":     {only(60, func(*fakeNode, uint64, uint64) ([]*evm.Block, error) { return nil, garbled }), errBadAnswer, 59},
		"unreachable": {func(f *fakeNode) { f.fetch = func(uint64, uint64) ([]*evm.Block, error) { return nil, unreachable } }, errUnreachable, 40},
		"no tip":      {func(f *fakeNode) { f.tipErr = unreachable }, errUnreachable, 40},
		"silence":     {func(f *fakeNode) { f.hang = true }, ErrTimeout, 40},
		"went back":   {func(f *fakeNode) { f.tip = 30 }, ErrBehind, 40},
		"untraceable": {func(f *fakeNode) { f.trace = func(*evm.Block) error { return ErrUnable } }, ErrUnable, 59},
		"one not traced": {func(f *fakeNode) {
			f.trace = func(b *evm.Block) error {
				if b.Number == 60 {
					return garbled
				}
				return nil
			}
		}, errBadAnswer, 59},
		"pretends a block": {func(f *fakeNode) { f.blocks = f.blocks[:60] }, ErrNotFound, 59},
	}
}
