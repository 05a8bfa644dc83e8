// Package container reads the blocks of the P-, X- and C-Chain, and the X-Chain's
// vertices, from nodes.
//
// A node that keeps the Index API returns containers: blocks with the proposer's header
// around them, a thousand in a call. A node without it returns blocks of the P- and the
// X-Chain one by one, without headers, and no vertices; such blocks are called bare.
// What a node can do shows when it is asked: it is asked for its index first, and one
// that has none is asked again after a while. Blocks are taken bare only while no node
// has an index, or none of those that had one has answered for [Config.Patience]; with
// [Client.Headed] they can be completed later.
//
// No answer is believed. A block's ID is the hash of its bytes, blocks follow one
// another by the IDs of their parents, and headers by theirs, the last of a range being
// signed by its proposer. An index may be incomplete, if the node kept none for a time:
// where a block lies in it is looked for by height then.
//
// The P- and the X-Chain have no subscription, so the last height is asked for twice a
// second, by a call that costs a node next to nothing.
package container
