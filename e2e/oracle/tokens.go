package oracle

import (
	"context"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ava-labs/libevm/accounts/abi"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/crypto"
)

// Token is what a token contract says of itself at the chain's tip.
type Token struct {
	Kinds        map[string]bool // of the transfers that it logged
	Name, Symbol string
	Decimals     uint8
	HasDecimals  bool
	// URIs are the metadata addresses of its NFTs that were minted, by ID in
	// decimal: those that it gave at any of the heights asked, so that a burnt
	// one may have its last or none.
	URIs map[string][]string
}

func input(signature string, words ...common.Hash) []byte {
	b := append([]byte(nil), crypto.Keccak256([]byte(signature))[:4]...)
	for _, w := range words {
		b = append(b, w[:]...)
	}
	return b
}

// describe asks all tokens of the chain what they are.
func (c *Chain) describe(ctx context.Context, n *Node) error {
	c.Tokens = make(map[common.Address]*Token)
	var calls []contractCall
	var take []func(b []byte)
	ask := func(to common.Address, in []byte, height uint64, f func(b []byte)) {
		calls, take = append(calls, contractCall{to, in, height}), append(take, f)
	}
	minted := make(map[NFT]bool)
	for _, tx := range c.Txs {
		for _, tr := range tx.Transfers {
			t := c.Tokens[tr.Token]
			if t == nil {
				t = &Token{Kinds: make(map[string]bool), URIs: make(map[string][]string)}
				c.Tokens[tr.Token] = t
				ask(tr.Token, input("name()"), c.Tip(), func(b []byte) { t.Name = text(b) })
				ask(tr.Token, input("symbol()"), c.Tip(), func(b []byte) { t.Symbol = text(b) })
				ask(tr.Token, input("decimals()"), c.Tip(), func(b []byte) {
					if v := new(big.Int).SetBytes(b); len(b) == 32 && v.IsUint64() && v.Uint64() < 256 {
						t.Decimals, t.HasDecimals = uint8(v.Uint64()), true
					}
				})
			}
			t.Kinds[tr.Kind] = true
			id := tr.ID.String()
			if nft := (NFT{tr.Token, id}); tr.Kind != ERC20 && tr.From == (common.Address{}) && !minted[nft] {
				minted[nft] = true
				signature := map[string]string{ERC721: "tokenURI(uint256)", ERC1155: "uri(uint256)"}[tr.Kind]
				for _, height := range []uint64{uint64(tx.Block.Number), c.Tip()} {
					ask(tr.Token, input(signature, common.BigToHash(tr.ID)), height, func(b []byte) {
						t.URIs[id] = append(t.URIs[id], text(b))
					})
				}
			}
		}
	}
	got, err := n.read(ctx, calls)
	if err != nil {
		return err
	}
	for i, f := range take {
		f(got[i])
	}
	return nil
}

// maxText bounds what a server keeps of a name, in bytes.
const maxText = 1 << 10

// text reads a returned string, or the bytes32 of the first tokens, without
// characters that cannot be shown or that turn the direction of writing.
func text(b []byte) string {
	s := ""
	if len(b) == 32 {
		s = strings.TrimRight(string(b), "\x00")
	} else if t, err := abiType("string"); err == nil {
		if values, err := (abi.Arguments{{Type: t}}).Unpack(b); err == nil {
			s, _ = values[0].(string)
		}
	}
	out := ""
	for _, r := range s { // what is not UTF-8 comes as U+FFFD
		if !unicode.IsControl(r) && r != 0xfeff && (r == 0x061c || !unicode.Is(unicode.Bidi_Control, r)) {
			out += string(r)
		}
	}
	out = strings.TrimSpace(out)
	for len(out) > maxText {
		_, size := utf8.DecodeLastRuneInString(out)
		out = out[:len(out)-size]
	}
	return out
}
