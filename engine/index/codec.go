package index

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// The transaction codec, version 2. uv is an unsigned varint; u256 is a length
// byte and that many big-endian bytes without leading zeros; addr is a uv, the
// position of the address in the list.
//
//	u8 2 | u8 flags | hash |
//	uv number of addresses | addresses, 20 bytes each, in order of first use
//	addr from | addr contract if creation, else addr to
//	u8 type | uv nonce | uv gas limit | uv gas used | u256 gas price | u256 value
//	[u256 max fee] [u256 max priority fee] | uv length of input | input
//	uv transfers | each: u8 kind | uv log index, less that before | addr token | addr from | addr to |
//	               ERC-20: u256 value; ERC-721: u256 ID; ERC-1155: uv item | u256 ID | u256 value
//	uv calls     | each: u8 type | u8 1 = reverted | uv depth | addr from | addr to | u256 value | uv gas | uv gas used |
//	[uv length of error | error | uv length of revert data | revert data]
//
// The failure is there if its flag is set: rows that were made without it are read as
// they are, and a block without failures has the same rows as before. Number and index are in the key, what else a transaction says of its block is in the
// block's row, and the input may be packed. In version 1 it was not, and after the hash
// came: block hash | uv block time, Unix ms | [u256 base fee].
const (
	txVersion    = 2
	oldTxVersion = 1
	// txFlagsAt is where the flags are, for readers that want nothing else.
	txFlagsAt = 1
)

const (
	txFailed = 1 << iota
	txCreation
	txTraced
	txHasBaseFee // in version 1
	txHasMaxFee
	txHasPriorityFee
	txPacked     // not in version 1
	txHasFailure // the last one: flags are a byte
)

// errCodec is wrapped by the errors of rows that are not what was written.
var errCodec = errors.New("damaged row")

type txEncoder struct {
	places map[evm.Address]uint64
	list   []byte
	body   []byte
	packed []byte // the input
}

func (e *txEncoder) addr(a evm.Address) {
	n, ok := e.places[a]
	if !ok {
		n = uint64(len(e.places))
		e.places[a] = n
		e.list = append(e.list, a[:]...)
	}
	e.uv(n)
}

func (e *txEncoder) uv(v uint64)         { e.body = binary.AppendUvarint(e.body, v) }
func (e *txEncoder) u256(v *uint256.Int) { e.body = appendU256(e.body, v) }

func appendU256(b []byte, v *uint256.Int) []byte {
	n := v.ByteLen()
	word := v.Bytes32()
	return append(append(b, byte(n)), word[32-n:]...)
}

// append appends the encoding of tx to dst. The transfers' log indexes do not fall.
func (e *txEncoder) append(dst []byte, tx *evm.Tx, transfers []Transfer, traced bool) []byte {
	input := tx.Input
	e.packed = appendPacked(e.packed[:0], input)
	packed := len(e.packed) < len(input)
	if packed {
		input = e.packed
	}
	e.all(tx, transfers, input)
	flags := byte(0)
	for _, f := range []struct {
		on  bool
		bit byte
	}{
		{tx.Failed, txFailed},
		{tx.Creation, txCreation},
		{traced, txTraced},
		{tx.MaxFee != nil, txHasMaxFee},
		{tx.MaxPriorityFee != nil, txHasPriorityFee},
		{packed, txPacked},
		{tx.Failure != nil, txHasFailure},
	} {
		if f.on {
			flags |= f.bit
		}
	}
	dst = append(append(dst, txVersion, flags), tx.Hash[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(e.places)))
	return append(append(dst, e.list...), e.body...)
}

// all encodes what has addresses in it, and with that all of them.
func (e *txEncoder) all(tx *evm.Tx, transfers []Transfer, input []byte) {
	if e.places == nil {
		e.places = map[evm.Address]uint64{}
	}
	clear(e.places)
	e.list, e.body = e.list[:0], e.body[:0]
	e.fields(tx)
	e.uv(uint64(len(input)))
	e.body = append(e.body, input...)
	e.uv(uint64(len(transfers)))
	last := uint32(0)
	for i := range transfers {
		last = e.transfer(&transfers[i], last)
	}
	e.uv(uint64(len(tx.Calls)))
	for i := range tx.Calls {
		e.call(&tx.Calls[i])
	}
	if f := tx.Failure; f != nil {
		e.uv(uint64(len(f.Error)))
		e.body = append(e.body, f.Error...)
		e.uv(uint64(len(f.Revert)))
		e.body = append(e.body, f.Revert...)
	}
}

