package world

import "quorate/engine/chain/address"

// pAddress returns the P-Chain form of an address, as in P-local1….
func pAddress(a address.Address) string { return a.OnChain("P", address.Prefix(NetworkID)) }
