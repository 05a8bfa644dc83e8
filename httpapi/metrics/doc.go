// Package metrics answers about figures of EVM chains by time: points of a metric, of one
// chain or of several together, and what it is over windows that end now.
//
// # Metrics
//
// The points of a metric, GET /v2/chains/{chainId}/metrics/{metric}, are what
// package [quorate/rollup] makes of blocks, of which it tells the rules. A chain
// is named as above; total, mainnet and testnet are all chains, those of the main
// network and all others, and hide chains of these names. fuji is no group. Where
// the contract leaves room:
//
//   - Points are newest first. There is one for each bucket from that of the first
//     block after genesis to that of the last block. timeInterval is by default day.
//   - startTimestamp is inclusive and endTimestamp exclusive; a frame without
//     points has an empty list, also when it ends before it starts.
//   - An unknown metric is a 400 that names all of them: it is a mistyped value
//     rather than a wrong address. So is an interval that a metric does not have.
//   - A metric that needs traces is a 404 for a chain whose blocks were not all
//     traced. Groups leave such chains out, and are a 404 when none is left.
//   - The points of a group go from the first bucket of any of its chains to the
//     last of any. One without chains, or whose chains have no block yet, has none.
//   - A page token holds the bucket of the last point given: pages go on from
//     there, and points that come meanwhile are before it.
//   - A chain's node is not needed. While the metrics of a chain are made again, it
//     and its groups are a 503 whose message says how far they are.
//
// GET /v2/chains/{chainId}/rollingWindowMetrics/{metric} has all metrics but the
// cumulative ones, over the last hour, day, 7, 30, 90 and 365 days and over all time. A
// window ends now and begins with the full hour in which the time so long ago lies, so
// that it has all of that time, and that distinct addresses are exact; since says when.
// Rates are those of a day: divided by the time from the last block before the window to
// the last one in it. What needs blocks below the first that is indexed is left out.
//
// GET /v1/avg_tps/{chainId} gives avgTps by day, in pages of 100 points. Page
// tokens are UUIDs, good for 24 hours. lastRun is when a block was indexed last
// or there was none to index, of a group the latest. The message of its errors is
// a list of one, wherever they are made.
//
// What was answered is kept as text, up to 32 MiB, in chunks that are made again
// only as far as further blocks have changed them.
package metrics
