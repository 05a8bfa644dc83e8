package engine

import (
	"quorate/engine/folder"
	"quorate/engine/metric"
)

// Budget is how the memory for caches and buffers is shared out, in bytes.
type Budget struct {
	Blocks      int64 // blocks of the index database that were read, of compressed tables
	Tables      int64 // one table of the index database in memory; there are up to six
	Compactions int64 // tables that the index database's compactions make
	Balances    int64 // balances and stamps, of each chain
	Window      int64 // blocks that were fetched and not indexed yet, of each chain
	Primary     int64 // the same, of each chain of a primary network: their blocks are small
	Results     int64 // signed messages, of each network
	Parts       int64 // single signatures, of each network
	Answers     int64 // bodies of answers
	Nodes       int64 // answers of followed nodes that are read or decoded
	Passed      int64 // those that are passed on to clients
	Points      int64 // points of metrics
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
		Blocks:      of(80, 8<<20, 512<<20),
		Tables:      of(40, 8<<20, 64<<20),
		Compactions: of(255, 60<<20, max(512<<20, total/8)), // larger tables for what may become large
		Balances:    each(chains, 50, 1<<20, 108<<20),
		Window:      each(chains, 50, 3<<20, 512<<20),
		Primary:     each(networks*len(folder.PrimaryChains), 32, 1<<20, 32<<20),
		Results:     each(networks, 50, 4<<20, 128<<20),
		Parts:       each(networks, 30, 2<<20, 64<<20),
		Answers:     of(30, 2<<20, 32<<20),
		Points:      of(30, 2<<20, 32<<20),
		Nodes:       of(100, 25<<20, 512<<20), // nodes cut answers off at 25 MB
		Passed:      of(40, 10<<20, 256<<20),
	}
}

// Total returns the sum, for so many chains and networks.
func (b *Budget) Total(chains, networks int) (sum int64) {
	b.Each(chains, networks, func(_ string, bytes int64) { sum += bytes })
	return sum
}

// Each calls f with the bound of each kind of cache, of so many chains and networks together.
func (b *Budget) Each(chains, networks int, f func(name string, bytes int64)) {
	f("database_blocks", b.Blocks)
	f("database_tables", tablesHeld*b.Tables)
	f("compactions", b.Compactions)
	f("balances", int64(chains)*b.Balances)
	f("window", int64(chains)*b.Window+int64(networks*len(folder.PrimaryChains))*b.Primary)
	f("results", int64(networks)*b.Results)
	f("parts", int64(networks)*b.Parts)
	f("answers", b.Answers)
	f("points", b.Points)
	f("nodes", b.Nodes)
	f("passed", b.Passed)
}

// cacheMetrics shows the bounds of caches, and what they hold. What the HTTP server's
// own ones do it adds itself.
func (e *Engine) cacheMetrics(set *metric.Set) {
	set.CounterFunc("quorate_source_cut_off_total", "Answers of followed nodes that were cut off because all together left no room for them.", func() float64 {
		_, cut := e.answers.Held()
		_, passed := e.passed.Held()
		return float64(cut + passed)
	})
	set.CounterFunc("quorate_background_rest_seconds_total", "Time that background work has paused in favour of requests.",
		func() float64 { return e.cfg.Spare.Rested().Seconds() })
	set.Gauges("quorate_cache_limit_bytes", "What a cache or buffer holds at most, that of all chains and networks together.",
		[]string{"cache"}, func(emit func(float64, ...string)) {
			e.budget.Each(max(len(e.evms.All()), 1), max(len(e.networks.All()), 1), func(name string, bytes int64) { emit(float64(bytes), name) })
		})
	set.Gauges("quorate_cache_bytes", "What a cache or buffer holds, about.", []string{"cache"}, func(emit func(float64, ...string)) {
		if db := e.disk.index.Load(); db != nil {
			blocks, tables := db.Held()
			emit(float64(blocks), "database_blocks")
			emit(float64(tables), "database_tables")
		}
		var balances, window, results, parts int64
		for _, c := range e.evms.All() {
			balances, window = balances+c.Index().Remembered(), window+c.Held()
		}
		for _, n := range e.networks.All() {
			window += e.primaries.held(n.ID())
			r, p := n.Aggregator().Held()
			results, parts = results+int64(r), parts+int64(p)
		}
		emit(float64(balances), "balances")
		emit(float64(window), "window")
		emit(float64(results), "results")
		emit(float64(parts), "parts")
		nodes, _ := e.answers.Held()
		passed, _ := e.passed.Held()
		emit(float64(nodes), "nodes")
		emit(float64(passed), "passed")
	})
}
