package index

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// decoder reads fields one after the other. After a failure it gives zeros.
type decoder struct {
	b     []byte
	err   error
	addrs []byte // the transaction's list of addresses
	slab  *slab  // where things are allocated; nil allocates each alone
}

// slab allocates what many transactions consist of a few hundred at a time: what
// is read together is let go together. Nothing in it may be kept on its own, or
// all of it stays.
type slab struct {
	txs       []Tx
	transfers []Transfer
	calls     []evm.Call
	amounts   []uint256.Int
	bytes     []byte
}

// cut takes n things off what is left of room, which is made anew when that is
// too little: size is how many are made at once.
func cut[T any](room *[]T, n, size int) []T {
	if n > len(*room) {
		*room = make([]T, max(n, size))
	}
	part := (*room)[:n:n]
	*room = (*room)[n:]
	return part
}

func (d *decoder) newTx() *Tx {
	if d.slab == nil {
		return &Tx{}
	}
	return &cut(&d.slab.txs, 1, 32)[0]
}

func (d *decoder) newTransfers(n int) []Transfer {
	if d.slab == nil {
		return make([]Transfer, n)
	}
	return cut(&d.slab.transfers, n, 64)
}

func (d *decoder) newCalls(n int) []evm.Call {
	if d.slab == nil {
		return make([]evm.Call, n)
	}
	return cut(&d.slab.calls, n, 32)
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

func (d *decoder) take(n int) []byte {
	if n > len(d.b) {
		d.fail("truncated")
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) u8() byte {
	b := d.take(1)
	if b == nil {
		return 0
	}
	return b[0]
}

func (d *decoder) uv() uint64 {
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
	v.SetBytes(b)
}

func (d *decoder) newU256() *uint256.Int {
	var v *uint256.Int
	if d.slab == nil {
		v = new(uint256.Int)
	} else {
		v = &cut(&d.slab.amounts, 1, 128)[0]
	}
	d.u256(v)
	return v
}

// newBytes returns a copy of the next n bytes.
func (d *decoder) newBytes(n int) []byte {
	b := d.take(n)
	if d.slab == nil {
		return append([]byte(nil), b...)
	}
	out := cut(&d.slab.bytes, len(b), 16<<10)
	copy(out, b)
	return out
}

func (d *decoder) addr(a *evm.Address) {
	i := int(d.uvMax(math.MaxInt32)) * evm.AddressLen
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

// decodeTx reads a transaction; nothing of it refers to b afterwards. It is
// allocated in s unless that is nil.
func decodeTx(number uint64, index uint32, b []byte, s *slab) (*Tx, error) {
	d := decoder{b: b, slab: s}
	tx := d.newTx()
	if d.u8() != txVersion {
		d.fail("transaction version")
	}
	flags := d.u8()
	if flags >= txFlagsEnd {
		d.fail("transaction flags")
	}
	tx.Block.Number, tx.Index = number, index
	copy(tx.Hash[:], d.take(evm.HashLen))
	copy(tx.Block.Hash[:], d.take(evm.HashLen))
	tx.Block.TimeMilli = d.uv()
	if flags&txHasBaseFee != 0 {
		tx.Block.BaseFee = d.newU256()
	}
	d.addrs = d.take(d.count(evm.AddressLen) * evm.AddressLen)
	tx.Failed, tx.Creation, tx.Traced = flags&txFailed != 0, flags&txCreation != 0, flags&txTraced != 0
	d.fields(&tx.Tx, flags)
	if n := d.count(minTransfer); n > 0 {
		tx.Transfers = d.newTransfers(n)
	}
	last := uint32(0)
	for i := range tx.Transfers {
		last = d.transfer(&tx.Transfers[i], last)
	}
	if n := d.count(minCall); n > 0 {
		tx.Calls = d.newCalls(n)
	}
	for i := range tx.Calls {
		d.call(&tx.Calls[i])
	}
	if err := d.end("transaction"); err != nil {
		return nil, err
	}
	return tx, nil
}

func (d *decoder) fields(tx *evm.Tx, flags byte) {
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
		tx.MaxFee = d.newU256()
	}
	if flags&txHasPriorityFee != 0 {
		tx.MaxPriorityFee = d.newU256()
	}
	if n := d.count(1); n > 0 {
		tx.Input = d.newBytes(n)
	}
}

func (d *decoder) transfer(t *Transfer, last uint32) uint32 {
	t.Kind = TransferKind(d.u8())
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
