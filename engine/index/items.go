package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// itemCell is a cell of TableItems.
type itemCell struct {
	amount uint256.Int
	single bool // of ERC-721: the amount is the owner
}

const (
	itemDoubtful = 1 // until version 2: transfers did not tell it
	itemSingle   = 2
	itemFlagsEnd = 4
)

func (c *itemCell) append(dst []byte) []byte {
	flags := byte(0)
	if c.single {
		flags = itemSingle
	}
	return appendAmount(append(dst, flags), &c.amount)
}

func (c *itemCell) decode(b []byte) (err error) {
	if len(b) == 0 || b[0] >= itemFlagsEnd {
		return fmt.Errorf("%w: balance of a token with an ID", errCodec)
	}
	c.single = b[0]&itemSingle != 0
	c.amount, err = decodeAmount(b[1:])
	return err
}

// kind returns the standard of a token, by the cell of the zero address.
func (c *itemCell) kind() TransferKind {
	if c.single {
		return ERC721
	}
	return ERC1155
}

// item reads the cell of a holder.
func (b *builder) item(holder *evm.Address, t *Transfer) (k key, c itemCell, err error) {
	k = b.start(store.TableItems).addr(holder).addr(&t.Token).word(t.ID.Bytes32())
	b.scratch = k
	old, err := b.prior.cell(k)
	if err == nil && old != nil {
		err = c.decode(old)
	}
	return k, c, err
}

// collect moves a token with an ID.
func (b *builder) collect(t *Transfer) error {
	if t.Kind == ERC20 || t.Value.IsZero() || !b.m.writes(store.TableItems) {
		return nil
	}
	s := moved{b: b, token: &t.Token}
	if t.Kind == ERC721 {
		s.single(t)
	} else {
		s.units(t, &t.From, true)
		s.units(t, &t.To, false)
	}
	return s.end()
}

// moved is what a transfer does to a collection.
type moved struct {
	b               *builder
	token           *evm.Address
	holders, tokens int // how many more there are
	impossible      bool
	err             error
}

// single moves an ERC-721 token from whom it was with, whatever the event says.
func (s *moved) single(t *Transfer) {
	k, c, err := s.b.item(&evm.Address{}, t)
	if err != nil {
		s.err = err
		return
	}
	was := !c.amount.IsZero()
	owner := evm.Address(c.amount.Bytes20())
	held := was && c.single
	s.impossible = owner != t.From // of ERC-1155 the amount is nobody's address
	c = itemCell{single: true}
	c.amount.SetBytes20(t.To[:])
	s.set(k, &c)
	s.tokens += becomes(was, !t.To.IsZero())
	if held {
		s.holds(&owner, -1)
	}
	if !t.To.IsZero() {
		s.holds(&t.To, 1)
	}
}

// units moves units of an ERC-1155 token from or to a holder. The zero address has
// what there is of them all, which grows when they come from it.
func (s *moved) units(t *Transfer, holder *evm.Address, less bool) {
	if s.err != nil {
		return
	}
	minted := holder.IsZero()
	k, c, err := s.b.item(holder, t)
	if err != nil {
		s.err = err
		return
	}
	if c.single { // a contract of both standards
		k = bytes.Clone(k) // the next key takes its room
		s.unown(&c)
	}
	was := !c.amount.IsZero()
	var bad bool
	if less != minted {
		if _, bad = c.amount.SubOverflow(&c.amount, &t.Value); bad {
			c.amount.Clear()
		}
	} else if _, bad = c.amount.AddOverflow(&c.amount, &t.Value); bad {
		c.amount.SetAllOne()
	}
	s.impossible = s.impossible || bad
	s.set(k, &c)
	change := becomes(was, !c.amount.IsZero())
	if minted {
		s.tokens += change
	} else if change != 0 {
		s.holds(holder, change)
	}
}

// unown makes a token one that there is none of.
func (s *moved) unown(c *itemCell) {
	if !c.amount.IsZero() {
		owner := evm.Address(c.amount.Bytes20())
		s.holds(&owner, -1)
		s.tokens--
		s.impossible = true // the owner did not give it away
	}
	*c = itemCell{}
}

func (s *moved) set(k key, c *itemCell) {
	s.b.value = c.append(s.b.value[:0])
	s.b.set(k, s.b.value)
}

// becomes returns by how many more there are of what counts while it is there.
func becomes(was, is bool) int {
	switch {
	case is && !was:
		return 1
	case was && !is:
		return -1
	}
	return 0
}

// holds changes how many tokens of the collection somebody holds.
func (s *moved) holds(holder *evm.Address, by int) {
	k := s.b.start(store.TableNFTHolders).addr(s.token).addr(holder)
	s.b.scratch = k
	var n uint64
	s.read(k, func(d *decoder) { n = d.uv() })
	next := plus(n, by)
	s.holders += becomes(n > 0, next > 0)
	s.put(k, next)
}

// end changes how many holders and tokens there are, and whether transfers tell them.
func (s *moved) end() error {
	if s.err != nil || s.holders == 0 && s.tokens == 0 && !s.impossible {
		return s.err
	}
	k := s.b.start(store.TableCollections).addr(s.token)
	s.b.scratch = k
	var c Collection
	s.read(k, c.decode)
	doubtful := uint64(0)
	if c.Doubtful || s.impossible {
		doubtful = 1
	}
	s.put(k, plus(c.Holders, s.holders), plus(c.Tokens, s.tokens), doubtful)
	return s.err
}

// read reads a cell of numbers, if there is one.
func (s *moved) read(k key, numbers func(d *decoder)) {
	if s.err != nil {
		return
	}
	old, err := s.b.prior.cell(k)
	if s.err = err; err == nil && old != nil {
		d := decoder{b: old}
		numbers(&d)
		s.err = d.end("cell of numbers")
	}
}

