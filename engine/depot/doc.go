// Package depot keeps the blocks of chains in object storage: in any store that speaks
// S3, or in a folder. Several servers put and take there, and none has to be believed.
//
// # Objects
//
//	v1/NETWORK/CHAIN/KIND/FIRST-SUM.span    the blocks from FIRST on up to the next border
//	v1/NETWORK/CHAIN/KIND/FIRST-SUM.notes   what was learned beside the blocks; FIRST is the lowest height in it
//
// Both are units of [archive], one after the other, as they lie in its files.
//
// NETWORK is the number of the network, CHAIN a blockchain ID, or P, X or C of the primary
// network, KIND one of evm, platform, avm, vertex and core. FIRST has 20 digits, so that a
// list has the order of heights, SUM are the first 32 of the SHA-256 of the object in hex.
//
// Borders follow from heights alone: a span of EVM blocks or of containers of the C-Chain
// ends before a multiple of 1,024, others before one of 8,192. A server that has a whole span
// puts it, unless one that begins there is in the list. Two servers that put at once make
// two objects, which never overwrite each other; that is why no lease and no conditional
// write is needed.
//
// # Why nothing here is believed
//
// What is taken is compared with the sum in its name, all its checksums are checked, and
// each block proves by its hash, and by those of its parents, that it is the chain's; see
// [Chain.Take]. What no hash covers, as calls and notes, is the word of who put it: a
// depot is to be writable by one's own servers alone.
package depot
