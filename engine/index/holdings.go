package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// TokenBalances returns what an address holds of ERC-20 tokens, without zeros, in
// the order of the tokens' addresses: of all tokens, or of those in contracts
// if there are any. Only After and Limit of the page count. Of tokens of
// [Chain.Uneven] there are zeros too: the contract may say more than nothing.
func (v *View) TokenBalances(a evm.Address, contracts []evm.Address, p Page) ([]TokenBalance, []byte, error) {
	if p.After != nil && len(p.After) != evm.AddressLen {
		return nil, nil, ErrPosition
	}
	if p.Limit < 1 {
		return nil, nil, nil
	}
	t := tokenWalk{v: v, holder: a, asked: len(contracts) > 0, prefix: v.at.key(store.TableTokenBalances).addr(&a), limit: p.Limit}
	defer t.close()
	if len(contracts) == 0 && v.at.has(store.TableHoldings) {
		next, err := t.newest(v.at.key(store.TableHoldings).addr(&a), p.After)
		return t.out, next, err
	}
	if err := t.open(); err != nil {
		return nil, nil, err
	}
	if len(contracts) == 0 {
		next, err := t.all(p.After)
		return t.out, next, err
	}
	sorted := slices.Clone(contracts)
	slices.SortFunc(sorted, func(a, b evm.Address) int { return bytes.Compare(a[:], b[:]) })
	next, err := t.these(slices.Compact(sorted), p.After)
	return t.out, next, err
}

// tokenWalk reads the balances of one holder.
type tokenWalk struct {
	v      *View
	holder evm.Address
	asked  bool // for certain tokens
	prefix key
	rows   *store.Rows // of the history; nil until it is needed
	limit  int
	out    []TokenBalance
	last   []byte // the token seen last
}

func (t *tokenWalk) open() (err error) {
	if t.rows == nil {
		t.rows, err = t.v.s.Rows(t.prefix, false)
	}
	return err
}

func (t *tokenWalk) close() {
	if t.rows != nil {
		t.rows.Close()
	}
}

// newest goes from token to token in the table of the newest balances, whose rows
// begin with prefix, and to the history for what the view does not see yet.
func (t *tokenWalk) newest(prefix key, after []byte) ([]byte, error) {
	rows, err := t.v.s.Rows(prefix, false)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seek := prefix
	if after != nil {
		seek = append(append(slices.Clone(prefix), after...), 0)
	}
	rows.Seek(seek)
	for passed := 0; rows.Valid(); passed++ {
		if passed == maxPassed {
			return t.last, nil
		}
		k := rows.Key()
		if len(k) != len(prefix)+evm.AddressLen {
			return nil, fmt.Errorf("%w: key of %d bytes", errCodec, len(k))
		}
		token := evm.Address(k[len(prefix):])
		var now heldRow
		if err := rows.Value(now.decode); err != nil {
			return nil, err
		}
		full := false
		if now.height > t.v.tip.Number {
			full, err = t.token(token, false)
		} else {
			full, err = t.add(token, &now.balance, true)
		}
		if full || err != nil {
			return t.last, err
		}
		rows.Next()
	}
	return nil, nil
}

// all goes from token to token.
func (t *tokenWalk) all(after []byte) ([]byte, error) {
	seek := t.prefix
	if after != nil {
		seek = past(t.prefix, after)
	}
	t.rows.Seek(seek)
	for passed := 0; t.rows.Valid(); passed++ {
		if passed == maxPassed {
			return t.last, nil
		}
		k := t.rows.Key()
		if len(k) != historyLen+heightLen {
			return nil, fmt.Errorf("%w: key of %d bytes", errCodec, len(k))
		}
		token := evm.Address(k[len(t.prefix):])
		// Newest first: a row that the view does not see yet hides the one it does.
		full, err := t.token(token, ^binary.BigEndian.Uint64(k[historyLen:]) <= t.v.tip.Number)
		if err != nil {
			return nil, err
		}
		if full {
			return t.last, nil
		}
		t.skip(token)
	}
	return nil, nil
}

// steps is how many rows are passed over one by one before a seek, which costs
// about as much as ten of them.
const steps = 8

