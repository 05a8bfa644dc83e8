package evm

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/source"
)

const (
	// maxText bounds a token's name and symbol in bytes; more is cut off.
	maxText = 1 << 10
	// maxURI bounds a token's URI in bytes; a longer one counts as none.
	maxURI = 2 << 10
	// maxDataURI bounds one that is the document itself.
	maxDataURI = 32 << 10
	// maxReturn bounds what a contract's answer may have in bytes; a longer one
	// counts as none.
	maxReturn = 1 << 16
	// callGas bounds what a contract may compute to answer.
	callGas = 2_000_000
)

// Kind is the standard that a token follows.
type Kind uint16

// The standards that are told apart.
const (
	KindUnknown Kind = 0
	ERC20       Kind = 20
	ERC721      Kind = 721
	ERC1155     Kind = 1155
)

// TokenInfo is what a token contract says about itself. Texts are what their
// author wants: valid UTF-8 without control characters, but else anything.
type TokenInfo struct {
	Name, Symbol string // empty if there is none
	Decimals     uint8
	HasDecimals  bool
	Kind         Kind
}

// Function selectors.
var (
	selName     = selector("name()")
	selSymbol   = selector("symbol()")
	selDecimals = selector("decimals()")
	selSupply   = selector("totalSupply()")
	selSupports = selector("supportsInterface(bytes4)")
	selTokenURI = selector("tokenURI(uint256)")
	selURI      = selector("uri(uint256)")
	selBalance  = selector("balanceOf(address)")
)

// Interface IDs of ERC-165. No contract supports the last: one that says so says
// yes to everything.
var (
	interface721  = []byte{0x80, 0xac, 0x58, 0xcd}
	interface1155 = []byte{0xd9, 0xb6, 0x7a, 0x26}
	interfaceNone = []byte{0xff, 0xff, 0xff, 0xff}
)

func selector(signature string) []byte {
	h := evm.Keccak([]byte(signature))
	return h[:4]
}

// ContractCall is a read of a contract, and what came of it.
type ContractCall struct {
	To    evm.Address
	Input []byte
	// Returned is what the contract returned; nil if it failed.
	Returned []byte
}

// callBatch is how many reads of contracts are in a request: each may cost the
// node callGas, and return maxReturn.
const callBatch = 64

// ReadContracts reads contracts after a block, after the last one if it is nil. A call
// that fails in the contract is no error: it would fail the next time too. The error
// wraps [ErrNotFound] if no node has a block at that height, or the state of it, and
// [ErrOtherBlock] if they have another one.
func (c *Client) ReadContracts(ctx context.Context, at *evm.Head, calls []ContractCall) error {
	for group := range slices.Chunk(calls, callBatch) {
		if err := c.readContracts(ctx, at, group); err != nil {
			err = fmt.Errorf("contract %s: %w", group[0].To, err)
			if classify(err) == noState {
				return fmt.Errorf("%w: %w", ErrNotFound, err)
			}
			return outward(err)
		}
	}
	return nil
}

// readContracts asks any node that has a block, and the next one if it refuses. Nodes are
// asked by height, which all understand. Which block they mean by it is asked before and
// after, for while a chain goes back it is one block, and then another.
func (c *Client) readContracts(ctx context.Context, at *evm.Head, reads []ContractCall) error {
	tag, height := "latest", uint64(0)
	calls := make([]source.BatchCall, len(reads), len(reads)+2)
	if at != nil {
		tag, height = number(at.Number), at.Number
	}
	for i := range reads {
		r := &reads[i]
		r.Returned = nil
		calls[i] = source.BatchCall{
			Method: "eth_call",
			Params: []any{map[string]string{
				"to": r.To.String(), "data": "0x" + hex.EncodeToString(r.Input), "gas": number(callGas),
			}, tag},
			Decode: func(result []byte) (err error) {
				r.Returned, err = returned(result)
				return err
			},
		}
	}
	var meant [2]evm.Hash // zero: there is no such block
	if at != nil {
		calls = slices.Concat([]source.BatchCall{hashCall(at.Number, &meant[0])}, calls, []source.BatchCall{hashCall(at.Number, &meant[1])})
	}
	return c.cfg.Node.CallBatchOf(ctx, c.cfg.Path, calls, source.Choice{
		Rank: c.pool.forBlocks(height),
		Check: func(_ source.Node, calls []source.BatchCall) error {
			for i := range calls {
				if err := calls[i].Err; err != nil && !inContract(err) {
					return source.Pass(err)
				}
			}
			if at != nil {
				return differs(at, meant)
			}
			return nil
		},
	})
}

// hashCall asks for the hash of the block at a height.
func hashCall(height uint64, dst *evm.Hash) source.BatchCall {
	return source.BatchCall{
		Method: "eth_getBlockByNumber",
		Params: []any{number(height), false},
		Decode: func(result []byte) error {
			if *dst = (evm.Hash{}); string(result) == "null" {
				return nil
			}
			b, _, err := decodeHeader(result)
			if err == nil {
				*dst = b.Hash
			}
			return err
		},
	}
}

// differs fails where a node did not mean a block all the time.
func differs(from *evm.Head, meant [2]evm.Hash) error {
	for _, hash := range meant {
		switch hash {
		case from.Hash:
		case evm.Hash{}:
			return source.Pass(fmt.Errorf("%w: block %d", ErrNotFound, from.Number))
		default:
			return source.Pass(fmt.Errorf("%w: %d is %s, not %s", ErrOtherBlock, from.Number, hash, from.Hash))
		}
	}
	return nil
}

