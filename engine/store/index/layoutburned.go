package index

// Tables of the primary network's chains: what transactions burn.
const (
	// PrimaryBurned has what transactions have burned of each asset since the first block.
	//
	//	sort key: ID of the asset
	//	value:    u64 day | u64 amount
	PrimaryBurned = 0x75

	// PrimaryBurnedDays has the same after the last block of each day that has burned some.
	//
	//	sort key: ID of the asset | u64 day
	//	value:    u64 amount
	PrimaryBurnedDays = 0x76
)
