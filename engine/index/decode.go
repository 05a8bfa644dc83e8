package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// decoder reads fields one after the other. After a failure it gives zeros.
type decoder struct {
	b     []byte
	err   error
	addrs []byte       // the transaction's list of addresses
	self  *evm.Address // comes before them, unless nil
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", errCodec, what)
	}
	d.b = nil
}

func (d *decoder) end(what string) error {
	if d.err == nil && len(d.b) > 0 {
		d.fail("bytes left over")
	}
	if d.err != nil {
		return fmt.Errorf("read a %s: %w", what, d.err)
	}
	return nil
}

func (d *decoder) take(n int) (b []byte) {
	if n > len(d.b) {
		d.short()
		return
	}
	b, d.b = d.b[:n], d.b[n:]
	return
}

// short fails since there are too few bytes. It is apart, and take and u8 are worded as
// they are, so that the compiler inlines those two: pages of lists are made of them.
//
//go:noinline
func (d *decoder) short() { d.fail("truncated") }

func (d *decoder) u8() (v byte) {
	if len(d.b) == 0 {
		d.short()
		return
	}
	v, d.b = d.b[0], d.b[1:]
	return
}

func (d *decoder) uv() uint64 {
	if len(d.b) > 0 && d.b[0] < 0x80 { // most are short
		return uint64(d.u8())
	}
	return d.longUv()
}

func (d *decoder) longUv() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail("number")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) uvMax(most uint64) uint64 {
	v := d.uv()
	if v > most {
		d.fail("number too large")
		return 0
	}
	return v
}

// count reads how many things follow that have at least size bytes each.
func (d *decoder) count(size int) int { return int(d.uvMax(uint64(len(d.b) / size))) }

func (d *decoder) u256(v *uint256.Int) {
	b := d.take(int(d.u8()))
	if len(b) > 32 || len(b) > 0 && b[0] == 0 {
		d.fail("amount")
		return
	}
	if n := len(b); 0 < n && n <= 8 && len(d.b)+n >= 8 { // most are short, and more follows
		v.SetUint64(binary.BigEndian.Uint64(b[:8]) >> (8 * (8 - n)))
		return
	}
	v.SetBytes(b)
}

func (d *decoder) newU256() *uint256.Int {
	v := new(uint256.Int)
	d.u256(v)
	return v
}

// passU256 passes over an amount.
func (d *decoder) passU256() { d.take(int(d.u8())) }

func (d *decoder) addr(a *evm.Address) {
	i := int(d.uvMax(math.MaxInt32)) * evm.AddressLen
	if d.self != nil {
		if i == 0 {
			*a = *d.self
			return
		}
		i -= evm.AddressLen
	}
	if i+evm.AddressLen > len(d.addrs) {
		d.fail("address")
		return
	}
	copy(a[:], d.addrs[i:])
}

// Smallest encodings, which bound how much a count can make us allocate.
const (
	minTransfer = 6
	minCall     = 8
)

// depth says how much of a transaction is read.
type depth uint8

const (
	// headOnly is what lists show of all transactions: the same as the heads codec has.
	headOnly depth = iota
	// withParts adds transfers and calls.
	withParts
	wholeTx
)

// reset empties tx, and keeps the room that it has.
func (tx *Tx) reset() {
	transfers, input, calls := tx.Transfers[:0], tx.Input[:0], tx.Calls[:0]
	*tx = Tx{} // by itself it is cleared in place; with members it would be copied
	tx.Transfers, tx.Input, tx.Calls = transfers, input, calls
}

// decodeTx reads a transaction of a block; nothing of it refers to b afterwards.
func decodeTx(block *BlockRef, index uint32, b []byte) (*Tx, error) {
	tx := &Tx{}
	return tx, readTx(tx, block, index, b, wholeTx)
}

