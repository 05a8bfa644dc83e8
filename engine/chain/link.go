package chain

// Head names an accepted block of a chain of any kind.
type Head struct {
	Height    uint64
	ID        ID
	TimeMilli uint64 // Unix milliseconds, by the block's own clock
}

// Link is a block as a part of its chain, whatever its kind.
type Link struct {
	Head
	// Parent is the ID of the block before. Orphan: the block names none, so only
	// its height says where it belongs.
	Parent ID
	Orphan bool
	// Txs is the number of transactions.
	Txs int
}
