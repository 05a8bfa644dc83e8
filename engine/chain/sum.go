package chain

import (
	"math"
	"math/bits"
)

// AddSaturated returns the sum of two numbers, or the highest one if it is more than that.
// Sums of weights and amounts that others choose must not wrap: one that begins at 0 again
// looks like little.
func AddSaturated(a, b uint64) uint64 {
	if sum, over := bits.Add64(a, b, 0); over == 0 {
		return sum
	}
	return math.MaxUint64
}