// readTx reads a transaction of a block, or a part of it, in place of what tx has been;
// nothing of it refers to b afterwards.
func readTx(tx *Tx, block *BlockRef, index uint32, b []byte, much depth) error {
	tx.reset()
	d := decoder{b: b}
	version, flags := d.u8(), d.u8()
	tx.Block, tx.Index = *block, index
	if much < wholeTx {
		tx.Block.BaseFee = nil
	}
	copy(tx.Hash[:], d.take(evm.HashLen))
	switch {
	case version == oldTxVersion && flags&txPacked == 0:
		d.oldBlock(tx, flags, much)
	case version != txVersion || flags&txHasBaseFee != 0:
		d.fail("transaction version")
	}
	d.addrs = d.take(d.count(evm.AddressLen) * evm.AddressLen)
	tx.Failed, tx.Creation, tx.Traced = flags&txFailed != 0, flags&txCreation != 0, flags&txTraced != 0
	d.fields(&tx.Tx, flags, much)
	if much == headOnly {
		d.b = nil
		return d.end("transaction")
	}
	n := d.count(minTransfer)
	tx.Transfers = slices.Grow(tx.Transfers, n)[:n]
	last := uint32(0)
	for i := range tx.Transfers {
		last = d.transfer(&tx.Transfers[i], last)
	}
	n = d.count(minCall)
	tx.Calls = slices.Grow(tx.Calls, n)[:n]
	for i := range tx.Calls {
		d.call(&tx.Calls[i])
	}
	if flags&txHasFailure != 0 {
		f := &evm.Failure{Error: string(d.take(d.count(1)))}
		f.Revert = append(f.Revert, d.take(d.count(1))...)
		tx.Failure = f
	}
	return d.end("transaction")
}

// oldBlock reads what rows of version 1 say of the block.
func (d *decoder) oldBlock(tx *Tx, flags byte, much depth) {
	copy(tx.Block.Hash[:], d.take(evm.HashLen))
	tx.Block.TimeMilli, tx.Block.BaseFee = d.uv(), nil
	if flags&txHasBaseFee != 0 {
		tx.Block.BaseFee = d.optional(much)
	}
}

// optional reads an amount that only the whole of a transaction has.
func (d *decoder) optional(much depth) *uint256.Int {
	if much == wholeTx {
		return d.newU256()
	}
	d.passU256()
	return nil
}

func (d *decoder) fields(tx *evm.Tx, flags byte, much depth) {
	d.addr(&tx.From)
	if tx.Creation {
		d.addr(&tx.Contract)
	} else {
		d.addr(&tx.To)
	}
	tx.Type = d.u8()
	tx.Nonce, tx.GasLimit, tx.GasUsed = d.uv(), d.uv(), d.uv()
	d.u256(&tx.GasPrice)
	d.u256(&tx.Value)
	if flags&txHasMaxFee != 0 {
		tx.MaxFee = d.optional(much)
	}
	if flags&txHasPriorityFee != 0 {
		tx.MaxPriorityFee = d.optional(much)
	}
	d.input(tx, flags, much)
}

func (d *decoder) input(tx *evm.Tx, flags byte, much depth) {
	input, most := d.take(d.count(1)), math.MaxInt
	if much < wholeTx {
		most = maxSelector
	}
	ok := true
	if flags&txPacked == 0 {
		tx.Input = append(tx.Input, input...)
	} else if tx.Input, ok = appendUnpacked(tx.Input, input, most); !ok {
		d.fail("input")
	}
	tx.Input = tx.Input[:min(len(tx.Input), most)]
}

func (d *decoder) transfer(t *Transfer, last uint32) uint32 {
	*t = Transfer{Kind: TransferKind(d.u8())}
	step := d.uvMax(math.MaxUint32)
	if step > uint64(math.MaxUint32-last) {
		d.fail("log index")
	}
	t.LogIndex = last + uint32(step)
	d.addr(&t.Token)
	d.addr(&t.From)
	d.addr(&t.To)
	switch t.Kind {
	case ERC20:
		d.u256(&t.Value)
	case ERC721:
		d.u256(&t.ID)
		t.Value.SetOne()
	case ERC1155:
		t.Item = uint16(d.uvMax(math.MaxUint16))
		d.u256(&t.ID)
		d.u256(&t.Value)
	default:
		d.fail("transfer kind")
	}
	return t.LogIndex
}

func (d *decoder) call(c *evm.Call) {
	c.Type = evm.CallType(d.u8())
	reverted := d.u8()
	if reverted > 1 {
		d.fail("call flags")
	}
	c.Reverted = reverted == 1
	c.Depth = uint16(d.uvMax(math.MaxUint16))
	d.addr(&c.From)
	d.addr(&c.To)
	d.u256(&c.Value)
	c.Gas, c.GasUsed = d.uv(), d.uv()
}
