// Package operation writes what clients ask for and do not wait for: exports of the
// transactions of addresses into files.
//
// An export is accepted with everything it needs pinned: the chains, the height and
// the hash of the last block of each, and the blocks of its dates. A worker reads the
// rows in short views of the index, at that height, and appends them to a file in
// chunks. After every few chunks the file is synced and the record of the operation,
// state and position in one entry of the database, is committed. So a process that is
// killed at any time goes on after the last commit: it cuts the file there and writes
// the same bytes again.
//
//	accepted   record {RUNNING}                                   no file
//	writing    record {RUNNING, position}, <id>.part              the file may be longer
//	whole      record {RUNNING, whole, size}, <id>.part           synced; not named yet
//	named      the same record, <id>.csv.gz                       a rename is atomic
//	completed  record {COMPLETED}, <id>.csv.gz
//	failed     record {FAILED}                                    no file
//
// Files of a folder that belong to no record, or to one that is over, are removed at
// the start.
//
// A chain that goes back below the pinned height, or has another block there, makes
// the export start again from the beginning, with the chain as it is then: a file
// never has rows of blocks that were taken back.
//
// The actor is [Exports.Run]: it owns the queue and starts at most [Config.Workers]
// workers. Background work rests in favour of requests, see package
// [quorate/engine/yield].
package operation
