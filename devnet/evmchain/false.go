package evmchain

import (
	"slices"

	"quorate/engine/chain/evm"
)

// Result names a result of the execution of a block in which a node can lie.
type Result uint8

// The results. All that a node says of a block fits the lie: what follows from the result in
// receipts, logs and traces is as false. From Helicon on nothing else in the block shows it,
// only the header that settles it does.
const (
	ResultNone       Result = iota
	ResultGasUsed           // of a transaction, and with it what it paid
	ResultPrice             // of all transactions that pay by the base fee
	ResultStatus            // a transaction failed that did not
	ResultLogAddress        // a log is another contract's
	ResultLogTopic
	ResultLogData
	ResultLogGone // the last log is not there
)

// seen is a block as a view has it. The caller holds the lock.
func (c *Chain) seen(height uint64, v View) *block {
	b := c.block(height)
	if v.False == ResultNone || b.late == nil {
		return b
	}
	own := *b
	own.txs = slices.Clone(b.txs)
	for i, t := range own.txs {
		if lie := *t; lie.falsify(v.False, &own, c.ledger) {
			own.txs[i] = &lie
			if v.False != ResultPrice { // a block has one base fee
				break
			}
		}
	}
	gas, logs := uint64(0), 0
	for i, t := range own.txs {
		tx := *t
		gas += tx.gasUsed
		tx.cumulative, tx.firstLog = gas, logs
		logs += len(tx.logs)
		own.txs[i] = &tx
	}
	return &own
}

// falsify makes a result of a copy of a transaction false; false if it has none that can be.
func (t *tx) falsify(r Result, b *block, l *ledger) bool {
	t.calls, t.logs = slices.Clone(t.calls), slices.Clone(t.logs)
	switch {
	case r == ResultGasUsed && t.gasUsed < t.gasLimit:
		t.gasUsed++
		t.calls[0].gasUsed++
	case r == ResultPrice && t.typ == 2:
		t.price-- // the base fee is above 0
	case r == ResultStatus && !t.failed && len(t.created) == 0:
		t.failed, t.logs, t.moves, t.touched = true, nil, nil, nil
		t.calls = t.calls[:1]
		t.calls[0].output = nil
		t.calls[0].revert("")
	case r >= ResultLogAddress && len(t.logs) > 0:
		t.falsifyLog(r, l)
	default:
		return false
	}
	t.bloom = bloom{}
	for i := range t.logs {
		t.logs[i].addTo(&t.bloom)
	}
	return true
}

// falsifyLog makes the last log false.
func (t *tx) falsifyLog(r Result, l *ledger) {
	last := &t.logs[len(t.logs)-1]
	switch r {
	case ResultLogAddress:
		other := contractAccount(cToken)
		if last.address.index == other {
			other = contractAccount(cOld)
		}
		last.address = l.accounts[other]
	case ResultLogTopic:
		last.topics = slices.Clone(last.topics)
		end := &last.topics[len(last.topics)-1]
		*end = topic{hash: evm.Keccak(end.hash[:])}
	case ResultLogData:
		last.data = slices.Clone(last.data)
		if len(last.data) == 0 {
			last.data = make([]byte, wordLen)
		}
		last.data[len(last.data)-1] ^= 1
	case ResultLogGone:
		t.logs = t.logs[:len(t.logs)-1]
	}
}
