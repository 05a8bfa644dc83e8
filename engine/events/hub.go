package events

import (
	"errors"
	"sync"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// Chain is the index of a chain: see [index.Chain].
type Chain interface {
	At(tip *uint64) (*index.View, error)
	Cursor() (number uint64, hash evm.Hash, ok bool)
	Changed() <-chan struct{}
	Corrections() []index.Correction
}

const (
	// windowBlocks bounds the newest blocks that a hub keeps, windowWeight what they
	// have together. Who is further behind reads rows for himself.
	windowBlocks = 64
	windowWeight = 50_000
	// behindBlocks is how many blocks a hub reads at once when it has fallen behind.
	behindBlocks = 16
)

// Hub keeps the newest blocks of a chain for all who follow it: each is read once. It
// keeps nothing while there are none. All methods may be called at any time.
type Hub struct {
	chain Chain

	mu        sync.Mutex
	followers int
	blocks    []*Block // the newest ones, each the parent of the next; never changed in place
	corrected int      // how many corrections the chain had before they were read
}

// NewHub returns the hub of a chain.
func NewHub(c Chain) *Hub { return &Hub{chain: c} }

// Changed is [index.Chain.Changed].
func (h *Hub) Changed() <-chan struct{} { return h.chain.Changed() }

// Tip returns the position behind the last block.
func (h *Hub) Tip() (p Position, block index.Header, err error) {
	v, err := h.chain.At(nil)
	if err != nil {
		return p, block, err
	}
	defer v.Close()
	number := v.Tip().Number
	block, found, err := v.Block(number)
	if err == nil && !found {
		err = errMissing(number)
	}
	if err != nil {
		return p, block, err
	}
	p = Position{Height: number, Passed: whole}
	p.Trail, err = trailOf(v, &block)
	return p, block, err
}

// Follow returns a follower from a position on. The caller closes it.
func (h *Hub) Follow(f Filter, at Position) *Follower {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.followers++
	return &Follower{hub: h, filter: f, at: at}
}

func (h *Hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.followers--; h.followers == 0 {
		h.blocks = nil
	}
}

// Followers returns how many there are.
func (h *Hub) Followers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.followers
}

// window returns the newest blocks. The list must not be changed.
func (h *Hub) window() ([]*Block, error) {
	number, hash, ok := h.chain.Cursor()
	if !ok {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.blocks); n > 0 && h.blocks[n-1].Number == number && h.blocks[n-1].Hash == hash && len(h.chain.Corrections()) == h.corrected {
		return h.blocks, nil
	}
	v, err := h.chain.At(nil)
	if err != nil {
		if errors.Is(err, index.ErrEmpty) {
			err = nil
		}
		return nil, err
	}
	defer v.Close()
	if n := v.Corrections(); n != h.corrected {
		h.blocks, h.corrected = nil, n
	}
	h.blocks, err = extend(v, h.blocks)
	return h.blocks, err
}

// extend returns the newest blocks of a chain, those that are known already as they are.
func extend(v *index.View, known []*Block) ([]*Block, error) {
	tip := v.Tip()
	from := tip.Number - min(tip.Number, behindBlocks-1)
	from = max(from, v.First())
	var list []*Block
	for i := len(known) - 1; i >= 0; i-- {
		b := known[i]
		if b.Number > tip.Number {
			continue
		}
		h, found, err := v.Block(b.Number)
		if err != nil {
			return nil, err
		}
		if found && h.Hash == b.Hash {
			if b.Number+1 >= from {
				list, from = append(list, known[:i+1]...), b.Number+1
			}
			break
		}
	}
	for ; from <= tip.Number; from++ {
		b, err := load(v, from)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return bounded(list), nil
}

// bounded drops the oldest blocks that are too many or too large; the newest stays.
func bounded(list []*Block) []*Block {
	weight := 0
	for i := len(list) - 1; i >= 0; i-- {
		if weight += list[i].weight(); i < len(list)-1 && (weight > windowWeight || len(list)-i > windowBlocks) {
			return list[i+1:]
		}
	}
	return list
}
