package primary

import (
	"fmt"
	"math"
	"math/bits"

	store "quorate/engine/store/index"
)

// heightFrom returns the height of the first block at or after a time, and one above all
// if there is none. The times of a chain's blocks never decrease, so they are searched
// for. Those of vertices are what a node said of each, and have rows of their own.
func (v *View) heightFrom(time uint64) (uint64, error) {
	if v.kind == XVertices {
		return v.vertexFrom(time)
	}
	first := v.cur.first
	if first == 1 { // rows may have the genesis, whose block nobody has sent
		_, found, err := v.timeAt(0)
		if err != nil {
			return 0, err
		}
		if found {
			first = 0
		}
	}
	return firstFrom(first, v.cur.head.Height, time, func(height uint64) (uint64, error) {
		t, found, err := v.timeAt(height)
		if err == nil && !found {
			err = fmt.Errorf("%w: block %d is missing", ErrRow, height)
		}
		return t, err
	})
}

// timeAt returns the time of a block.
func (v *View) timeAt(height uint64) (time uint64, found bool, err error) {
	v.read, v.seeks = v.read+1, v.seeks+1
	found, err = v.snap.Get(v.Key(store.PrimaryBlocks).U64(height), func(row []byte) (err error) {
		time, err = blockTime(height, row)
		return err
	})
	return time, found, err
}

// vertexFrom returns the place of the first of the vertices at or after a time in the
// order of their times, and one above all if there is none.
func (v *View) vertexFrom(time uint64) (uint64, error) {
	prefix := v.Key(store.XChainVertexTimes)
	it, err := v.Rows(prefix, false)
	if err != nil {
		return 0, err
	}
	defer it.Close()
	it.Seek(prefix.Clone().U64(time))
	if !it.Valid() {
		return math.MaxUint64, nil
	}
	return heightOf(it.Key()[LeadLen+8:])
}

// spareReads is how many more blocks than by halving alone a search may read. Blocks that
// come at a steady rate take a third of that; the rest is for histories that do not, where
// what was guessed wrong must not add up.
const spareReads = 4

// firstFrom returns the first height from first to last whose time, as at returns it, is
// not before time; math.MaxUint64 if there is none. Whatever the times are, it asks for
// no more than 2 + spareReads + log2 of how many there are.
//
// It guesses by the times at both ends of what is left. Where guesses fall short of the
// same end again and again, that end counts for half as much each time (the Illinois
// method). No guess may leave more than the reads that are left can halve.
func firstFrom(first, last, time uint64, at func(height uint64) (uint64, error)) (uint64, error) {
	late, err := at(last)
	if err != nil || late < time {
		return math.MaxUint64, err
	}
	early, err := at(first)
	if err != nil || early >= time {
		return first, err
	}
	below, above := first, last    // early, the time at below, is before time, and late is not
	rose, fell := uint(0), uint(0) // how often in a row each end has moved
	for left := bits.Len64(above-below-1) + spareReads; above-below > 1; left-- {
		width := above - below
		back, ahead := (time-early)>>rest(fell), (late-time)>>rest(rose)
		hi, lo := bits.Mul64(width, back)
		guess, _ := bits.Div64(hi, lo, max(back+ahead, back+1))
		guess = min(max(guess, 1), width-1)
		if reach := uint64(1) << min(left-1, 63); reach < width {
			guess = min(max(guess, width-reach), reach)
		}
		t, err := at(below + guess)
		switch {
		case err != nil:
			return 0, err
		case t < time:
			below, early, rose, fell = below+guess, t, rose+1, 0
		default:
			above, late, rose, fell = below+guess, t, 0, fell+1
		}
	}
	return above, nil
}

// rest is how often the end is halved that stood still while the other moved.
func rest(moved uint) uint { return max(moved, 1) - 1 }