func (e *txEncoder) fields(tx *evm.Tx) {
	e.addr(tx.From)
	if tx.Creation {
		e.addr(tx.Contract)
	} else {
		e.addr(tx.To)
	}
	e.body = append(e.body, tx.Type)
	e.uv(tx.Nonce)
	e.uv(tx.GasLimit)
	e.uv(tx.GasUsed)
	e.u256(&tx.GasPrice)
	e.u256(&tx.Value)
	if tx.MaxFee != nil {
		e.u256(tx.MaxFee)
	}
	if tx.MaxPriorityFee != nil {
		e.u256(tx.MaxPriorityFee)
	}
}

func (e *txEncoder) transfer(t *Transfer, last uint32) uint32 {
	e.body = append(e.body, byte(t.Kind))
	e.uv(uint64(t.LogIndex - last))
	e.addr(t.Token)
	e.addr(t.From)
	e.addr(t.To)
	e.body = appendTransferred(e.body, t)
	return t.LogIndex
}

func (e *txEncoder) call(c *evm.Call) {
	reverted := byte(0)
	if c.Reverted {
		reverted = 1
	}
	e.body = append(e.body, byte(c.Type), reverted)
	e.uv(uint64(c.Depth))
	e.addr(c.From)
	e.addr(c.To)
	e.u256(&c.Value)
	e.uv(c.Gas)
	e.uv(c.GasUsed)
}

// The header codec, version 2:
//
//	u8 2 | u8 flags (1 traced, 2 has base fee, 4 has gas cost, 8 reserved) | hash | parent |
//	miner | uv time, Unix ms | uv gas limit | uv gas used | uv size | uv transactions |
//	[u256 base fee] | u256 fees | [u256 gas cost] | [uv reserved gas | u256 its
//	base fee | uv settled height]
//
// Version 1 had neither fees nor gas cost.
const (
	headerVersion = 2

	headerTraced     = 1
	headerHasBaseFee = 2
	headerHasGasCost = 4
	headerReserved   = 8
	headerFlagsEnd   = 16
)

// appendHeader appends the header of a block, with what was paid for its transactions;
// nil is as in version 1. gasCost is nil if it is not known.
func appendHeader(dst []byte, b *evm.Block, fees, gasCost *uint256.Int) []byte {
	version, flags := byte(1), byte(0)
	if fees != nil {
		version = headerVersion
	}
	if gasCost != nil {
		flags |= headerHasGasCost
	}
	if b.Traced {
		flags |= headerTraced
	}
	if b.BaseFee != nil {
		flags |= headerHasBaseFee
	}
	if b.Reserved != nil && fees != nil {
		flags |= headerReserved
	}
	dst = append(dst, version, flags)
	dst = append(append(append(dst, b.Hash[:]...), b.Parent[:]...), b.Miner[:]...)
	for _, v := range []uint64{b.TimeMilli, b.GasLimit, b.GasUsed, b.Size, uint64(len(b.Txs))} {
		dst = binary.AppendUvarint(dst, v)
	}
	if b.BaseFee != nil {
		dst = appendU256(dst, b.BaseFee)
	}
	if fees != nil {
		dst = appendU256(dst, fees)
	}
	if gasCost != nil {
		dst = appendU256(dst, gasCost)
	}
	if flags&headerReserved != 0 {
		dst = appendU256(binary.AppendUvarint(dst, b.Reserved.Gas), &b.Reserved.BaseFee)
		dst = binary.AppendUvarint(dst, b.Reserved.Settled)
	}
	return dst
}

// feesOf returns what was paid for the gas of all transactions.
func feesOf(b *evm.Block) (sum uint256.Int) {
	var fee uint256.Int
	for i := range b.Txs {
		tx := &b.Txs[i]
		sum.Add(&sum, fee.Mul(fee.SetUint64(tx.GasUsed), &tx.GasPrice))
	}
	return sum
}