// returned reads what a contract returned, nil if it is too long.
func returned(result []byte) ([]byte, error) {
	var f fields
	f.Reset(result)
	text := f.Text()
	if !f.End() {
		return nil, f.Err()
	}
	if n, err := hexLen(text); err != nil || n > maxReturn {
		return nil, err
	}
	return f.hexBytes(text)
}

// TokenCalls is how many reads [AppendTokenCalls] adds.
const TokenCalls = 7

// AppendTokenCalls adds the reads that ask a contract what token it is.
func AppendTokenCalls(dst []ContractCall, token evm.Address) []ContractCall {
	supports := func(id []byte) []byte {
		return slices.Concat(selSupports, id, make([]byte, 28))
	}
	for _, input := range [TokenCalls][]byte{
		selName, selSymbol, selDecimals, selSupply,
		supports(interface721), supports(interface1155), supports(interfaceNone),
	} {
		dst = append(dst, ContractCall{To: token, Input: input})
	}
	return dst
}

// ReadToken reads what came of the reads of [AppendTokenCalls]. Contracts that did
// not answer, or not as they should, lack what they were asked for.
func ReadToken(calls []ContractCall) (t TokenInfo) {
	t.Name, t.Symbol = clean(abiText(calls[0].Returned), maxText), clean(abiText(calls[1].Returned), maxText)
	if v, ok := abiWord(calls[2].Returned); ok && v.IsUint64() && v.Uint64() <= 255 {
		t.Decimals, t.HasDecimals = uint8(v.Uint64()), true
	}
	_, hasSupply := abiWord(calls[3].Returned)
	honest := !abiTrue(calls[6].Returned)
	switch {
	case honest && abiTrue(calls[4].Returned):
		t.Kind = ERC721
	case honest && abiTrue(calls[5].Returned):
		t.Kind = ERC1155
	case t.HasDecimals || hasSupply:
		t.Kind = ERC20
	}
	return t
}

// URICall asks an ERC-721 or ERC-1155 contract for the URI of a token's metadata.
func URICall(token evm.Address, id *uint256.Int, kind Kind) ContractCall {
	sel := selTokenURI
	if kind == ERC1155 {
		sel = selURI
	}
	word := id.Bytes32()
	return ContractCall{To: token, Input: slices.Concat(sel, word[:])}
}

// ReadURI reads what came of [URICall]. A {id} in it stays. Empty: there is none,
// or one longer than 2 KiB, or than 32 KiB if it is the document itself (data:).
func ReadURI(call *ContractCall) string {
	text, most := abiText(call.Returned), maxURI
	if len(text) > 5 && strings.EqualFold(string(text[:5]), "data:") {
		most = maxDataURI
	}
	if len(text) > most {
		return ""
	}
	return clean(text, most)
}

// BalanceCall asks an ERC-20 contract what an address holds.
func BalanceCall(token, holder evm.Address) ContractCall {
	return ContractCall{To: token, Input: slices.Concat(selBalance, make([]byte, 12), holder[:])}
}

// ReadBalance reads what came of [BalanceCall]: nothing if the contract did not say.
func ReadBalance(call *ContractCall) (v uint256.Int) {
	if w, ok := abiWord(call.Returned); ok {
		v = *w
	}
	return v
}

// codeReverted is what geth gives for a revert with a reason.
const codeReverted = 3

// inContract reports whether a call failed in the contract, so that it would fail
// the next time too.
func inContract(err error) bool {
	var rpc *source.RPCError
	if !errors.As(err, &rpc) {
		return false
	}
	if rpc.Code == codeReverted {
		return true
	}
	text := strings.ToLower(rpc.Message)
	for _, t := range []string{
		"revert", "out of gas", "invalid opcode", "invalid jump", "stack ", "gas uint64 overflow", "write protection",
		"return data out of bounds", "max code size", "contract address collision", "nonce uint64 overflow",
		"depth", "precompile", "execution aborted", "insufficient balance", "invalid code",
	} {
		if strings.Contains(text, t) {
			return true
		}
	}
	return false
}

// abiWord reads a single number.
func abiWord(b []byte) (*uint256.Int, bool) {
	if len(b) < 32 {
		return nil, false
	}
	return new(uint256.Int).SetBytes(b[:32]), true
}

func abiTrue(b []byte) bool {
	v, ok := abiWord(b)
	return ok && v.IsUint64() && v.Uint64() == 1
}

// abiText reads a string, or the bytes32 that the first tokens return in its
// place. What is malformed gives nil.
func abiText(b []byte) []byte {
	if len(b) == 32 {
		return []byte(strings.TrimRight(string(b), "\x00"))
	}
	offset, ok := abiLen(b, 0)
	if !ok {
		return nil
	}
	n, ok := abiLen(b, offset)
	if !ok || n > len(b)-offset-32 {
		return nil
	}
	return b[offset+32 : offset+32+n]
}

// abiLen reads the word at an offset as a number of bytes within b.
func abiLen(b []byte, at int) (int, bool) {
	if at > len(b)-32 {
		return 0, false
	}
	for _, c := range b[at : at+24] {
		if c != 0 {
			return 0, false
		}
	}
	n := binary.BigEndian.Uint64(b[at+24 : at+32])
	return int(min(n, uint64(len(b)))), n <= uint64(len(b))
}

// clean makes text of at most limit bytes fit to show: no control characters, none
// that turn the writing's direction, no invalid UTF-8, no space around it.
func clean(b []byte, limit int) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0xfeff:
			return -1
		}
		return r // invalid bytes come as U+FFFD
	}, string(b[:min(len(b), 4*limit)]))
	text = strings.TrimSpace(text)
	if len(text) > limit {
		text = text[:limit]
		for !utf8.ValidString(text) { // a rune was cut
			text = text[:len(text)-1]
		}
	}
	return text
}
