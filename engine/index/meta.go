package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// metaGroup is how many rows of metadata share a transaction.
const metaGroup = 1000

// meta returns the places of the tables of metadata, which have one edition.
func (c *Chain) meta() *places { return &places{ordinal: c.ordinal} }

// PutTokens keeps what contracts say of themselves, in place of what they said before.
func (c *Chain) PutTokens(ctx context.Context, tokens map[evm.Address]TokenMeta) error {
	var r rows
	for a, t := range tokens {
		c.known.add(&a) // before it can be read
		r.put(c.meta().key(store.TableTokenMeta).addr(&a), appendToken(nil, &t))
		c.putNames(&r, &a, &t)
	}
	gone, err := c.oldNames(tokens)
	if err != nil {
		return err
	}
	err = c.putMeta(ctx, r.list)
	c.tokenVersion.Add(1) // also after an error, which leaves open what is written
	if err != nil {
		return err
	}
	return errors.Join(c.markNamed(), c.dropRows(ctx, gone))
}

// TokenVersion changes when what contracts say of themselves does: what was read
// after it was asked for is good as long as it is the same.
func (c *Chain) TokenVersion() uint64 { return c.tokenVersion.Load() }

// PutTokenURIs keeps the URIs of tokens with an ID.
func (c *Chain) PutTokenURIs(ctx context.Context, uris map[NFT]string) error {
	c.uris.Store(true) // before one can be read
	var r rows
	for nft, uri := range uris {
		r.put(c.meta().key(store.TableTokenURIs).addr(&nft.Token).word(nft.ID.Bytes32()), []byte(uri))
	}
	return c.putMeta(ctx, r.list)
}

func (c *Chain) putMeta(ctx context.Context, list []row) error {
	for group := range slices.Chunk(list, metaGroup) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.putGroup(group); err != nil {
			return err
		}
	}
	return nil
}

func (c *Chain) putGroup(group []row) error {
	b, err := c.db.Batch()
	if err != nil {
		return err
	}
	defer b.Discard()
	for i := range group {
		if err := b.Set(group[i].key, group[i].value); err != nil {
			return err
		}
	}
	return b.Commit()
}

// Token returns what is known of a token's contract. It is the newest that is
// known, whatever the view's height.
func (v *View) Token(a evm.Address) (t TokenMeta, known bool, err error) {
	known, err = v.s.Get(v.at.key(store.TableTokenMeta).addr(&a), func(b []byte) (err error) {
		t, err = decodeToken(b)
		return err
	})
	return t, known && err == nil, err
}

// TokenURI returns the URI of a token with an ID; it may be empty. It is the
// newest that is known, whatever the view's height.
func (v *View) TokenURI(token evm.Address, id uint256.Int) (uri string, known bool, err error) {
	if !v.c.uris.Load() { // a look into the database costs more than the row that asks
		return "", false, nil
	}
	known, err = v.s.Get(v.at.key(store.TableTokenURIs).addr(&token).word(id.Bytes32()), func(b []byte) error {
		uri = string(b)
		return nil
	})
	return uri, known, err
}

// BlockTransfers yields the transfers of a block in their order. What take gets
// is good until it returns.
func (v *View) BlockTransfers(number uint64, take func(t *Transfer)) error {
	if number > v.tip.Number || number < v.First() {
		return nil
	}
	prefix := v.at.key(store.TableTxs).u64(number)
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	tx, block := v.room(), &BlockRef{Number: number} // nothing is asked of it
	for rows.Seek(prefix); rows.Valid(); rows.Next() {
		index := binary.BigEndian.Uint32(rows.Key()[len(prefix):])
		if err := rows.Value(func(b []byte) error { return readTx(tx, block, index, b, wholeTx) }); err != nil {
			return err
		}
		for i := range tx.Transfers {
			take(&tx.Transfers[i])
		}
	}
	return nil
}

// TokenURIs returns the NFTs of a token whose URIs were asked for, in the order of
// their IDs, the URIs, and a position to go on from, nil at the end. A position is
// an ID, 32 bytes. Only After and Limit of the page count.
func (v *View) TokenURIs(token evm.Address, p Page) (nfts []NFT, uris []string, next []byte, err error) {
	rows, err := v.uris(token, p.After)
	if err != nil || rows == nil {
		return nil, nil, nil, err
	}
	defer rows.Close()
	for ; rows.Valid(); rows.Next() {
		if len(nfts) >= p.Limit {
			if len(nfts) > 0 {
				id := nfts[len(nfts)-1].ID.Bytes32()
				next = id[:]
			}
			return nfts, uris, next, nil
		}
		nft := NFT{Token: token}
		k := rows.Key()
		nft.ID.SetBytes32(k[len(k)-evm.HashLen:])
		nfts = append(nfts, nft)
		if err := rows.Value(func(b []byte) error {
			uris = append(uris, string(b))
			return nil
		}); err != nil {
			return nil, nil, nil, err
		}
	}
	return nfts, uris, nil, nil
}

