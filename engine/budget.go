package engine

import "quorate/engine/metric"

// Budget is how the memory for caches and buffers is shared out, in bytes.
type Budget struct {
	Blocks   int64 // blocks of the index database that were read
	Tables   int64 // one table of the index database in memory; there are up to six
	Rows     int64 // what was read of transactions, of each chain
	Balances int64 // balances and stamps, of each chain
	Window   int64 // blocks that were fetched and not indexed yet, of each chain
	Results  int64 // signed messages, of each network
	Parts    int64 // single signatures, of each network
	Answers  int64 // bodies of answers
	Points   int64 // points of metrics
}

// MinMemory is the least that caches and buffers can do with, in bytes.
const MinMemory = 256 << 20

// tablesHeld is the number of tables in memory that the index database holds at most.
const tablesHeld = 6

// NewBudget shares total bytes out. What more memory does not make faster is
// bounded: a cache that grows for hours hides what else does.
func NewBudget(total int64, chains, networks int) Budget {
	of := func(parts, least, most int64) int64 {
		return min(max(total*parts/1000, least), most)
	}
	each := func(n int, parts, least, most int64) int64 { return of(max(parts/int64(max(n, 1)), 1), least, most) }
	return Budget{
		Blocks:   of(250, 8<<20, 512<<20),
		Tables:   of(50, 8<<20, 64<<20),
		Rows:     each(chains, 60, 1<<20, 64<<20),
		Balances: each(chains, 40, 1<<20, 40<<20),
		Window:   each(chains, 100, 4<<20, 512<<20),
		Results:  each(networks, 125, 4<<20, 128<<20),
		Parts:    each(networks, 60, 2<<20, 64<<20),
		Answers:  of(30, 2<<20, 32<<20),
		Points:   of(30, 2<<20, 32<<20),
	}
}

// Total returns the sum, for so many chains and networks.
func (b *Budget) Total(chains, networks int) int64 {
	return b.Blocks + tablesHeld*b.Tables + int64(chains)*(b.Rows+b.Balances+b.Window) + int64(networks)*(b.Results+b.Parts) + b.Answers + b.Points
}

// metrics shows the bounds.
func (b *Budget) metrics(set *metric.Set) {
	set.Gauges("quorate_cache_limit_bytes", "What a cache or buffer holds at most; rows, balances and window of each chain, results and parts of each network.",
		[]string{"cache"}, func(emit func(float64, ...string)) {
			for _, c := range []struct {
				name  string
				bytes int64
			}{
				{"database_blocks", b.Blocks}, {"database_tables", tablesHeld * b.Tables}, {"rows", b.Rows}, {"balances", b.Balances},
				{"window", b.Window}, {"results", b.Results}, {"parts", b.Parts}, {"answers", b.Answers}, {"points", b.Points},
			} {
				emit(float64(c.bytes), c.name)
			}
		})
}
