// Package reply has what all rooms of data share: the base of a request, with its query, its
// page token and the writer of its answer; the answers that are kept; how bodies are packed, in
// which dialect they are, and what their headers say of the chains that they are about. It knows
// neither the routes nor what is behind them.
//
// # A chain that is still indexed
//
// While the index of a chain is empty, or so far behind its node that it shows the
// past, the chain is UNAVAILABLE in the list of chains, lastRun of endpoint 19 is the
// time of its last block, and answers about it, errors too, carry X-Indexed-Height and
// X-Chain-Height, as far as they are known. What is there is served all the same.
//
// A request with X-Min-Height is answered of no older state than that height: a server
// whose index has not come so far waits up to 250 ms and then answers 503 with
// Retry-After. The same is done about blocks that a page token proves to exist or that
// a node has told of, and X-Indexed-Height is always there. In a fleet all requests are
// answered so.
//
// # Gaps
//
// What is missing of a chain is a further member of it in the list of chains, left
// out if nothing is: gaps, a list of {"kind","fromBlock","toBlock","reason"}. kind is
// trace (a block whose trace no node could make yet), untraced (no node has the
// debug API), unverified (blocks that could not be checked by their hash), doubtful
// (their results, calls or balances may be false, and other nodes are asked), header (no node
// had the proposers' headers of blocks of the P- or the X-Chain yet), unreadable (the index of
// the P- or the X-Chain stands before a block of a form that this release does not know;
// it comes first, and behind the range as parameters time, of the block, and needs, what a
// release must know that reads it, as far as they are known), below-start (the
// index begins above), metrics (the chain went back some blocks: metrics from the hour,
// day, week and month of the first one on are made again, and a 503 until then), rewards
// (the index of the P-Chain was made by the rates of before Helicon: rewards and the supply
// are too high from the first block on, until it is made again),
// unsummed (older blocks that came later: lists show them, token balances and
// cumulative metrics lack them until the first block of the chain is there), or, where
// no rows are missing, archive-damaged, archive-pruned and archive-filling. Answers
// about a chain of which rows are missing or not certain carry X-Chain-Gaps, for example
// "trace 4711-4711, unverified 5000-5300" or
// "unreadable 4711-4800; time=2026-11-27T13:12:01Z; needs=\"avalanchego 1.16.0\"".
//
// # Bodies
//
// Bodies from Config.CompressMin bytes on are sent with zstd or gzip to clients
// that accept them.
package reply
