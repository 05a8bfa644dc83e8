// Package feed is the head of chains as several servers share it: a bounded log of their
// newest blocks, which the first one to have a block fetched appends, so that the others
// need not. What the log lacks, or all of it when it is away, comes from elsewhere: it is a
// cache of the chain, and never the truth.
//
// # Records
//
// A subject of the log is one chain's blocks, or one chain's notes, or facts of a network. A
// record is, with numbers big-endian:
//
//	 0  magic 3, version 1
//	 4  kind 1, kind of the chain's blocks 1, length of the writer's name 1, zero 1
//	 8  number of the network 4
//	12  blockchain ID 32
//	44  height of the block that comes next 8, ID of the one before it 32
//	84  length of the data 4
//	88  name of the writer, data, xxHash64 of all before 8
//
// The data of blocks and of notes are units of [archive], with what nodes computed. The next
// block of a record of blocks is the first one in it; of notes it is the one behind the last
// block that their writer had, and whoever applies them has that one, too.
//
// # Why there is no leader
//
// An append says behind which record it belongs, and is refused if there is another one by
// then. Of two servers that have fetched a block at the same time one is refused, reads what
// the other has appended, and goes on with that: nothing else is needed for the log to have
// each height once. That they seldom do so is a matter of patience: who wrote the last record
// fetches at once, others wait a moment for it to do so; see [Tail.Patience].
//
// Positions are those of the log and mean nothing when it was made again: who stores one
// stores the sum of the record there with it, and a chain goes on by heights and IDs.
package feed