// skip goes to the next token.
func (t *tokenWalk) skip(token evm.Address) {
	for range steps {
		if !t.rows.Valid() || !bytes.Equal(t.rows.Key()[len(t.prefix):historyLen], token[:]) {
			return
		}
		t.rows.Next()
	}
	t.rows.Seek(past(t.prefix, token[:]))
}

// past returns the first possible key behind all rows of a token's history.
func past(prefix key, token []byte) key {
	k := append(slices.Clone(prefix), token...)
	return append(k, bytes.Repeat([]byte{0xff}, heightLen+1)...)
}

func (t *tokenWalk) these(contracts []evm.Address, after []byte) ([]byte, error) {
	for _, token := range contracts {
		if after != nil && bytes.Compare(token[:], after) <= 0 {
			continue
		}
		full, err := t.token(token, false)
		if err != nil {
			return nil, err
		}
		if full {
			return t.last, nil
		}
	}
	return nil, nil
}

// token adds a token's balance, unless it is zero or, so full, the page has no
// room. With here the iterator stands at the row already.
func (t *tokenWalk) token(token evm.Address, here bool) (full bool, err error) {
	if !here {
		if err := t.open(); err != nil {
			return false, err
		}
		k := append(slices.Clone(t.prefix), token[:]...)
		t.rows.Seek(k.u64(^t.v.tip.Number))
		here = t.rows.Valid() && bytes.HasPrefix(t.rows.Key(), k)
	}
	var bal balance
	if here {
		if err := t.rows.Value(bal.decode); err != nil {
			return false, err
		}
	}
	return t.add(token, &bal, here)
}

// add adds a token's balance, unless it is zero or the page has no room. With there
// there is a row that has it.
func (t *tokenWalk) add(token evm.Address, bal *balance, there bool) (full bool, err error) {
	out := TokenBalance{Token: token, Amount: bal.amount, Doubtful: bal.doubtful}
	listed, err := t.v.settle(t.holder, &out, there || t.asked)
	if err != nil {
		return false, err
	}
	if listed {
		if len(t.out) == t.limit {
			return true, nil
		}
		t.out = append(t.out, out)
	}
	t.last = append(t.last[:0], token[:]...)
	return false, nil
}

// NFTs returns the ERC-721 tokens that an address owns, of one contract if
// contract is not nil, in the order of contracts and IDs. Only After and Limit
// of the page count.
func (v *View) NFTs(a evm.Address, contract *evm.Address, p Page) ([]ItemBalance, []byte, error) {
	if p.After != nil && len(p.After) != nftLen {
		return nil, nil, ErrPosition
	}
	if p.Limit < 1 {
		return nil, nil, nil
	}
	owner := v.at.key(store.TableOwnedNFTs).addr(&a)
	prefix := owner
	if contract != nil {
		prefix = slices.Clone(owner).addr(contract)
	}
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	begin := prefix
	if p.After != nil {
		begin = append(append(slices.Clone(owner), p.After...), 0)
		if bytes.Compare(begin, prefix) < 0 {
			begin = prefix
		}
	}
	var out []ItemBalance
	var last []byte
	passed := 0
	for rows.Seek(begin); rows.Valid(); rows.Next() {
		at := rows.Key()[len(owner):]
		nft := nftAt(at)
		is, _, err := v.NFTOwner(nft)
		if err != nil {
			return nil, nil, err
		}
		if is == a {
			if len(out) == p.Limit {
				return out, last, v.doubts(out)
			}
			out = append(out, ItemBalance{NFT: nft, Amount: uint256.Int{1}})
		}
		last = append(last[:0], at...)
		if passed++; passed == maxPassed {
			return out, last, v.doubts(out)
		}
	}
	return out, nil, v.doubts(out)
}

// NFTOwner returns the owner of an ERC-721 token, the zero address if it was burnt.
func (v *View) NFTOwner(nft NFT) (owner evm.Address, found bool, err error) {
	found, err = v.newest(v.at.key(store.TableNFTOwners).addr(&nft.Token).word(nft.ID.Bytes32()), func(b []byte) error {
		copy(owner[:], b)
		return nil
	})
	return owner, found, err
}
