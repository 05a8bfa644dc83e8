// Package rpc serves what lies below /ext, the node's own interfaces, which are
// not part of the data API: administration and health as JSON-RPC 2.0, health
// also by GET, metrics, and chain RPC and the info API passed through to the followed node.
//
// Answers are those of an Avalanche node, so that its clients and tools work.
// Paths that are not known are answered as such a node answers them. Where this
// package is stricter on purpose, the code says so: aliases are matched
// literally and made all or nothing, pages of other origins cannot call the
// administration, and bodies and echoes are bounded. Which pages may read answers is
// up to the HTTP server, as for all that it serves.
package rpc
