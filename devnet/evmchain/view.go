package evmchain

import (
	"fmt"
	"strings"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// RevertError is that a call was reverted.
type RevertError struct {
	// Reason is the text of the error, empty for none or for an error of another kind.
	Reason string
	// Data is what the contract returned.
	Data []byte
}

// Error returns the text that nodes give.
func (e *RevertError) Error() string {
	if e.Reason == "" {
		return "execution reverted"
	}
	return "execution reverted: " + e.Reason
}

// Call returns what a call of a contract returns after a block. Contracts answer
// the questions of their token standard and revert everything else; accounts
// without code return nothing.
func (c *Chain) Call(to evm.Address, input []byte, height uint64) ([]byte, error) {
	defer c.read()()
	index, ok := c.ledger.byAddr[to]
	if !ok {
		return nil, nil
	}
	a := &c.ledger.accounts[index]
	if a.kind < kindContract || uint32(height) < a.made { // bounded
		if len(codeOf(a, uint32(height))) > 0 { // bounded
			return nil, &RevertError{}
		}
		return nil, nil
	}
	if len(input) < 4 {
		return nil, &RevertError{}
	}
	q := question{ledger: c.ledger, height: uint32(height), at: uint8(a.kind - kindContract), args: input[4:]} // bounded
	if output := q.answer(selector(input[:4])); output != nil {
		return output, nil
	}
	return nil, &RevertError{Data: q.revert}
}

// question is a call of a contract.
type question struct {
	ledger *ledger
	height uint32
	at     uint8 // the contract
	args   []byte
	revert []byte // what a refusal returns
}

// word returns argument i.
func (q *question) word(i int) (w uint256.Int, ok bool) {
	if len(q.args) < (i+1)*wordLen {
		return w, false
	}
	w.SetBytes32(q.args[i*wordLen : (i+1)*wordLen])
	return w, true
}

// account returns the account that argument i names; noAccount for one that
// never had anything.
func (q *question) account(i int) (uint32, bool) {
	if len(q.args) < (i+1)*wordLen {
		return 0, false
	}
	var a evm.Address
	copy(a[:], q.args[(i+1)*wordLen-len(a):])
	if index, ok := q.ledger.byAddr[a]; ok {
		return index, true
	}
	return noAccount, true
}

func number(v uint64) []byte { return appendSmall(nil, v) }

// answer returns nil for what the contract does not have, which reverts.
func (q *question) answer(s selector) []byte {
	k := contracts[q.at].version(numberAt(q.ledger.revisions[q.at], q.height, 0))
	if k.standard == noToken {
		return nil
	}
	switch s {
	case selName:
		return k.text(k.name)
	case selSymbol:
		return k.text(k.symbol)
	case selSupports:
		return q.supports(k)
	case selBalanceOf2, selURI:
		if k.standard != erc1155 {
			return nil
		}
		if s == selURI {
			return abiBytes(k.uri)
		}
		return q.balance(1)
	}
	switch k.standard {
	case erc20:
		return q.answer20(s, k)
	case erc721:
		return q.answer721(s, k)
	}
	return nil
}

func (q *question) answer20(s selector, k *contract) []byte {
	switch {
	case s == selDecimals && !k.noDecimals:
		return number(uint64(k.decimals))
	case s == selBalanceOf:
		return q.balance(-1)
	case s == selSupply:
		return q.supply()
	}
	return nil
}

func (q *question) answer721(s selector, k *contract) []byte {
	switch s {
	case selBalanceOf:
		return q.balance(-1)
	case selSupply:
		return q.supply()
	case selOwnerOf, selTokenURI:
		id, ok := q.word(0)
		if !ok {
			return nil
		}
		owner := zeroAccount
		if id.IsUint64() && id.Uint64() <= 1<<32-1 {
			owner = q.ledger.owner(nftKey{q.at, uint32(id.Uint64())}, q.height)
		}
		if owner == zeroAccount {
			q.revert = appendWord(selNoToken[:len(selNoToken):len(selNoToken)], &id)
			return nil
		}
		if s == selTokenURI {
			return abiBytes(strings.ReplaceAll(k.uri, "{id}", fmt.Sprint(id.Uint64())))
		}
		return appendAddress(nil, q.ledger.accounts[owner].address)
	}
	return nil
}

// balance answers for the account in argument 0 and the ID in argument id, if not negative.
func (q *question) balance(id int) []byte {
	account, ok := q.account(0)
	key := tokenKey{contract: q.at, account: account}
	if ok && id >= 0 {
		var w uint256.Int
		if w, ok = q.word(id); ok && (!w.IsUint64() || w.Uint64() > 1<<32-1) {
			return number(0)
		}
		key.id = uint32(w.Uint64()) // checked
	}
	if !ok {
		return nil
	}
	if account == zeroAccount || account == noAccount { // the zero account's entry is the supply
		return number(0)
	}
	return q.amount(key)
}

func (q *question) supply() []byte { return q.amount(tokenKey{contract: q.at, account: zeroAccount}) }

func (q *question) amount(key tokenKey) []byte {
	amount := q.ledger.token(key, q.height)
	if q.at == cRebase {
		amount = worth(&amount, numberAt(q.ledger.factors, q.height, factorOne))
	}
	return appendWord(nil, &amount)
}

// supports answers for interfaces (ERC-165), which ERC-20 tokens do not have.
func (q *question) supports(k *contract) []byte {
	if len(q.args) < wordLen || k.standard == erc20 {
		return nil
	}
	switch [4]byte(q.args[:4]) {
	case [4]byte{0x01, 0xff, 0xc9, 0xa7}:
		return number(1)
	case [4]byte{0x80, 0xac, 0x58, 0xcd}, [4]byte{0x5b, 0x5e, 0x13, 0x9f}:
		if k.standard == erc721 {
			return number(1)
		}
	case [4]byte{0xd9, 0xb6, 0x7a, 0x26}, [4]byte{0x0e, 0x89, 0x34, 0x1c}:
		if k.standard == erc1155 {
			return number(1)
		}
	}
	return number(0)
}

// text encodes a name or symbol, old contracts' as one word.
func (k *contract) text(s string) []byte {
	if k.bytes32 {
		word := make([]byte, wordLen)
		copy(word, s)
		return word
	}
	return abiBytes(s)
}
