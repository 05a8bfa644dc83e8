// Package rollup makes the metrics of an EVM chain out of its blocks, in time
// buckets: exact, deterministic, without I/O. Those of the primary network's chains are
// [Levels] in the same buckets. Blocks are given in their order;
// what is kept is the open bucket of each interval, a few running totals, and
// for each address the hours in which it was last seen.
//
// # Rules
//
// The metrics' meanings are those of the documented API. What it leaves open:
//
//   - Buckets are hours, days, ISO weeks, which begin on Mondays, and months, in
//     UTC. A block belongs to the bucket of its time in whole seconds, as the API
//     shows it: what is served can be recomputed from what is served. The genesis
//     block belongs to no bucket: its time is often 1970.
//   - Addresses are those in from and to of transactions, failed ones too, and of
//     the logs of token transfers. The zero address counts when a log names it.
//     The contract made by a transaction does not count as its receiver. Distinct
//     addresses are exact for each bucket of each interval: the blocks of a chain
//     are ordered, so an address counts when it was not seen since the beginning
//     of the bucket.
//   - Contracts are the creations that succeeded, by transactions and by CREATE
//     and CREATE2 in their traces; deployers are who made those calls. What is
//     called CREATE3 is a CREATE2 of a proxy and a CREATE by it, and counts as
//     these two. They are unknown once a block with transactions was not traced.
//     CumulativeContracts reaches to the beginning of the day, the other
//     cumulative metrics to its end.
//   - Time starts at the genesis block if that is of the same day as the first
//     block, or else at the first block. Blocks of one second count as one. What
//     is in the blocks of the second in which time starts counts in no rate.
//   - AvgTps and AvgGps divide by the time from the last block before the day, or
//     from where time starts, to the last block of the day. Where no time lies
//     between them they are 0.
//   - MaxTps and MaxGps divide the sums over the blocks of one second by the time
//     since the block before them.
//   - AvgGasPrice is the mean over transactions, not over gas. Prices and fees are
//     in wei.
//   - A chain has a point in each bucket from its first block's to its last
//     block's. Buckets without blocks have 0, and the last totals.
//   - A window that ends now begins with a full hour, and is like one bucket with all
//     blocks from there on. Who was last seen in one of its hours is in it once.
//   - Levels, such as stake, the number of validators or what was burned so far, are in
//     each bucket what they were after its last block, and in one without blocks as in the
//     one before. What was burned in a bucket is what they grew by.
//   - Over several chains, counts, totals, gas, fees, AvgTps and AvgGps are added
//     up, also those of distinct addresses; of maxima the highest counts, and
//     AvgGasPrice is the mean over all transactions.
//   - Sums that exceed 2^256-1, of prices no chain has, stay there, as does at
//     2^64-1 the gas of blocks of one second. Hours that a stamp has no room
//     for, from December 8 3883 on, are one bucket with the last that it has.
package rollup
