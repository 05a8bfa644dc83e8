package events

import (
	"errors"
	"fmt"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// ErrLost means that a position cannot be gone on from: the chain has none of the blocks
// that it names, or the index begins above it.
var ErrLost = errors.New("the position is not one of this chain's index")

const (
	// atOnce is how many heights a follower looks at with one view of the chain.
	atOnce = 256
	// batchWeight is what the blocks of a batch that rows were read for have together,
	// but for the last: a client that takes nothing keeps them in memory.
	batchWeight = 2_000
)

// Batch is what a follower gets at once: events, or a retraction, or neither.
type Batch struct {
	Events []Event
	// Retracted says that all that was delivered of blocks above Stands is void.
	Retracted bool
	Stands    Head
	// After is the position behind all of it. It may be further than the last event.
	After Position
	// More says that there may be more at once; without it the follower has all there is.
	More bool
}

// Head is a block.
type Head struct {
	Number uint64
	Hash   evm.Hash
}

// Follower reads the events of a chain in their order. It is for one goroutine.
type Follower struct {
	hub    *Hub
	filter Filter
	at     Position
	closed bool
}

// At returns the position behind what was delivered.
func (r *Follower) At() Position { return r.at }

// Filter returns what the follower gets.
func (r *Follower) Filter() Filter { return r.filter }

// Close ends the follower.
func (r *Follower) Close() {
	if !r.closed {
		r.closed = true
		r.hub.leave()
	}
}

// Next returns what follows, at most so many events. It does not wait. The error wraps
// [ErrLost], or says that rows could not be read just now.
func (r *Follower) Next(most int) (b Batch, err error) {
	blocks, err := r.hub.window()
	if err != nil {
		return b, err
	}
	// Only now: the blocks may be those of after a correction.
	_, corrected := r.corrected()
	if at := r.find(blocks); at >= 0 && !corrected {
		full := false
		for _, block := range blocks[at:] {
			if full = r.emit(block, &b, most); full {
				break
			}
		}
		b.After, b.More = r.at, full
		return b, nil
	}
	from := r.at
	if err := r.read(&b, most); err != nil {
		r.at = from // what was read before the error is read again
		return Batch{After: from}, err
	}
	b.After = r.at
	return b, nil
}

// corrected returns the height of the last block that stands, if the chain was corrected at
// or below the position since its block was read.
func (r *Follower) corrected() (stands uint64, is bool) {
	list := r.hub.chain.Corrections()
	if r.at.Trail.n == 0 {
		return 0, false
	}
	for i := len(list) - 1; i >= 0 && list[i].ID != r.at.Trail.corrected; i-- {
		if below := list[i].Height - 1; below < r.at.Height && (!is || below < stands) {
			stands, is = below, true
		}
	}
	return stands, is
}

// find returns where to go on in a window, -1 if the position is not in it.
func (r *Follower) find(blocks []*Block) int {
	if len(blocks) == 0 {
		return -1
	}
	first := blocks[0]
	if r.at.Height+1 == first.Number {
		if r.at.Passed == whole && r.at.fits(&first.Parent) {
			return 0
		}
		return -1
	}
	if r.at.Height < first.Number || r.at.Height-first.Number >= uint64(len(blocks)) {
		return -1
	}
	i := int(r.at.Height - first.Number)
	if !r.at.fits(&blocks[i].Hash) {
		return -1
	}
	return i
}

// emit adds the events of the block at the position, or of the one behind it. It reports
// whether there was no room for all of them.
func (r *Follower) emit(block *Block, b *Batch, most int) (full bool) {
	from := uint32(0)
	if block.Number == r.at.Height {
		if from = r.at.Passed; from == whole {
			return false
		}
	}
	block.each(from, func(e *Event) bool {
		if !r.filter.wants(e) {
			return true
		}
		if full = len(b.Events) >= most; full {
			return false
		}
		b.Events = append(b.Events, *e)
		r.at = e.After()
		return true
	})
	if !full {
		r.at = block.After()
	}
	return full
}

// read reads rows: of a position that is behind the window, or on blocks that the chain
// has no more.
func (r *Follower) read(b *Batch, most int) error {
	v, err := r.hub.chain.At(nil)
	if errors.Is(err, index.ErrEmpty) {
		return nil
	}
	if err != nil {
		return err
	}
	defer v.Close()
	if stands, is := r.corrected(); is {
		return r.retract(v, max(stands, v.First()), b) // nothing below was delivered
	}
	tip := v.Tip().Number
	if r.at.Trail.n > 0 {
		if stands, err := r.common(v); err != nil || stands == nil {
			return err
		} else if *stands != r.at.Height {
			return r.retract(v, *stands, b)
		}
	}
	next := r.at.Height
	if r.at.Passed == whole {
		next++
	}
	if next < v.First() {
		return fmt.Errorf("%w: its first block is %d", ErrLost, v.First())
	}
	weight := 0
	for range atOnce {
		height, found := next, true
		if next != r.at.Height || r.at.Passed == 0 { // the rest of a block is read whatever it has
			if height, found, err = r.filter.next(v, next); err != nil {
				return err
			}
		}
		if !found || height > tip {
			return r.skip(v, tip)
		}
		block, err := load(v, height)
		if err != nil {
			return err
		}
		if weight += block.weight(); r.emit(block, b, most) || weight > batchWeight {
			break
		}
		next = height + 1
	}
	b.More = true
	return nil
}

// skip goes behind the last block, whose events are delivered or not wanted.
func (r *Follower) skip(v *index.View, tip uint64) error {
	if r.at.Height > tip || r.at.Height == tip && r.at.Passed == whole {
		return nil
	}
	h, found, err := v.Block(tip)
	if err == nil && !found {
		err = errMissing(tip)
	}
	if err != nil {
		return err
	}
	at := Position{Height: tip, Passed: whole}
	if at.Trail, err = trailOf(v, &h); err == nil {
		r.at = at
	}
	return err
}

// common returns the height of the highest block of the position's trail that the chain
// has; nil if it cannot be known yet: the chain is below the position, and has nothing
// that contradicts it.
func (r *Follower) common(v *index.View) (*uint64, error) {
	tip, other := v.Tip().Number, false
	for i := range r.at.Trail.n {
		d, ok := distance(i, r.at.Height)
		height := r.at.Height - d
		if !ok || height < v.First() {
			break
		}
		if height > tip {
			continue
		}
		h, found, err := v.Block(height)
		if err == nil && !found {
			err = errMissing(height) // for a moment: the chain goes back
		}
		if err != nil {
			return nil, err
		}
		if r.at.Trail.has(i, &h.Hash) {
			if i > 0 && !other && r.at.Height > tip {
				return nil, nil
			}
			return &height, nil
		}
		other = true
	}
	if !other && r.at.Height > tip {
		return nil, nil
	}
	return nil, ErrLost
}

// retract takes back all above a block.
func (r *Follower) retract(v *index.View, height uint64, b *Batch) error {
	if height < v.First() {
		return fmt.Errorf("%w: its first block is %d", ErrLost, v.First())
	}
	h, found, err := v.Block(height)
	if err == nil && !found {
		err = errMissing(height)
	}
	if err != nil {
		return err
	}
	at := Position{Height: height, Passed: whole}
	if at.Trail, err = trailOf(v, &h); err != nil {
		return err
	}
	r.at = at
	b.Retracted, b.Stands, b.More = true, Head{height, h.Hash}, true
	return nil
}
