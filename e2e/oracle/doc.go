// Package oracle works out, slowly and plainly, what the data and metrics
// endpoints must answer about an EVM chain, from nothing but the raw JSON-RPC
// answers of a node, and compares it with what a server answers. It shares no code
// with the product.
//
// [Fetch] reads a whole chain up to a height. A [Checker] walks all pages of a
// list at the server and holds them against the list that the chain gives.
// [NewMetrics] returns the series of one chain, or of several together.
package oracle
