// Package address holds the addresses of the P- and the X-Chain and their text
// form: Bech32 behind a prefix that names the network, and usually an alias of the
// chain before it, as in P-avax1…. An address is the RIPEMD-160 of the SHA-256 of a
// compressed secp256k1 key. Source: utils/formatting/address and
// utils/constants/network_ids.go of avalanchego v1.14.2.
//
// Reading is left to github.com/cosmos/btcutil, a copy of the package that
// avalanchego itself uses without the Bitcoin node that surrounds it there: one
// module that depends on nothing. Writing is in encode.go: answers are full of it.
package address

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cosmos/btcutil/bech32"
)

const (
	// Len is the length of an address.
	Len = 20
	// maxBech32 is the limit of BIP-173, maxAlias that of a blockchain's ID in CB58.
	maxBech32 = 90
	maxAlias  = 64
)

// Address names the holder of a key on the P- or the X-Chain.
type Address [Len]byte

// Errors of the text form.
var (
	// ErrForm: not an address at all, or its checksum is wrong.
	ErrForm = errors.New("not a Bech32 address")
	// ErrNetwork: the address of another network.
	ErrNetwork = errors.New("address of another network")
	// ErrChain: the address names a chain that has no such addresses.
	ErrChain = errors.New("address of another chain")
)

// prefixes names the networks that have a prefix of their own.
var prefixes = map[uint32]string{
	1: "avax", 2: "cascade", 3: "denali", 4: "everest", 5: "fuji", 10: "testing", 12345: "local",
}

// Prefix returns the prefix of a network's addresses; networks without one of their
// own share "custom".
func Prefix(networkID uint32) string {
	if p, ok := prefixes[networkID]; ok {
		return p
	}
	return "custom"
}

// Text returns the form without a chain, as in avax1….
func (a Address) Text(prefix string) string { return string(a.Append(nil, prefix)) }

// OnChain returns the form with a chain's alias, as in P-avax1….
func (a Address) OnChain(alias, prefix string) string { return alias + "-" + a.Text(prefix) }

// Text is an address as somebody wrote it.
type Text struct {
	Chain   string // alias or ID before the first hyphen; empty without one
	Prefix  string // lower case
	Address Address
}

// Parse reads either form. All capitals are allowed after the chain, as by BIP-173.
func Parse(s string) (Text, error) {
	var t Text
	rest := s
	if alias, after, ok := strings.Cut(s, "-"); ok {
		if alias == "" || len(alias) > maxAlias {
			return t, fmt.Errorf("%w: chain of %d characters", ErrForm, len(alias))
		}
		t.Chain, rest = alias, after
	}
	prefix, groups, err := bech32.Decode(rest, maxBech32)
	if err != nil {
		return Text{}, fmt.Errorf("%w: %w", ErrForm, err)
	}
	// 32 groups leave no bits over. avalanchego also takes 31, filled up with zeros,
	// which would give an address a second spelling.
	b, err := bech32.ConvertBits(groups, 5, 8, false)
	if err != nil || len(b) != Len {
		return Text{}, fmt.Errorf("%w: want %d bytes, got %d groups of 5 bits", ErrForm, Len, len(groups))
	}
	t.Prefix, t.Address = prefix, Address(b)
	return t, nil
}

// ParseOn reads an address of the given network. The chain may be left out;
// otherwise it must be one of aliases.
func ParseOn(s string, networkID uint32, aliases ...string) (Address, error) {
	t, err := Parse(s)
	if err != nil {
		return Address{}, err
	}
	if want := Prefix(networkID); t.Prefix != want {
		return Address{}, fmt.Errorf("%w: want prefix %s, got %s", ErrNetwork, want, t.Prefix)
	}
	if t.Chain == "" {
		return t.Address, nil
	}
	for _, alias := range aliases {
		if t.Chain == alias {
			return t.Address, nil
		}
	}
	return Address{}, fmt.Errorf("%w: %q", ErrChain, t.Chain)
}
