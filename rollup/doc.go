// Package rollup makes the metrics of an EVM chain out of its blocks, in time
// buckets: exact, deterministic, without I/O. Blocks are given in their order;
// what is kept is the open bucket of each interval, a few running totals, and
// for each address the hours in which it was last seen.
//
// # Rules
//
// The metrics' meanings are those of the documented API. What it leaves open:
//
//   - Buckets are hours, days, ISO weeks, which begin on Mondays, and months, in
//     UTC. A block belongs to the bucket of its time, in milliseconds where the
//     chain has them. The genesis block belongs to none and is before no other:
//     its time is often 1970.
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
//   - AvgTps and AvgGps divide by the time from the last block before the day to
//     the last block of the day; on the first day of a chain from its first block.
//     Where no time lies between them they are 0.
//   - MaxTps and MaxGps take blocks with the same time together as one, since no
//     time is between them: their sums are divided by the time since the block
//     before all of them. The first block has none before it and gives no rate.
//   - AvgGasPrice is the mean over transactions, not over gas. Prices and fees are
//     in wei.
//   - A chain has a point in each bucket from its first block's to its last
//     block's. Buckets without blocks have 0, and the last totals.
//   - Over several chains, counts, totals, gas, fees, AvgTps and AvgGps are added
//     up, also those of distinct addresses; of maxima the highest counts, and
//     AvgGasPrice is the mean over all transactions.
//   - Sums that exceed 2^256-1, of prices no chain has, stay there, as does at
//     2^64-1 the gas of blocks with the same time. Hours that a stamp has no room
//     for, from December 8 3883 on, are one bucket with the last that it has.
package rollup
