// Package archive keeps the blocks of one chain in files: the only copy of the
// chain that was read from a node. Every row of the index follows from it, so a
// changed rule, a new table or a damaged database asks no node again.
//
// The package knows nothing of what a block holds: a block is a height, an ID, its
// parent's ID and bytes in the codec of its [Kind].
//
// # Words
//
//   - A bundle is up to 1 MiB of consecutive blocks, or of notes, packed with zstd
//     behind a header with heights, IDs and checksums. It means the same wherever it
//     lies: in a file, a backup, an object store or a log.
//   - A unit is what is packed and unpacked at once: one bundle, or all bundles of a
//     block that needs several.
//   - A note is what was learned beside the blocks, for example the trace of a block
//     that came late, a token's name, or a block as it is of which something false was
//     archived. Notes are kept in the order in which they were learned.
//   - A segment is a file of consecutive blocks. All but the newest are sealed: they
//     end with an index of heights and never change. The newest is a journal.
//   - A journal is a file that only grows, a record after the other; see below.
//   - Damage is a range of heights that cannot be read as it was written.
//
// # Corrections and repairs
//
// What was archived and is false is corrected by a note: a reader of the blocks and the
// notes has all that is true, and nothing that was told is changed without a trace.
// [Archive.Replace] is for repairs of this copy alone. It puts the same blocks in their
// place, as their IDs show, with bytes that this copy lacks: those that were damaged, the
// header of a proposer that no node had when the block came, or what an older release could
// not read in it. That makes nothing false of what was told, every copy is repaired for
// itself, and it may concern all blocks of a chain, for which notes are not made.
//
// # Files
//
// All numbers are big-endian. crc is CRC-32C, sum is xxHash64 of what is packed.
//
//	NNN.seg    sealed segment; NNN is the first height, 20 digits
//	             head
//	             unit ...
//	             index: 16 bytes for each unit: first height 8, offset 8
//	             foot 152: first 8, last 8, offset of the index 8, units 4, zero 4,
//	               ID of the first block 32, ID of the last 32, parent of the first 32,
//	               sum of the index 8, magic 8, zero 4, crc of the foot 4
//	NNN.live   journal of blocks: the newest segment
//	NNN.notes  journal of notes; NNN counts up
//	*.tmp      a file that was not finished; removed when the archive is opened
//
//	head 32    magic 8, version 2, kind 1, zero 1, first height 8, zero 8, crc 4
//	record     magic 4, length 4, synced 8, crc of these 4, and that many bytes: a unit.
//	           A record of 44 bytes says that the journal was closed: last height 8, its
//	           ID 32, crc of these 4; of notes zero.
//	bundle     see header.go
//
// # Crashes
//
// A journal is written and synced once for each call of Append. Each record says in
// "synced" how long the file was when the call began: so much is known to be on disk.
// When a journal is opened, a record that is not whole is a torn tail, and cut off,
// if no later call can have been acknowledged; it is damage otherwise. All other
// changes write a new file, sync it, give it its name and sync the folder, in an
// order in which each prefix leaves an archive that opens with all that was
// acknowledged.
package archive
