package evm

import (
	"bytes"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// A transaction is written as
//
//	flags
//	encoding                                     if txRaw
//	sender, gas used
//	type, nonce, receiver, value, gas limit,
//	  fees, input                                if txMembers: those that the encoding does not say
//	hash 32, price, contract, index              each if flagged: it does not follow from the rest
//	logs                                         if txLogs: count; address, topics, data,
//	                                             the index only if the block's flags say so
//	calls                                        if txCalls: count; type and flags, depth, from, to, value, gas, gas used
//	failure                                      if txFailure: error, revert data
const (
	txRaw = 1 << iota
	txFailed
	txLogs
	txCalls
	txMembers
	txHash
	txPrice
	txContract
	txIndex
	// With txMembers:
	txCreation
	txMaxFee
	txTip
	// Since version 2:
	txFailure
)

// The least bytes of what there can be many of, so that a count bounds the memory
// that is asked for.
const (
	leastTx, leastLog, leastTopic, leastCall, leastBalance, leastAtomic = 4, 3, 1, 7, 3, 3
)

// callReverted is added to the type of a call.
const callReverted = 0x80

// flagsOf says what of a transaction must be written.
func (e *encoder) flagsOf(t *evm.Tx, i int, b *evm.Block) (flags uint64) {
	set := func(on bool, flag uint64) {
		if on {
			flags |= flag
		}
	}
	set(t.Failed, txFailed)
	set(len(t.Logs) > 0, txLogs)
	set(len(t.Calls) > 0, txCalls)
	set(t.Failure != nil, txFailure)
	set(t.Index != uint32(i), txIndex)
	set(t.Contract != contractOf(t), txContract)
	p := &e.parsed
	*p = evm.Tx{}
	if len(t.Raw) == 0 {
		return flags | txMembers | txHash | e.memberFlags(t, b)
	}
	flags |= txRaw
	set(*e.hash.Sum(t.Raw) != t.Hash, txHash)
	if consensus.ParseTx(t.Raw, p, &e.signed) != nil || !sameMembers(t, p) {
		*p = evm.Tx{}
		return flags | txMembers | e.memberFlags(t, b)
	}
	set(consensus.EffectivePrice(p, b.BaseFee) != t.GasPrice, txPrice)
	return flags
}

// memberFlags are the flags of a transaction whose members are written out.
func (e *encoder) memberFlags(t *evm.Tx, b *evm.Block) (flags uint64) {
	if t.Creation {
		flags |= txCreation
	}
	if t.MaxFee != nil {
		flags |= txMaxFee
	}
	if t.MaxPriorityFee != nil {
		flags |= txTip
	}
	p := evm.Tx{MaxFee: t.MaxFee, MaxPriorityFee: t.MaxPriorityFee}
	if consensus.EffectivePrice(&p, b.BaseFee) != t.GasPrice {
		flags |= txPrice
	}
	return flags
}

func contractOf(t *evm.Tx) evm.Address {
	if !t.Creation {
		return evm.Address{}
	}
	return evm.CreateAddress(t.From, t.Nonce)
}

// sameMembers compares what the encoding of a transaction says.
func sameMembers(t, p *evm.Tx) bool {
	return t.Type == p.Type && t.Nonce == p.Nonce && t.To == p.To && t.Creation == p.Creation &&
		t.Value == p.Value && t.GasLimit == p.GasLimit && bytes.Equal(t.Input, p.Input) &&
		sameFee(t.MaxFee, p.MaxFee) && sameFee(t.MaxPriorityFee, p.MaxPriorityFee)
}

func sameFee(a, b *uint256.Int) bool { return (a == nil) == (b == nil) && (a == nil || a.Eq(b)) }

// tx appends a transaction.
func (e *encoder) tx(t *evm.Tx, i int, b *evm.Block, indexes bool) {
	w := &e.w
	flags := e.flagsOf(t, i, b)
	w.uint(flags)
	if flags&txRaw != 0 {
		w.bytes(t.Raw)
		if flags&txMembers == 0 && !t.Creation {
			w.number(&t.To)
		}
	}
	w.address(&t.From)
	w.uint(t.GasUsed)
	if flags&txMembers != 0 {
		w.uint(uint64(t.Type))
		w.uint(t.Nonce)
		w.address(&t.To)
		w.wide(&t.Value)
		w.uint(t.GasLimit)
		if flags&txMaxFee != 0 {
			w.wide(t.MaxFee)
		}
		if flags&txTip != 0 {
			w.wide(t.MaxPriorityFee)
		}
		w.bytes(t.Input)
	}
	if flags&txHash != 0 {
		w.out = append(w.out, t.Hash[:]...)
	}
	if flags&txPrice != 0 {
		w.wide(&t.GasPrice)
	}
	if flags&txContract != 0 {
		w.address(&t.Contract)
	}
	if flags&txIndex != 0 {
		w.uint(uint64(t.Index))
	}
	if flags&txLogs != 0 {
		e.logs(t.Logs, indexes)
	}
	if flags&txCalls != 0 {
		e.calls(t.Calls)
	}
	if flags&txFailure != 0 {
		e.failure(t.Failure)
	}
}

func (e *encoder) failure(f *evm.Failure) {
	e.w.bytes([]byte(f.Error))
	e.w.bytes(f.Revert)
}

func (e *encoder) logs(logs []evm.Log, indexes bool) {
	w := &e.w
	w.uint(uint64(len(logs)))
	for i := range logs {
		l := &logs[i]
		w.address(&l.Address)
		w.uint(uint64(len(l.Topics)))
		for k := range l.Topics {
			w.topic(&l.Topics[k])
		}
		w.bytes(l.Data)
		if indexes {
			w.uint(uint64(l.Index))
		}
	}
}

func (e *encoder) calls(calls []evm.Call) {
	w := &e.w
	w.uint(uint64(len(calls)))
	for i := range calls {
		c := &calls[i]
		kind := byte(c.Type)
		if c.Reverted {
			kind |= callReverted
		}
		w.out = append(w.out, kind)
		w.uint(uint64(c.Depth))
		w.address(&c.From)
		w.address(&c.To)
		w.wide(&c.Value)
		w.uint(c.Gas)
		w.uint(c.GasUsed)
	}
}

// tx reads transaction number i.
func (d *decoder) tx(t *evm.Tx, i int, b *evm.Block) error {
	r := &d.r
	flags := r.uint()
	t.Index, t.Failed = uint32(i), flags&txFailed != 0
	if flags&txRaw != 0 {
		t.Raw = r.bytes()
		if flags&txMembers == 0 {
			if err := consensus.ParseTx(t.Raw, t, &d.signed); err != nil {
				return err
			}
			if !t.Creation {
				r.addresses = append(r.addresses, t.To)
			}
		}
	}
	t.From = r.address()
	t.GasUsed = r.uint()
	if flags&txMembers != 0 {
		d.members(t, flags)
	}
	if flags&txHash != 0 {
		t.Hash = r.hash()
	} else {
		t.Hash = *d.hash.Sum(t.Raw)
	}
	if flags&txPrice != 0 {
		r.wide(&t.GasPrice)
	} else {
		t.GasPrice = consensus.EffectivePrice(t, b.BaseFee)
	}
	if flags&txContract != 0 {
		t.Contract = r.address()
	} else {
		t.Contract = contractOf(t)
	}
	if flags&txIndex != 0 {
		t.Index = uint32(r.uint())
	}
	if flags&txLogs != 0 {
		d.txLogs(t)
	}
	if flags&txCalls != 0 {
		d.txCalls(t)
	}
	if flags&txFailure != 0 {
		t.Failure = d.failure()
	}
	return nil
}

func (d *decoder) failure() *evm.Failure {
	return &evm.Failure{Error: string(d.r.bytes()), Revert: d.r.bytes()}
}

func (d *decoder) members(t *evm.Tx, flags uint64) {
	r := &d.r
	t.Type, t.Nonce, t.To = uint8(r.uint()), r.uint(), r.address()
	r.wide(&t.Value)
	t.GasLimit = r.uint()
	t.Creation = flags&txCreation != 0
	if flags&txMaxFee != 0 {
		t.MaxFee = new(uint256.Int)
		r.wide(t.MaxFee)
	}
	if flags&txTip != 0 {
		t.MaxPriorityFee = new(uint256.Int)
		r.wide(t.MaxPriorityFee)
	}
	t.Input = r.bytes()
}

func (d *decoder) txLogs(t *evm.Tx) {
	r := &d.r
	n := r.count(leastLog)
	if n > len(d.logs) {
		r.fail()
		return
	}
	t.Logs, d.logs = d.logs[:n:n], d.logs[n:]
	for i := range t.Logs {
		l := &t.Logs[i]
		l.Address = r.address()
		topics := r.count(leastTopic)
		if topics > len(d.topics) {
			r.fail()
			return
		}
		if topics > 0 {
			l.Topics, d.topics = d.topics[:topics:topics], d.topics[topics:]
		}
		for k := range l.Topics {
			r.topic(&l.Topics[k])
		}
		l.Data = r.bytes()
		if d.indexes {
			l.Index = uint32(r.uint())
		} else {
			l.Index = d.log
			d.log++
		}
	}
}

func (d *decoder) txCalls(t *evm.Tx) {
	r := &d.r
	n := r.count(leastCall)
	if n > len(d.calls) {
		r.fail()
		return
	}
	t.Calls, d.calls = d.calls[:n:n], d.calls[n:]
	for i := range t.Calls {
		c := &t.Calls[i]
		if kind := r.take(1); kind != nil {
			c.Type, c.Reverted = evm.CallType(kind[0]&^callReverted), kind[0]&callReverted != 0
		}
		c.Depth = uint16(r.uint())
		c.From, c.To = r.address(), r.address()
		r.wide(&c.Value)
		c.Gas, c.GasUsed = r.uint(), r.uint()
	}
}