func (s *moved) put(k key, numbers ...uint64) {
	if s.err != nil {
		return
	}
	s.b.value = s.b.value[:0]
	for _, n := range numbers {
		s.b.value = binary.AppendUvarint(s.b.value, n)
	}
	s.b.set(k, s.b.value)
}

// plus adds to a number that does not fall below zero.
func plus(n uint64, by int) uint64 {
	if by < 0 {
		return n - min(n, uint64(-by))
	}
	return n + uint64(by)
}

// Collection is a contract of NFTs.
type Collection struct {
	Holders, Tokens uint64 // how many there are
	// Doubtful: the transfers do not tell who has what, since one cannot have been, or
	// not all of them are indexed.
	Doubtful bool
}

// decode reads what there is of a collection; rows of version 1 have no doubts.
func (c *Collection) decode(d *decoder) {
	c.Holders, c.Tokens = d.uv(), d.uv()
	c.Doubtful = len(d.b) > 0 && d.uv() > 0
}

// ItemBalance is what an address holds of a token with an ID.
type ItemBalance struct {
	NFT
	Amount   uint256.Int
	Doubtful bool // as that of [Collection]
}

// SumsNFTs reports whether the view knows balances of ERC-1155 tokens, holders of NFTs
// and how many there are. They are made of the archive in a folder that lacks them.
func (v *View) SumsNFTs() bool {
	return v.at.has(store.TableItems) && v.tip.Number >= v.from[partSums]
}

// Items returns what an address holds of ERC-1155 tokens, of one contract if contract
// is not nil, without zeros, in the order of contracts and IDs. Only After and Limit of
// the page count; positions are those of [NFT.Position].
func (v *View) Items(a evm.Address, contract *evm.Address, p Page) (list []ItemBalance, next []byte, err error) {
	if a.IsZero() { // its cells are what there is of each token
		return nil, nil, nil
	}
	lead := v.at.key(store.TableItems).addr(&a)
	h := history{lead: lead, sub: nftLen}
	if contract != nil {
		h.within = contract[:]
	}
	next, err = v.walk(&h, &p, func(at, value []byte) (bool, error) {
		var c itemCell
		if err := c.decode(value); err != nil || c.amount.IsZero() {
			return false, err
		}
		if len(list) < p.Limit {
			list = append(list, ItemBalance{NFT: nftAt(at), Amount: c.amount, Doubtful: value[0]&itemDoubtful != 0})
		}
		return true, nil
	})
	return list, next, cmp.Or(err, v.doubts(list))
}

// doubts marks the balances that their contracts' transfers do not tell.
func (v *View) doubts(list []ItemBalance) (err error) {
	var c Collection
	for i := range list {
		if i == 0 || list[i].Token != list[i-1].Token {
			if c, _, err = v.Collection(list[i].Token); err != nil {
				return err
			}
		}
		list[i].Doubtful = list[i].Doubtful || c.Doubtful
	}
	return nil
}

// nftAt reads what [NFT.Position] returns.
func nftAt(at []byte) (n NFT) {
	n.Token = evm.Address(at)
	n.ID.SetBytes32(at[evm.AddressLen:nftLen])
	return n
}

// NFTHolders returns who holds tokens of a contract, and how many different ones, in
// the order of addresses. Only After and Limit of the page count.
func (v *View) NFTHolders(token evm.Address, p Page) (list []Holder, next []byte, err error) {
	h := history{lead: v.at.key(store.TableNFTHolders).addr(&token), sub: evm.AddressLen}
	next, err = v.walk(&h, &p, func(at, value []byte) (bool, error) {
		n, err := decodeNumber(value)
		if err != nil || n == 0 {
			return false, err
		}
		if len(list) < p.Limit {
			list = append(list, Holder{Address: evm.Address(at), Balance: *uint256.NewInt(n)})
		}
		return true, nil
	})
	return list, next, err
}

// Collection returns how many hold tokens of a contract, and how many there are.
func (v *View) Collection(token evm.Address) (c Collection, found bool, err error) {
	found, err = v.newest(v.at.key(store.TableCollections).addr(&token), func(b []byte) error {
		d := decoder{b: b}
		c.decode(&d)
		return d.end("collection")
	})
	c.Doubtful = c.Doubtful || !v.SumsNFTs() || v.from[partSums] > 0
	return c, found, err
}

// Minted returns the tokens of a contract that there are, in the order of their IDs.
// Only After and Limit of the page count; a position is an ID, 32 bytes.
func (v *View) Minted(token evm.Address, p Page) (list []SeenNFT, next []byte, err error) {
	h := history{lead: v.at.key(store.TableItems).addr(&evm.Address{}).addr(&token), sub: evm.HashLen}
	next, err = v.walk(&h, &p, func(at, value []byte) (bool, error) {
		var c itemCell
		if err := c.decode(value); err != nil || c.amount.IsZero() {
			return false, err
		}
		if len(list) < p.Limit {
			n := SeenNFT{NFT: NFT{Token: token}, Kind: c.kind()}
			n.ID.SetBytes32(at)
			list = append(list, n)
		}
		return true, nil
	})
	return list, next, err
}

// NFTKind returns the standard of a token with an ID, if there is such a token.
func (v *View) NFTKind(nft NFT) (kind TransferKind, found bool, err error) {
	k := v.at.key(store.TableItems).addr(&evm.Address{}).addr(&nft.Token).word(nft.ID.Bytes32())
	_, err = v.newest(k, func(value []byte) error {
		var c itemCell
		err := c.decode(value)
		kind, found = c.kind(), !c.amount.IsZero()
		return err
	})
	return kind, found && err == nil, err
}
