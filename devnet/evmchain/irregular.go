package evmchain

// Irregular times come in groups of blocks, each with a pattern of its own. Now
// and then a stretch of groups is over early, and nothing happens for the rest of
// its time.
const (
	groupSize    = 16
	stretch      = 16 * groupSize // blocks
	squeezeEvery = 4              // stretches
	squeezeBy    = 64
	dayMilli     = 24 * 60 * 60 * 1000
)

// irregularTimeOf is timeOf for a block of the history with [Config.IrregularTimes].
// Stretches, and the groups within them, begin when they would if blocks were
// evenly spaced. No block leaves the time of its group, so times never fall.
func (c *Config) irregularTimeOf(n uint64) uint64 {
	interval := uint64(c.HistoryInterval.Milliseconds()) // positive, as validate says
	first := uint64(c.End.UnixMilli()) - c.Blocks*interval
	micro := interval * 1000 // between two blocks
	s, g, k := n/stretch, n%stretch/groupSize, n%groupSize
	if s%squeezeEvery == squeezeEvery-1 {
		micro /= squeezeBy
	}
	from := first + s*stretch*interval + g*groupSize*micro/1000
	to := first + s*stretch*interval + (g+1)*groupSize*micro/1000
	at := from + k*micro/1000
	switch mix(n/groupSize+c.EVMChainID) % 6 {
	case 0: // all at once
		at = from
	case 1: // in pairs
		at = from + (k-k%2)*micro/1000
	case 2: // a millisecond before midnight, at it, and soon after
		if midnight := (from/dayMilli + 1) * dayMilli; midnight+groupSize < to {
			at = midnight - 1 + k/4
		}
	case 3: // milliseconds apart, at the end
		if to-from > groupSize {
			at = to - groupSize + k
		}
	case 4: // several within each second
		if burst := uint64(burstStep.Milliseconds()); to-from > groupSize*burst { // not negative
			at = from + k*burst
		}
	}
	return min(at, first+c.Blocks*interval)
}
