// Package backup copies what cannot be had again from a data folder, also while a
// server uses it, and puts it into another one.
//
// Copied are the archives of all chains, the kept results, the key of page tokens,
// names, the last validator sets, geneses, and the server's identity if it is asked for. The
// index is not: it follows from the archives. [Clone] copies it too, of a folder at rest.
//
// Files of an archive never change, or only grow, so they are copied from
// the folder itself: of one that grows as much as was acknowledged. The results
// database belongs to the process that has it open, which is asked for them.
//
// # In a folder
//
//	MANIFEST.json      which files the backup has, with sizes and SHA-256, and its own SHA-256
//	files/NAME.SUM     a file; SUM are the first 16 digits of its SHA-256
//
// A backup into a folder that has one copies only what has changed. The manifest is
// replaced last, in one step: whatever ends a backup early leaves the one before it
// whole. Files that no manifest names are removed then.
//
// # As a stream
//
// A tar file with the same files under their own names, and the manifest at the end.
package backup
