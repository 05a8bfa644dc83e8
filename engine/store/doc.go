// Package store is what the two databases share: opening Badger and explaining
// its failures, closing it in bounded time, and checking that it works. It and the
// packages below it are the only ones that know Badger, and show the rest of the
// program a few plain operations.
//
// There is one database per kind of durability, so that a large commit of one
// never delays the other:
//
//   - engine/store/results: signed messages that were collected once and are kept.
//     A commit survives the end of the process, also by SIGKILL, but not the loss of
//     the host: a lost result is merely collected again.
//   - engine/store/index: the index of chains. A commit is on disk when it returns.
//     What the rows mean is the business of engine/index; their layout is there, in
//     one block.
//
// No rule depends on a delete: what ends, ends because its value says so. But for
// blocks that were never accepted, whose rows are removed.
package store
