package evm

import (
	"errors"
	"fmt"
	"sync"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// version is the first byte of a payload. Version 1 has neither failures nor what is
// reserved for a block; it is read as well.
const version = 2

// Flags of a block.
const (
	flagHeader = 1 << iota
	flagMembers
	flagTraced
	flagBalances
	flagExtData
	flagForeign
	flagUnverified
	flagBaseFee  // with flagMembers
	flagIndexes  // logs are not numbered from 0
	flagPaid     // the base fee that was paid is not the header's
	flagReserved // with flagMembers
)

// errForm is wrapped by errors about payloads that no block has.
var errForm = errors.New("malformed")

// encoder is the memory that encoding a block needs.
type encoder struct {
	w      writer
	hash   evm.Hasher
	signed consensus.Signed
	parsed evm.Tx
}

// decoder is the memory that decoding a block needs.
type decoder struct {
	r       reader
	version byte
	hash    evm.Hasher
	signed  consensus.Signed
	logs    []evm.Log
	topics  []evm.Hash
	calls   []evm.Call
	log     uint32 // number of the next log
	indexes bool
}

var (
	encoders = sync.Pool{New: func() any { return new(encoder) }}
	decoders = sync.Pool{New: func() any { return new(decoder) }}
)

// Append appends the payload of a block.
func Append(dst []byte, b *evm.Block) []byte {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.w.reset(dst)
	e.block(b)
	dst, e.w.out = e.w.out, nil
	return dst
}

// Decode reads the payload of a block into b, whose slices keep data: it must not
// change while b is in use.
func Decode(data []byte, b *evm.Block) error {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.r.reset(data)
	d.log = 0
	*b = evm.Block{}
	err := d.block(b)
	if err == nil && (d.r.bad || len(d.r.rest) > 0) {
		err = errors.New("it ends too early, or has too many bytes")
	}
	// What the block keeps is its own, and nothing of it is kept here.
	d.r.rest, d.logs, d.topics, d.calls = nil, nil, nil, nil
	if err != nil {
		return fmt.Errorf("%w payload of a block: %w", errForm, err)
	}
	return nil
}

func (e *encoder) block(b *evm.Block) {
	w := &e.w
	flags := e.blockFlags(b)
	w.out = append(w.out, version)
	w.uint(flags)
	if flags&flagHeader != 0 {
		w.bytes(b.Header)
	}
	if flags&flagPaid != 0 {
		w.wide(b.BaseFee)
	}
	if flags&flagMembers != 0 {
		w.out = append(append(append(w.out, b.Hash[:]...), b.Parent[:]...), b.Miner[:]...)
		w.uint(b.Number)
		w.uint(b.TimeMilli)
		w.uint(b.GasLimit)
		w.uint(b.GasUsed)
		if b.BaseFee != nil {
			w.wide(b.BaseFee)
		}
		if b.Reserved != nil {
			w.uint(b.Reserved.Gas)
			w.wide(&b.Reserved.BaseFee)
			w.uint(b.Reserved.Settled)
		}
	}
	w.uint(b.Size)
	if flags&flagExtData != 0 {
		w.bytes(b.ExtData)
	}
	if flags&flagForeign != 0 {
		w.bytes(b.Foreign)
	}
	if flags&flagUnverified != 0 {
		w.bytes([]byte(b.Unverified))
	}
	w.uint(uint64(len(b.Atomic)))
	for i := range b.Atomic {
		a := &b.Atomic[i]
		w.address(&a.Address)
		export := uint64(0)
		if a.Export {
			export = 1
		}
		w.uint(export)
		w.wide(&a.Wei)
	}
	e.counts(b)
	for i := range b.Txs {
		e.tx(&b.Txs[i], i, b, flags&flagIndexes != 0)
	}
	if flags&flagBalances != 0 {
		e.balances(b.Balances)
	}
}

// counts appends how many there are of what the decoder makes at once.
func (e *encoder) counts(b *evm.Block) {
	logs, topics, calls := 0, 0, 0
	for i := range b.Txs {
		logs += len(b.Txs[i].Logs)
		calls += len(b.Txs[i].Calls)
		for k := range b.Txs[i].Logs {
			topics += len(b.Txs[i].Logs[k].Topics)
		}
	}
	for _, n := range [...]int{len(b.Txs), logs, topics, calls} {
		e.w.uint(uint64(n))
	}
}

func (e *encoder) blockFlags(b *evm.Block) (flags uint64) {
	set := func(on bool, flag uint64) {
		if on {
			flags |= flag
		}
	}
	set(len(b.Header) > 0, flagHeader)
	set(b.Traced, flagTraced)
	set(b.Balances != nil, flagBalances)
	set(len(b.ExtData) > 0, flagExtData)
	set(len(b.Foreign) > 0, flagForeign)
	set(b.Unverified != "", flagUnverified)
	switch follows, paid := e.follows(b); {
	case !follows:
		flags |= flagMembers
		set(b.BaseFee != nil, flagBaseFee)
		set(b.Reserved != nil, flagReserved)
	default:
		set(paid, flagPaid)
	}
	next := uint32(0)
	for i := range b.Txs {
		for k := range b.Txs[i].Logs {
			set(b.Txs[i].Logs[k].Index != next, flagIndexes)
			next++
		}
	}
	return flags
}

// follows reports whether header and transactions say all that they should, and whether
// they do so but for the base fee.
func (e *encoder) follows(b *evm.Block) (follows, paid bool) {
	var h consensus.Header
	if len(b.Header) == 0 || *e.hash.Sum(b.Header) != b.Hash || h.Parse(b.Header) != nil {
		return false, false
	}
	var want evm.Block
	h.Fill(&want)
	if want.Reserved != nil {
		want.GasUsed = usedBy(b.Txs)
		paid = b.BaseFee != nil && !sameFee(b.BaseFee, want.BaseFee)
	}
	return b.Number == want.Number && b.Parent == want.Parent && b.TimeMilli == want.TimeMilli &&
		b.GasLimit == want.GasLimit && b.GasUsed == want.GasUsed && b.Miner == want.Miner &&
		(paid || sameFee(b.BaseFee, want.BaseFee)) && sameReserve(b.Reserved, want.Reserved), paid
}

func sameReserve(a, b *evm.Reserved) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func usedBy(txs []evm.Tx) (gas uint64) {
	for i := range txs {
		gas += txs[i].GasUsed
	}
	return gas
}

// known reads the version and reports whether it is one that can be read.
func (d *decoder) known() bool {
	v := d.r.take(1)
	if v != nil {
		d.version = v[0]
	}
	return v != nil && v[0] >= 1 && v[0] <= version
}

func (d *decoder) block(b *evm.Block) error {
	r := &d.r
	if !d.known() {
		return errors.New("of a version that is not known here")
	}
	flags := r.uint()
	if err := d.head(b, flags); err != nil {
		return err
	}
	b.Traced, d.indexes = flags&flagTraced != 0, flags&flagIndexes != 0
	b.Size = r.uint()
	if flags&flagExtData != 0 {
		b.ExtData = r.bytes()
	}
	if flags&flagForeign != 0 {
		b.Foreign = r.bytes()
	}
	if flags&flagUnverified != 0 {
		b.Unverified = string(r.bytes())
	}
	if n := r.count(leastAtomic); n > 0 {
		b.Atomic = make([]evm.Atomic, n)
	}
	for i := range b.Atomic {
		a := &b.Atomic[i]
		a.Address, a.Export = r.address(), r.uint() != 0
		r.wide(&a.Wei)
	}
	if err := d.txs(b); err != nil {
		return err
	}
	if flags&flagMembers == 0 && b.Reserved != nil {
		b.GasUsed = usedBy(b.Txs)
	}
	if flags&flagBalances != 0 {
		b.Balances = d.balances()
	}
	return nil
}

// head reads the header and what does not follow from it.
func (d *decoder) head(b *evm.Block, flags uint64) error {
	r := &d.r
	if flags&flagHeader != 0 {
		b.Header = r.bytes()
	}
	if flags&flagMembers == 0 {
		var h consensus.Header
		if err := h.Parse(b.Header); err != nil {
			return err
		}
		h.Fill(b)
		b.Hash = *d.hash.Sum(b.Header)
		if flags&flagPaid != 0 {
			b.BaseFee = new(uint256.Int)
			r.wide(b.BaseFee)
		}
		return nil
	}
	b.Hash, b.Parent = r.hash(), r.hash()
	copy(b.Miner[:], r.take(evm.AddressLen))
	b.Number, b.TimeMilli, b.GasLimit, b.GasUsed = r.uint(), r.uint(), r.uint(), r.uint()
	if flags&flagBaseFee != 0 {
		b.BaseFee = new(uint256.Int)
		r.wide(b.BaseFee)
	}
	if flags&flagReserved != 0 {
		b.Reserved = &evm.Reserved{Gas: r.uint()}
		r.wide(&b.Reserved.BaseFee)
		b.Reserved.Settled = r.uint()
	}
	return nil
}

// txs reads all transactions.
func (d *decoder) txs(b *evm.Block) error {
	r := &d.r
	txs, logs, topics, calls := r.count(leastTx), r.count(leastLog), r.count(leastTopic), r.count(leastCall)
	if r.bad || txs == 0 {
		return nil
	}
	b.Txs = make([]evm.Tx, txs)
	d.logs, d.topics, d.calls = make([]evm.Log, logs), make([]evm.Hash, topics), make([]evm.Call, calls)
	for i := range b.Txs {
		if err := d.tx(&b.Txs[i], i, b); err != nil {
			return fmt.Errorf("transaction %d: %w", i, err)
		}
		if r.bad {
			return nil
		}
	}
	if len(d.logs)+len(d.topics)+len(d.calls) > 0 {
		r.fail()
	}
	return nil
}
