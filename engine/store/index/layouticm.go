package index

// The tables of interchain messages of EVM chains, with keys as those of layout.go.
const (
	// TableICMEvents has what the chain's messenger logged about interchain messages,
	// those that were sent from here and those that came here.
	//
	//	sort key: message ID | height | tx index | log index
	//	value:    event codec
	TableICMEvents = 0x39

	// TableICMLists lists the interchain messages: a row for each time that one was
	// sent or received.
	//
	//	sort key: list | ^height | ^tx index | ^log index
	//	          list: u8 0, or 1 | the other chain's ID, or 2 | addr
	//	value:    list codec
	TableICMLists = 0x3a

	// TableICMTotals counts the messages that were sent and received, from the first
	// block of the table on. They are cells.
	//
	//	sort key: u8 0 | messenger | ^height, or u8 1 | u8 kind | the other chain's ID | ^height
	//	value:    the messenger's highest nonce, big-endian without leading zeros, or uv number
	TableICMTotals = 0x3b
)
