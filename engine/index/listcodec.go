package index

import (
	"encoding/binary"
	"math"

	"quorate/engine/chain/evm"
)

// What lists show of transactions lies apart from the transactions, where a page
// is one stretch of rows. There are two codecs; uv, u256, addr, transfers and calls
// are as in the transaction codec.
//
// The heads codec, version 2, has several transactions of one block, the newest first,
// which most pages are read in the order of:
//
//	u8 2 | block hash | uv block time, Unix ms | u8 number of transactions |
//	for each: head, from, to, capitals of from, capitals of to
//
//	head: u8 flags | u8 type | hash | input, up to 4 bytes |
//	      uv nonce | uv gas limit | uv gas used | u256 gas price | u256 value
//	from, to: 20 bytes each; to is the contract if creation
//	capitals: u40 little-endian, those of the EIP-55 text, which are a hash to make
//
// A part is one transaction as an address sees it, with the transfers and calls from
// and to that address. Place 0 of addr is the address itself, which is not in the list:
//
//	head | uv number of addresses | addresses |
//	addr from | addr to | uv transfers | transfers | uv calls | calls
//
// The part codec, version 1, has one: u8 1 | block hash | uv block time, Unix ms | part.
const (
	headsVersion = 2
	partVersion  = 1

	headFailed   = 1
	headCreation = 2
	headTraced   = 4
	// headFixed is what each head begins with: flags, type and hash.
	headFixed = 1 + 1 + evm.HashLen
	// The number of bytes of the input, 4 at most, is above the flags.
	headInputAt = 4
	maxSelector = 4

	// headsPer is the number of transactions in a row of heads.
	headsPer = 16

	// maxPart bounds the bytes of a part, and
	// maxPartItems the transfers and calls of one that such rows speak of. Larger
	// transactions are read by themselves: that costs less than a tenth of what it
	// costs to send them.
	maxPart      = 280
	maxPartItems = 16
)

func appendHead(dst []byte, tx *evm.Tx, traced bool) []byte {
	n := min(len(tx.Input), maxSelector)
	flags := byte(n << headInputAt)
	if tx.Failed {
		flags |= headFailed
	}
	if tx.Creation {
		flags |= headCreation
	}
	if traced {
		flags |= headTraced
	}
	dst = append(append(dst, flags, tx.Type), tx.Hash[:]...)
	dst = append(dst, tx.Input[:n]...)
	dst = binary.AppendUvarint(dst, tx.Nonce)
	dst = binary.AppendUvarint(dst, tx.GasLimit)
	dst = binary.AppendUvarint(dst, tx.GasUsed)
	return appendU256(appendU256(dst, &tx.GasPrice), &tx.Value)
}

// receiver returns the address that lists show as a transaction's receiver.
func receiver(tx *evm.Tx) *evm.Address {
	if tx.Creation {
		return &tx.Contract
	}
	return &tx.To
}

// partEncoder appends what addresses see of a transaction.
type partEncoder struct {
	list []evm.Address // the first one is who sees it
	body []byte
}

func (e *partEncoder) addr(a *evm.Address) {
	for i := range e.list {
		if e.list[i] == *a {
			e.body = binary.AppendUvarint(e.body, uint64(i))
			return
		}
	}
	e.body = binary.AppendUvarint(e.body, uint64(len(e.list)))
	e.list = append(e.list, *a)
}

// append appends the part of self, unless it is too large for a row.
func (e *partEncoder) append(dst []byte, tx *evm.Tx, transfers []Transfer, traced bool, self *evm.Address) (b []byte, small bool) {
	if len(transfers)+len(tx.Calls) > maxPartItems {
		return dst, false
	}
	e.list, e.body = append(e.list[:0], *self), e.body[:0]
	e.addr(&tx.From)
	e.addr(receiver(tx))
	e.transfers(transfers, self)
	e.calls(tx.Calls, self)
	b = appendHead(dst, tx, traced)
	b = binary.AppendUvarint(b, uint64(len(e.list)-1))
	for i := range e.list[1:] {
		b = append(b, e.list[1+i][:]...)
	}
	b = append(b, e.body...)
	if len(b)-len(dst) > maxPart {
		return b[:len(dst)], false
	}
	return b, true
}

// appendRowHead appends what comes before a block's transactions in rows of lists.
func appendRowHead(dst []byte, version byte, block *evm.Hash, timeMilli uint64) []byte {
	return binary.AppendUvarint(append(append(dst, version), block[:]...), timeMilli)
}

