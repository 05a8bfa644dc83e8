package aggregator

import (
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// Error codes that every handler of signature requests has (ACP-118 and the
// application protocol below it).
const (
	codeNoHandler    = -2 // the chain's VM does not sign
	codeNotValidator = -3 // the validator answers only to validators
	codeThrottled    = -4
)

// platformSettle is how long the P-Chain's refusals count as too early at least. When
// its last block was accepted is known by asking a node now and then: the block that
// makes validators sign can be newer than the last look, and some of them be behind.
const platformSettle = 600 * time.Millisecond

// Error codes of an EVM chain that executes blocks after it accepted them. Its other
// codes are 3, not known: false, or its block is not executed yet; and 4, of a message
// that is a block's hash: false, or not accepted yet.
// Source: avalanchego v1.15.0, vms/saevm/cchain/warp/verifier.go.
const (
	codeLaterStorage     = 1
	codeLaterUnparseable = 2
)

// worth returns how certain a refusal of msg with code is. later reports whether the
// source chain executes blocks after it accepted them.
//
// Other EVM chains use one code for what they cannot parse, do not know and have not
// accepted yet, so nothing is certain before the block is executed. The P-Chain's codes
// tell what is wrong with the message itself, which is certain at once, from
// what contradicts the state, which may be a moment behind.
func worth(msg *warp.Unsigned, code int32, later bool) certainty {
	switch {
	case code == codeNoHandler, code == codeNotValidator:
		return certain
	case code == codeThrottled:
		return passing
	case msg.SourceChainID == chain.PlatformChainID:
		switch code {
		case 1, 2, 3, 4, // not an addressed call that the P-Chain signs
			5, 8, 9, 13, // justification: unparsable, of the wrong type, no subnet ID, no registration
			7, 10, // another conversion or validation than the one justified
			15: // a nonce that no validator can have
			return certain
		}
	case later && code == codeLaterStorage:
		return passing
	case later && code == codeLaterUnparseable:
		return certain
	}
	return whenSettled
}
