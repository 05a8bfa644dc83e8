package etherscan

import (
	"encoding/hex"
	"strconv"
	"strings"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// maxRange bounds the blocks that are gone through for lists of no address.
const maxRange = 10_000

// txlist lists the transactions that an address sent or received, or that made it.
func txlist(c *call) error {
	a, err := c.address("address")
	if err != nil {
		return err
	}
	w, err := c.window()
	if err != nil {
		return err
	}
	rows, err := c.collect(w, func(p index.Page, take takeRow) ([]byte, error) {
		return c.v.SignedTxs(a, p, func(tx *index.Tx) bool { return take(row{tx: refTo(tx)}) })
	})
	if err != nil {
		return err
	}
	return c.list(rows, noTxs, c.tx)
}

// tx writes a transaction.
func (c *call) tx(r *row) error {
	tx, err := c.whole(&r.tx.Hash)
	if err != nil {
		return err
	}
	w := &c.w
	c.place(&r.tx)
	w.count("nonce", tx.Nonce)
	w.address("from", &tx.From)
	c.receiver(tx)
	w.amount("value", &tx.Value)
	w.flag("isError", tx.Failed)
	w.flag("txreceipt_status", !tx.Failed)
	w.hex("input", tx.Input)
	if err := c.gas(&r.tx, tx); err != nil {
		return err
	}
	method, name := "0x", ""
	if !tx.Creation && len(tx.Input) >= 4 {
		selector := [4]byte(tx.Input)
		method, name = "0x"+hex.EncodeToString(selector[:]), c.x.MethodName(selector)
	}
	w.text("methodId", method)
	w.text("functionName", name)
	return nil
}

// place writes where a transaction is.
func (c *call) place(at *index.TxRef) {
	w := &c.w
	w.count("blockNumber", at.Block.Number)
	w.hex("blockHash", at.Block.Hash[:])
	w.count("timeStamp", at.Block.TimeMilli/1000)
	w.hex("hash", at.Hash[:])
	w.count("transactionIndex", uint64(at.Index))
	w.count("confirmations", c.confirmations(at.Block.Number))
}

// receiver writes the receiver of a transaction, or the contract that it made.
func (c *call) receiver(tx *index.Tx) {
	if tx.Creation {
		c.w.text("to", "")
		c.w.address("contractAddress", &tx.Contract)
		return
	}
	c.w.address("to", &tx.To)
	c.w.text("contractAddress", "")
}

// gas writes the gas of a transaction.
func (c *call) gas(at *index.TxRef, tx *index.Tx) error {
	c.w.count("gas", tx.GasLimit)
	c.w.amount("gasPrice", &tx.GasPrice)
	c.w.count("gasUsed", tx.GasUsed)
	sum, err := c.cumulative(at)
	c.w.count("cumulativeGasUsed", sum)
	return err
}

// txlistinternal lists calls: those of an address, of a transaction, or of blocks.
func txlistinternal(c *call) error {
	if c.arg("txhash") != "" {
		return c.callsOfTx()
	}
	w, err := c.window()
	if err != nil {
		return err
	}
	if c.arg("address") == "" {
		return c.callsOfBlocks(w)
	}
	a, err := c.address("address")
	if err != nil {
		return err
	}
	var last evm.Hash
	n := 0
	rows, err := c.collect(w, func(p index.Page, take takeRow) ([]byte, error) {
		return c.v.AddressParts(a, index.PartCalls, p, func(tx *index.Tx, _ int) bool {
			if n++; tx.Hash != last {
				n, last = 0, tx.Hash
			}
			return take(row{tx: refTo(tx), nth: n})
		})
	})
	if err != nil {
		return err
	}
	return c.list(rows, noTxs, func(r *row) error {
		tx, err := c.whole(&r.tx.Hash)
		if err != nil {
			return err
		}
		c.internal(tx, nthCall(tx, &a, r.nth, w.page.Ascending))
		return nil
	})
}

// nthCall returns which call of a transaction is the nth that concerns an address, from
// the first or from the last on.
func nthCall(tx *index.Tx, a *evm.Address, n int, ascending bool) int {
	for k := range tx.Calls {
		i := k
		if !ascending {
			i = len(tx.Calls) - 1 - k
		}
		if tx.Calls[i].Concerns(a) {
			if n--; n < 0 {
				return i
			}
		}
	}
	return -1
}

// callsOfTx lists the calls of a transaction.
func (c *call) callsOfTx() error {
	hash, err := c.hash("txhash")
	if err != nil {
		return err
	}
	tx, found, err := c.v.Tx(hash)
	if err != nil {
		return err
	}
	var rows []row
	if found {
		for i := range tx.Calls {
			rows = append(rows, row{nth: i})
		}
	}
	return c.list(rows, noTxs, func(r *row) error {
		c.internal(tx, r.nth)
		return nil
	})
}

// callsOfBlocks lists the calls of all transactions of some blocks.
func (c *call) callsOfBlocks(w window) error {
	from, to := max(w.page.From, c.v.First()), min(w.page.To-1, c.v.Tip().Number)
	if to >= from && to-from >= maxRange {
		return refusal("Without an address at most " + strconv.Itoa(maxRange) + " blocks are looked through")
	}
	var rows []row
	take := func(tx *index.Tx) {
		for i := range tx.Calls {
			if n := i; w.size > 0 {
				if c.passed++; !w.page.Ascending {
					n = len(tx.Calls) - 1 - i
				}
				if w.skip--; w.skip < 0 {
					rows = append(rows, row{tx: refTo(tx), nth: n})
					w.size--
				}
			}
		}
	}
	for k := uint64(0); from+k <= to && w.size > 0; k++ {
		if err := c.work.Err(); err != nil {
			return err
		}
		if err := c.callsOfBlock(from+k, to-k, w.page.Ascending, take); err != nil {
			return err
		}
		c.passed++
	}
	return c.list(rows, noTxs, func(r *row) error {
		tx, err := c.whole(&r.tx.Hash)
		if err == nil {
			c.internal(tx, r.nth)
		}
		return err
	})
}

// callsOfBlock hands over the transactions of the block at one of two heights.
func (c *call) callsOfBlock(up, down uint64, ascending bool, take func(tx *index.Tx)) error {
	if ascending {
		return c.v.WholeTxs(up, take)
	}
	var txs []*index.Tx
	err := c.v.WholeTxs(down, func(tx *index.Tx) { txs = append(txs, tx) })
	for i := len(txs) - 1; i >= 0; i-- {
		take(txs[i])
	}
	return err
}

// internal writes a call of a transaction.
func (c *call) internal(tx *index.Tx, i int) {
	w, of := &c.w, &tx.Calls[i]
	w.count("blockNumber", tx.Block.Number)
	w.count("timeStamp", tx.Block.TimeMilli/1000)
	w.hex("hash", tx.Hash[:])
	w.address("from", &of.From)
	switch {
	case !of.Type.Creates():
		w.address("to", &of.To)
		w.text("contractAddress", "")
	case of.To.IsZero():
		w.text("to", "")
		w.text("contractAddress", "")
	default:
		w.text("to", "")
		w.address("contractAddress", &of.To)
	}
	w.amount("value", &of.Value)
	w.text("input", "")
	w.text("type", strings.ToLower(of.Type.String()))
	w.count("gas", of.Gas)
	w.count("gasUsed", of.GasUsed)
	w.text("traceId", traceID(tx.Calls, i))
	w.flag("isError", of.Reverted)
	code := ""
	if of.Reverted {
		code = "execution reverted"
	}
	w.text("errCode", code)
}

// traceID returns where a call is in the tree of calls: for each call around it, and for
// itself, how many of the same came before.
func traceID(calls []evm.Call, i int) string {
	var at []int // of the call that is looked at
	for k := range calls[:i+1] {
		depth := max(int(calls[k].Depth), 1)
		for len(at) < depth {
			at = append(at, -1)
		}
		at = at[:depth]
		at[depth-1]++
	}
	var b strings.Builder
	for k, n := range at {
		if k > 0 {
			b.WriteByte('_')
		}
		b.WriteString(strconv.Itoa(max(n, 0)))
	}
	return b.String()
}