func (e *partEncoder) transfers(transfers []Transfer, self *evm.Address) {
	n := 0
	for i := range transfers {
		if t := &transfers[i]; t.From == *self || t.To == *self {
			n++
		}
	}
	e.body = binary.AppendUvarint(e.body, uint64(n))
	last := uint32(0)
	for i := range transfers {
		t := &transfers[i]
		if t.From != *self && t.To != *self {
			continue
		}
		e.body = binary.AppendUvarint(append(e.body, byte(t.Kind)), uint64(t.LogIndex-last))
		last = t.LogIndex
		e.addr(&t.Token)
		e.addr(&t.From)
		e.addr(&t.To)
		e.body = appendTransferred(e.body, t)
	}
}

func (e *partEncoder) calls(calls []evm.Call, self *evm.Address) {
	n := 0
	for i := range calls {
		if calls[i].Concerns(self) {
			n++
		}
	}
	e.body = binary.AppendUvarint(e.body, uint64(n))
	for i := range calls {
		c := &calls[i]
		if !c.Concerns(self) {
			continue
		}
		reverted := byte(0)
		if c.Reverted {
			reverted = 1
		}
		e.body = binary.AppendUvarint(append(e.body, byte(c.Type), reverted), uint64(c.Depth))
		e.addr(&c.From)
		e.addr(&c.To)
		e.body = appendU256(e.body, &c.Value)
		e.body = binary.AppendUvarint(binary.AppendUvarint(e.body, c.Gas), c.GasUsed)
	}
}

// appendTransferred appends what a transfer moves.
func appendTransferred(b []byte, t *Transfer) []byte {
	switch t.Kind {
	case ERC20:
		b = appendU256(b, &t.Value)
	case ERC721:
		b = appendU256(b, &t.ID)
	case ERC1155:
		b = appendU256(appendU256(binary.AppendUvarint(b, uint64(t.Item)), &t.ID), &t.Value)
	}
	return b
}

// head reads a head into tx.
func (d *decoder) head(tx *Tx) {
	b := d.take(headFixed)
	if b == nil {
		return
	}
	flags := b[0]
	n := int(flags >> headInputAt)
	if n > maxSelector || flags&(1<<3) != 0 {
		d.fail("flags of a head")
		return
	}
	tx.Failed, tx.Creation, tx.Traced = flags&headFailed != 0, flags&headCreation != 0, flags&headTraced != 0
	tx.Type, tx.Hash = b[1], evm.Hash(b[2:])
	tx.Input = append(tx.Input[:0], d.take(n)...)
	tx.Nonce, tx.GasLimit, tx.GasUsed = d.uv(), d.uv(), d.uv()
	d.u256(&tx.GasPrice)
	d.u256(&tx.Value)
}

// sent puts a receiver to its place.
func (tx *Tx) sent() *evm.Address {
	if tx.Creation {
		tx.To = evm.Address{}
		return &tx.Contract
	}
	tx.Contract = evm.Address{}
	return &tx.To
}

// headBlock reads what comes before the heads of a block's transactions.
func (d *decoder) headBlock(version byte, ref *BlockRef) {
	if d.u8() != version {
		d.fail("version of a list's row")
	}
	copy(ref.Hash[:], d.take(evm.HashLen))
	ref.TimeMilli = d.uv()
}

// readPart reads a row of one transaction into tx, whose number and index are set.
func readPart(tx *Tx, self *evm.Address, b []byte) error {
	d := decoder{b: b, self: self}
	d.headBlock(partVersion, &tx.Block)
	return d.part(tx)
}

// part reads what an address sees of a transaction into tx, which is empty.
func (d *decoder) part(tx *Tx) error {
	d.head(tx)
	d.addrs = d.take(d.count(evm.AddressLen) * evm.AddressLen)
	d.addr(&tx.From)
	d.addr(tx.sent())
	last := uint32(0)
	for range min(d.count(minTransfer), math.MaxUint16) {
		tx.Transfers = append(tx.Transfers, Transfer{})
		last = d.transfer(&tx.Transfers[len(tx.Transfers)-1], last)
	}
	for range min(d.count(minCall), math.MaxUint16) {
		tx.Calls = append(tx.Calls, evm.Call{})
		d.call(&tx.Calls[len(tx.Calls)-1])
	}
	return d.end("row of an address' transaction")
}
