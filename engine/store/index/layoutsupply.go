package index

// Tables of the primary network's chains: what the supply of an asset follows from.
const (
	// PrimaryLocked has the sums of outputs that are not spent, or are staked, by the time
	// at which their lock ends. Locks that have ended stay until the outputs are spent. The
	// list of an asset is live: see PrimaryTrees.
	//
	//	sort key: ID of the asset | u64 time of the lock's end, Unix seconds
	//	value:    u64 amount
	PrimaryLocked = 0x77

	// PlatformRewarded has what was paid as rewards since the first block.
	//
	//	sort key: ID of the asset
	//	value:    u64 amount
	PlatformRewarded = 0x78
)
