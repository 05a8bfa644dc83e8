package evmchain

import (
	"strings"

	"quorate/engine/chain/evm"
)

// standard is the token standard of a contract.
type standard uint8

const (
	noToken standard = 0
	erc20   standard = 20
	erc721  standard = 21
	erc1155 standard = 22
)

// The contracts that every chain has from its first block on, in the order of
// their creation.
const (
	cDollar     = iota // ERC-20 with 6 decimals behind a proxy
	cDollarCode        // the proxy's implementation
	cToken             // ERC-20 with 18 decimals
	cOld               // ERC-20 without decimals, name and symbol as bytes32
	cSpam              // ERC-20 that is sent to everybody
	cHostile           // ERC-20 whose name is an attack
	cTicket            // ERC-20 with 0 decimals
	cApes              // ERC-721
	cDeeds             // ERC-721 with other addresses of metadata
	cItems             // ERC-1155
	cFactory
	cDisperser
	cPool
	// What follows are tokens that careless readers get wrong.
	cWrapped // the native coin as ERC-20: Deposit and Withdrawal without a transfer
	cRouter  // wraps, forwards and unwraps
	cRebase  // ERC-20 whose balances change without a transfer
	cTaxed   // ERC-20 that keeps a part of what is transferred, with one event
	cPhantom // emits the events of an ERC-20 and holds nothing
	cRenamed // ERC-20 that changes name, symbol and decimals
	cWide    // ERC-20 with more decimals than there may be
	cReveal  // ERC-721 whose metadata move
	numContracts
)

// contract is what a contract says of itself.
type contract struct {
	standard     standard
	name, symbol string
	decimals     uint16
	noDecimals   bool   // decimals() reverts
	bytes32      bool   // name and symbol are words
	uri          string // {id} stands for the ID
	keepID       bool   // the URI is given with {id} in it
	// later is what it says of itself after the first change, the second, ...
	later []contract
}

// hostileName is what careless readers of token names trip over: markup, bytes
// that are no UTF-8, control characters, a turn of the writing direction, length.
var hostileName = "<script>alert('x')</script>\x00\x1b[2J\xff\xfe\u202eNOKOT\r\nSet-Cookie: a=b" + strings.Repeat("A", 4000)

var contracts = [numContracts]contract{
	cDollar:     {standard: erc20, name: "Devnet Dollar", symbol: "DUSD", decimals: 6},
	cDollarCode: {},
	cToken:      {standard: erc20, name: "Quorum Token", symbol: "QRM", decimals: 18},
	cOld:        {standard: erc20, name: "Old Coin", symbol: "OLD", noDecimals: true, bytes32: true},
	cSpam:       {standard: erc20, name: "Visit claim.example to get your reward", symbol: "CLAIM.EXAMPLE", decimals: 18},
	cHostile:    {standard: erc20, name: hostileName, symbol: "\u202eTIB\x07", decimals: 255},
	cTicket:     {standard: erc20, name: "Ticket", symbol: "TIX"},
	cApes:       {standard: erc721, name: "Devnet Apes", symbol: "DAPE", uri: "https://nft.example/apes/{id}.json"},
	cDeeds:      {standard: erc721, name: "Deeds", symbol: "DEED", uri: "ipfs://QmDeedsOfTheSimulatedNetwork/{id}"},
	cItems:      {standard: erc1155, name: "Devnet Items", symbol: "ITEM", uri: "https://items.example/{id}.json", keepID: true},
	cFactory:    {},
	cDisperser:  {},
	cPool:       {},
	cWrapped:    {standard: erc20, name: "Wrapped AVAX", symbol: "WAVAX", decimals: 18},
	cRouter:     {},
	cRebase:     {standard: erc20, name: "Elastic Dollar", symbol: "ELAD", decimals: 18},
	cTaxed:      {standard: erc20, name: "Taxed Token", symbol: "TAX", decimals: 18},
	cPhantom:    {standard: erc20, name: "Phantom", symbol: "BOO", decimals: 18},
	cRenamed: {standard: erc20, name: "Morning Coin", symbol: "MORN", decimals: 18, later: []contract{
		{standard: erc20, name: "Evening Coin", symbol: "EVE", decimals: 8},
		{standard: erc20, name: "Evening Coin", symbol: "EVEN", noDecimals: true},
	}},
	cWide: {standard: erc20, name: "Wide Token", symbol: "WIDE", decimals: 300},
	cReveal: {standard: erc721, name: "Surprises", symbol: "SURP", uri: "https://nft.example/hidden.json", later: []contract{
		{standard: erc721, name: "Surprises", symbol: "SURP", uri: "https://nft.example/surprises/{id}.json"},
		{standard: erc721, name: "Surprises", symbol: "SURP", uri: "ipfs://QmSurprisesOfTheSimulatedNetwork/{id}"},
	}},
}

// revised are the contracts that change what they say of themselves.
var revised = []uint8{cRenamed, cReveal}

// version is what the contract says of itself after some changes.
func (k *contract) version(n uint32) *contract {
	if n == 0 || len(k.later) == 0 {
		return k
	}
	return &k.later[min(int(n), len(k.later))-1] // few
}

// Tokens that plain operations choose from, the first ones most often.
var (
	erc20s  = []uint8{cToken, cDollar, cToken, cDollar, cOld, cTicket, cHostile}
	erc721s = []uint8{cApes, cApes, cDeeds, cApes, cReveal}
	// oddERC20s are moved by ordinary transfers too, but less often.
	oddERC20s = []uint8{cRebase, cTaxed, cRenamed, cWide}
)

func contractAccount(c int) uint32 { return firstContract + uint32(c) } // small

// codeOf returns an account's code at a height: short bytes that tell kinds apart.
func codeOf(a *account, height uint32) []byte {
	if a.kind <= kindGhost || height < a.made {
		return nil
	}
	return runtimeCode(a.kind)
}

func runtimeCode(k kind) []byte {
	if k == kindPre {
		return []byte{1} // as precompiles with state have it
	}
	sum := evm.Keccak([]byte{'c', 'o', 'd', 'e', byte(k)})
	code := append([]byte{0x60, 0x80, 0x60, 0x40, 0x52}, sum[:]...)
	return append(code, 0x5f, 0x80, 0xfd)
}

// initCode is what creates code: it copies what follows it.
func initCode(k kind, salt uint32) []byte {
	code := runtimeCode(k)
	n := byte(len(code))
	init := []byte{0x60, n, 0x60, 0x10, 0x5f, 0x39, 0x60, n, 0x5f, 0xf3, 0, 0, byte(salt >> 24), byte(salt >> 16), byte(salt >> 8), byte(salt)}
	return append(init, code...)
}

// create2Address is the address of a contract made by CREATE2 (EIP-1014).
func create2Address(from evm.Address, salt [32]byte, init []byte) (a evm.Address) {
	code := evm.Keccak(init)
	sum := evm.Keccak([]byte{0xff}, from[:], salt[:], code[:])
	copy(a[:], sum[len(sum)-len(a):])
	return a
}