func decodeHeader(number uint64, b []byte) (Header, error) {
	h := Header{BlockRef: BlockRef{Number: number}}
	d := decoder{b: b}
	version := d.u8()
	if version < 1 || version > headerVersion {
		d.fail("header version")
	}
	flags := d.u8()
	if flags >= headerFlagsEnd || version == 1 && flags&(headerHasGasCost|headerReserved) != 0 {
		d.fail("header flags")
	}
	copy(h.Hash[:], d.take(evm.HashLen))
	copy(h.Parent[:], d.take(evm.HashLen))
	copy(h.Miner[:], d.take(evm.AddressLen))
	h.TimeMilli, h.GasLimit, h.GasUsed, h.Size = d.uv(), d.uv(), d.uv(), d.uv()
	h.TxCount = uint32(d.uvMax(1<<32 - 1))
	h.Traced = flags&headerTraced != 0
	if flags&headerHasBaseFee != 0 {
		h.BaseFee = d.newU256()
	}
	if version > 1 {
		h.Fees = d.newU256()
	}
	if flags&headerHasGasCost != 0 {
		h.GasCost = d.newU256()
	}
	if flags&headerReserved != 0 {
		h.Reserved = &evm.Reserved{Gas: d.uv(), BaseFee: *d.newU256(), Settled: d.uv()}
	}
	return h, d.end("header")
}

// The token codec, version 1: u8 1 | u8 kind | u8 has decimals | u8 decimals |
// uv length of name | name | symbol.
const tokenVersion = 1

func appendToken(dst []byte, t *TokenMeta) []byte {
	has := byte(0)
	if t.HasDecimals {
		has = 1
	}
	dst = append(dst, tokenVersion, byte(t.Kind), has, t.Decimals)
	dst = binary.AppendUvarint(dst, uint64(len(t.Name)))
	return append(append(dst, t.Name...), t.Symbol...)
}

func decodeToken(b []byte) (t TokenMeta, err error) {
	d := decoder{b: b}
	if d.u8() != tokenVersion {
		d.fail("token version")
	}
	t.Kind = TransferKind(d.u8())
	t.HasDecimals = d.u8() == 1
	t.Decimals = d.u8()
	t.Name = string(d.take(int(d.uvMax(uint64(len(b))))))
	t.Symbol = string(d.take(len(d.b)))
	return t, d.end("token")
}

// The balance codec, of ERC-20 tokens: u8 flags (1 doubtful, 2 below its peak) |
// [u256 peak] | amount, big-endian without leading zeros.
const (
	balanceDoubtful = 1 << iota
	balanceBelowPeak
	balanceFlagsEnd
)

type balance struct {
	amount uint256.Int
	// peak is the highest amount after any block so far.
	peak     uint256.Int
	doubtful bool
}

func appendAmount(dst []byte, v *uint256.Int) []byte {
	word := v.Bytes32()
	return append(dst, word[32-v.ByteLen():]...)
}

func decodeAmount(b []byte) (v uint256.Int, err error) {
	if len(b) > 32 {
		return v, fmt.Errorf("%w: amount of %d bytes", errCodec, len(b))
	}
	v.SetBytes(b)
	return v, nil
}

func (b *balance) append(dst []byte) []byte {
	flags := byte(0)
	if b.doubtful {
		flags |= balanceDoubtful
	}
	if !b.amount.Lt(&b.peak) {
		return appendAmount(append(dst, flags), &b.amount)
	}
	dst = appendU256(append(dst, flags|balanceBelowPeak), &b.peak)
	return appendAmount(dst, &b.amount)
}

func (b *balance) decode(v []byte) (err error) {
	if len(v) == 0 || v[0] >= balanceFlagsEnd {
		return fmt.Errorf("%w: token balance", errCodec)
	}
	d := decoder{b: v[1:]}
	below := v[0]&balanceBelowPeak != 0
	if below {
		d.u256(&b.peak)
	}
	if b.amount, err = decodeAmount(d.b); err != nil || d.err != nil {
		return errors.Join(err, d.err)
	}
	if !below {
		b.peak = b.amount
	} else if !b.amount.Lt(&b.peak) {
		return fmt.Errorf("%w: token balance above its peak", errCodec)
	}
	b.doubtful = v[0]&balanceDoubtful != 0
	return nil
}