// URITokens returns tokens of which URIs were asked for, in the order of their addresses,
// behind one of them if after is not nil.
func (v *View) URITokens(after *evm.Address, limit int) ([]evm.Address, error) {
	prefix := v.c.meta().key(store.TableTokenURIs)
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	begin := slices.Clone(prefix)
	if after != nil {
		begin = behind(prefix, after)
	}
	var out []evm.Address
	for rows.Seek(begin); rows.Valid() && len(out) < limit; {
		k := rows.Key()
		if len(k) != len(prefix)+nftLen {
			return nil, ErrPosition
		}
		out = append(out, evm.Address(k[len(prefix):len(prefix)+evm.AddressLen]))
		rows.Seek(behind(prefix, &out[len(out)-1]))
	}
	return out, nil
}

// behind returns a key behind all of a token's.
func behind(prefix []byte, token *evm.Address) []byte {
	return append(slices.Concat(prefix, token[:]), bytes.Repeat([]byte{0xff}, evm.HashLen+1)...)
}

// URIWeight is as how many a URI counts: long ones as several.
func URIWeight(uri string) int { return 1 + len(uri)/uriUnit }

// uriUnit is about the longest URI that is not itself a document.
const uriUnit = 2<<10 + 1

// CountURIs returns how many NFTs of a token were asked for their URIs, by the URIs'
// weight, and at most about limit.
func (v *View) CountURIs(token evm.Address, limit int) (n int, err error) {
	rows, err := v.uris(token, nil)
	if err != nil || rows == nil {
		return 0, err
	}
	defer rows.Close()
	for ; rows.Valid() && n < limit; rows.Next() {
		if err := rows.Value(func(b []byte) error {
			n += 1 + len(b)/uriUnit
			return nil
		}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// uris begins behind an ID, or at the first one.
func (v *View) uris(token evm.Address, after []byte) (*store.Rows, error) {
	if after != nil && len(after) != evm.HashLen {
		return nil, ErrPosition
	}
	prefix := v.c.meta().key(store.TableTokenURIs).addr(&token)
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return nil, err
	}
	begin := append(slices.Clone(prefix), after...)
	if after != nil {
		begin = append(begin, 0)
	}
	rows.Seek(begin)
	return rows, nil
}

// SeenTokens returns tokens that were moved, in the order of their addresses, and a
// position to go on from, nil at the end. Only After and Limit of the page count.
func (v *View) SeenTokens(p Page) ([]SeenToken, []byte, error) {
	var out []SeenToken
	next, err := v.missing(store.TableSeenTokens, evm.AddressLen+1, p, func(at []byte, _ *store.Rows) (bool, error) {
		out = append(out, SeenToken{Token: evm.Address(at[:evm.AddressLen]), Kind: TransferKind(at[evm.AddressLen])})
		return true, nil
	})
	return out, next, err
}

// TokensWithoutMeta returns tokens that were moved and whose contracts were not
// asked yet, and a position to go on from, nil at the end.
func (v *View) TokensWithoutMeta(p Page) ([]SeenToken, []byte, error) {
	var out []SeenToken
	next, err := v.missing(store.TableSeenTokens, evm.AddressLen+1, p, func(at []byte, _ *store.Rows) (bool, error) {
		t := SeenToken{Token: evm.Address(at[:evm.AddressLen]), Kind: TransferKind(at[evm.AddressLen])}
		if _, known, err := v.Token(t.Token); known || err != nil {
			return false, err
		}
		out = append(out, t)
		return true, nil
	})
	return out, next, err
}

// NFTsWithoutURI returns tokens with an ID that were minted and whose URI was not
// asked for yet, and a position to go on from, nil at the end.
func (v *View) NFTsWithoutURI(p Page) ([]SeenNFT, []byte, error) {
	var out []SeenNFT
	next, err := v.missing(store.TableSeenNFTs, nftLen, p, func(at []byte, r *store.Rows) (bool, error) {
		n := SeenNFT{NFT: NFT{Token: evm.Address(at[:evm.AddressLen])}}
		n.ID.SetBytes32(at[evm.AddressLen:nftLen])
		if _, known, err := v.TokenURI(n.Token, n.ID); known || err != nil {
			return false, err
		}
		err := r.Value(func(b []byte) error {
			if len(b) == 1 {
				n.Kind = TransferKind(b[0])
			}
			return nil
		})
		out = append(out, n)
		return true, err
	})
	return out, next, err
}

// missing walks a table of what was seen; visit reports whether it took the row.
func (v *View) missing(table byte, suffix int, p Page, visit func(at []byte, r *store.Rows) (bool, error)) ([]byte, error) {
	if p.After != nil && len(p.After) != suffix {
		return nil, ErrPosition
	}
	prefix := v.at.key(table)
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	begin := append(slices.Clone(prefix), p.After...)
	if p.After != nil {
		begin = append(begin, 0)
	}
	taken, passed := 0, 0
	var last []byte
	for rows.Seek(begin); rows.Valid(); rows.Next() {
		if taken >= p.Limit || passed == maxPassed {
			return last, nil
		}
		last = append(last[:0], rows.Key()[len(prefix):]...)
		took, err := visit(last, rows)
		if err != nil {
			return nil, err
		}
		if took {
			taken++
		}
		passed++
	}
	return nil, nil
}
