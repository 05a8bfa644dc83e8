package door

import (
	"quorate/engine/chain"
	"quorate/httpapi/openapi"
)

// SetID reads an ID, in CB58 or hex, and returns what is wrong with it.
func SetID(to *chain.ID, v []byte) string {
	id, err := chain.ParseIDHexOrCB58(string(v))
	if err != nil {
		return "must be an ID, 32 bytes in CB58 or hex, not " + Excerpt(v)
	}
	*to = id
	return ""
}

// SetNode reads a node ID, and returns what is wrong with it.
func SetNode(to *chain.NodeID, v []byte) string {
	id, err := chain.ParseNodeID(string(v))
	if err != nil {
		return "must be a node ID, NodeID- and 20 bytes in CB58, not " + Excerpt(v)
	}
	*to = id
	return ""
}

// IDLike is the schema of what SetID reads, NodeLike that of what SetNode reads.
func IDLike() *openapi.Schema {
	return TextLike("^([1-9A-HJ-NP-Za-km-z]{33,51}|0x[0-9a-fA-F]{64})$", "2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5")
}

func NodeLike() *openapi.Schema {
	return TextLike("^NodeID-[1-9A-HJ-NP-Za-km-z]{20,40}$", "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg")
}
