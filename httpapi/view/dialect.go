// Package view writes the bodies of answers about EVM chains. Encoders append
// to a buffer, without reflection, and know the two forms of the answers: that
// of the documented contract and that which the official SDKs can read.
//
// # Dialects
//
// The contract and the SDKs differ where no one answer satisfies both:
//
//   - value of a price is a string in the contract, a number for the SDKs;
//   - an unknown tokenReputation is left out in the contract's form and null for
//     the SDKs, which demand the member;
//   - sortKey is an integer in the contract, a string for the SDKs;
//   - name, symbol, decimals and tokenUri that are not known, or that a token does not
//     have, are left out in the contract's form; the SDKs demand them, so there they
//     are "" and 0;
//   - so are name, symbol and denomination of an asset of the primary network;
//   - blockTimestampMilliseconds, which one SDK reads, is only in the SDKs' form.
//
// All else is the same in both. [Choose] decides, and nothing else does.
//
// A browser does not say who asks: the SDKs cannot set the user agent there. A page
// of another origin that shows no sign of either form gets one that both sides can
// read: prices and values are left out, which both permit, and so is
// blockTimestampMilliseconds. Some members can not be left out: those of tokens that the SDKs demand. An unknown
// tokenReputation is null: the SDK that gives no sign of itself demands it. sortKey
// is an integer, as the contract has it: the only SDK that asks for it says so.
//
// # Choices where the contract leaves room
//
//   - baseFeePerGas and airdropAmount in genesis data are null in every form: the
//     contract has them in hex, one of the SDKs as numbers.
//   - What is not known is left out. Where the SDKs demand a member it is empty in
//     every form: metadata {"indexStatus":"UNINDEXED"}; baseFeePerGas "0".
//   - A balance of an ERC-20 token that is not the sum of its transfers has two more
//     members: balanceSource is "contract" if it is what balanceOf said, after the
//     block balanceBlockNumber, or "transfers" if it is the sum of transfers although
//     they are known not to add up, since no node could be asked. Holders of such
//     tokens (endpoint 18) are those that balanceOf was asked for.
//   - A transaction that failed has two more members in its details, failureReason and
//     revertData, if its trace is known and was made since they are kept.
//   - The receiver of a transaction that creates a contract is the contract made.
//   - methodHash is "" unless a contract was called with at least four bytes.
//   - txStatus is "1" for a success and "0" for a failure.
//   - Transfers of a transaction are always there, as empty lists if there are
//     none; internalTransactions are left out on chains that are not traced.
//   - internalTxType of a self-destruction is UNKNOWN: there is no name for it. So is, where
//     the SDKs ask, txType of the P-Chain's transactions since Helicon: they know no others.
package view

import (
	"bytes"
	"fmt"
)

// Dialect is a form of answers.
type Dialect uint8

const (
	// Contract is the documented form.
	Contract Dialect = iota
	// SDK is the form that the official SDKs can read.
	SDK
	// Either is the form that both can read.
	Either
)

// Mode says which dialect requests get.
type Mode uint8

const (
	// Auto: the SDKs get their form and all others that of the contract.
	Auto Mode = iota
	// AlwaysContract: all get the contract's form.
	AlwaysContract
	// AlwaysSDK: all get the SDKs' form.
	AlwaysSDK
)

// ParseMode reads auto, contract or sdk; the empty string is auto.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "", "auto":
		return Auto, nil
	case "contract":
		return AlwaysContract, nil
	case "sdk":
		return AlwaysSDK, nil
	}
	return Auto, fmt.Errorf("dialect %q is unknown; there are auto, contract and sdk", s)
}

// sdkAgent begins the user agent of both official SDKs.
var sdkAgent = []byte("speakeasy-sdk")

// Signs are what a request shows of its client.
type Signs struct {
	UserAgent []byte
	// GlacierKey is set if it carries an x-glacier-api-key, AppComponent if it carries
	// an x-app-component: only the SDKs send them.
	GlacierKey, AppComponent bool
	// Page is set if it comes from a web page of another origin.
	Page bool
}

// Choose returns the dialect of a request.
func Choose(m Mode, s Signs) Dialect {
	switch {
	case m == AlwaysSDK:
		return SDK
	case m == AlwaysContract:
		return Contract
	case s.GlacierKey || s.AppComponent || bytes.HasPrefix(s.UserAgent, sdkAgent):
		return SDK
	case s.Page:
		return Either
	}
	return Contract
}
