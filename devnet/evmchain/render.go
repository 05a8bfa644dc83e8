package evmchain

import (
	"quorate/devnet/form"
	"quorate/engine/chain/evm"
)

// View says how to write a block when a test wants it wrong.
type View struct {
	// WrongParent: blocks have another parent.
	WrongParent bool
	// MissingReceipts leaves the last receipt of a block out.
	MissingReceipts bool
	// False is a result that is false in all blocks that are executed after their acceptance.
	False Result
}

const (
	zeroHash   = `"0x0000000000000000000000000000000000000000000000000000000000000000"`
	mixAndNone = `"mixHash":` + zeroHash + `,"nonce":"0x0000000000000000"`
)

// render writes a block with its total difficulty, its members in the order of their names.
func (b *block) render(w *form.Writer, cfg *Config, full bool, total uint64, view View) {
	parent, l := b.parent, b.late
	if view.WrongParent && b.number > 0 {
		parent = evm.Keccak(parent[:])
	}
	w.Open('{')
	w.Name("baseFeePerGas").Uint(b.baseFee)
	w.JSON(`"blobGasUsed":"0x0"`)
	if cfg.Atomic {
		w.Name("blockExtraData").Hex(b.extData)
	}
	w.JSON(`"blockGasCost":"0x0","difficulty":"0x1","excessBlobGas":"0x0"`)
	if cfg.Atomic {
		w.Name("extDataGasUsed").Uint(b.extDataGasUsed)
		w.Name("extDataHash").Hex(b.extDataHash[:])
	}
	w.Name("extraData").Hex(b.extra)
	w.Name("gasLimit").Uint(b.gasLimit)
	w.Name("gasUsed").Uint(b.gasUsed)
	w.Name("hash").Hex(b.hash[:])
	w.Name("logsBloom").Hex(b.bloom[:])
	w.JSON(`"minDelayExcess":"0x0"`)
	if l != nil {
		w.Name("minPriceExponent").Uint(l.least)
	}
	w.Name("miner").Hex(coinbaseAt[:])
	w.JSON(mixAndNone)
	w.Name("number").Uint(b.number)
	w.JSON(`"parentBeaconBlockRoot":` + zeroHash)
	w.Name("parentHash").Hex(parent[:])
	w.Name("receiptsRoot").Hex(b.receipts[:])
	if l != nil {
		w.Name("settledExcess").Uint(l.excess)
		w.Name("settledGasNumerator").Uint(l.part)
		w.Name("settledGasUnix").Uint(l.unix)
		w.Name("settledHeight").Uint(l.settled)
	}
	w.Name("sha3Uncles").Hex(emptyUncles[:])
	w.Name("size").Uint(b.size)
	w.Name("stateRoot").Hex(b.root[:])
	if l != nil {
		w.Name("targetExponent").Uint(l.target)
	}
	w.Name("timestamp").Uint(b.timeMilli / 1000)
	w.Name("timestampMilliseconds").Uint(b.timeMilli)
	w.Name("totalDifficulty").Uint(total)
	w.Name("transactions").Open('[')
	for _, t := range b.txs {
		if full {
			b.renderTx(w, cfg, t)
		} else {
			w.Hex(t.hash[:])
		}
	}
	w.Close(']')
	w.Name("transactionsRoot").Hex(b.txRoot[:])
	w.JSON(`"uncles":[]`)
	w.Close('}')
}

// renderHead writes the header as a subscription to new heads sends it.
func (b *block) renderHead(w *form.Writer, cfg *Config) {
	w.Open('{')
	w.Name("parentHash").Hex(b.parent[:])
	w.Name("sha3Uncles").Hex(emptyUncles[:])
	w.Name("miner").Hex(coinbaseAt[:])
	w.Name("stateRoot").Hex(b.root[:])
	w.Name("transactionsRoot").Hex(b.txRoot[:])
	w.Name("receiptsRoot").Hex(b.receipts[:])
	w.Name("logsBloom").Hex(b.bloom[:])
	w.JSON(`"difficulty":"0x1"`)
	w.Name("number").Uint(b.number)
	w.Name("gasLimit").Uint(b.gasLimit)
	w.Name("gasUsed").Uint(b.gasUsed)
	w.Name("timestamp").Uint(b.timeMilli / 1000)
	w.Name("extraData").Hex(b.extra)
	w.JSON(mixAndNone)
	if cfg.Atomic {
		w.Name("extDataHash").Hex(b.extDataHash[:])
	}
	w.Name("baseFeePerGas").Uint(b.baseFee)
	if cfg.Atomic {
		w.Name("extDataGasUsed").Uint(b.extDataGasUsed)
	}
	w.JSON(`"blockGasCost":"0x0","blobGasUsed":"0x0","excessBlobGas":"0x0","parentBeaconBlockRoot":` + zeroHash)
	w.Name("timestampMilliseconds").Uint(b.timeMilli)
	w.JSON(`"minDelayExcess":"0x0"`)
	b.renderLate(w, cfg)
	w.Name("hash").Hex(b.hash[:])
	w.Close('}')
}

// renderLate writes the members of a header of the new kind; nodes that know them write
// them for the old kind too, with nothing in them.
func (b *block) renderLate(w *form.Writer, cfg *Config) {
	l := b.late
	switch {
	case cfg.Helicon.IsZero() || !cfg.Atomic:
		return
	case l == nil:
		w.JSON(`"targetExponent":null,"minPriceExponent":null,"settledHeight":null,"settledGasUnix":null,"settledGasNumerator":null,"settledExcess":null`)
		return
	}
	w.Name("targetExponent").Uint(l.target)
	w.Name("minPriceExponent").Uint(l.least)
	w.Name("settledHeight").Uint(l.settled)
	w.Name("settledGasUnix").Uint(l.unix)
	w.Name("settledGasNumerator").Uint(l.part)
	w.Name("settledExcess").Uint(l.excess)
}

func (b *block) address(i uint32) *evm.Address { return &b.ledger.accounts[i].address }

func (b *block) renderTx(w *form.Writer, cfg *Config, t *tx) {
	w.Open('{')
	w.Name("blockHash").Hex(b.hash[:])
	w.Name("blockNumber").Uint(b.number)
	w.Name("from").Hex(b.address(t.from)[:])
	w.Name("gas").Uint(t.gasLimit)
	w.Name("gasPrice").Uint(t.shown)
	if t.typ == 2 {
		w.Name("maxFeePerGas").Uint(t.maxFee)
		w.Name("maxPriorityFeePerGas").Uint(t.tip)
	}
	w.Name("hash").Hex(t.hash[:])
	w.Name("input").Hex(t.input)
	w.Name("nonce").Uint(uint64(t.op.nonce))
	b.renderAccount(w.Name("to"), t.to)
	w.Name("transactionIndex").Uint(uint64(t.index)) // not negative
	w.Name("value").Wide(&t.value)
	w.Name("type").Uint(uint64(t.typ))
	if t.typ != 0 {
		w.Name("accessList").Open('[')
		b.renderAccess(w, t)
		w.Close(']')
	}
	if !t.unprotected {
		w.Name("chainId").Uint(cfg.EVMChainID)
	}
	w.Name("v").Uint(t.v(cfg.EVMChainID))
	w.Name("r").Wide(&t.sig.R)
	w.Name("s").Wide(&t.sig.S)
	if t.typ != 0 {
		w.Name("yParity").Uint(uint64(t.sig.Parity))
	}
	w.Close('}')
}

// renderAccess writes what an access list holds.
func (b *block) renderAccess(w *form.Writer, t *tx) {
	if t.access == noAccount {
		return
	}
	w.Open('{')
	w.Name("address").Hex(b.address(t.access)[:])
	w.Name("storageKeys").Open('[')
	for i := range t.slots {
		slot := t.slot(i)
		w.Hex(slot[:])
	}
	w.Close(']')
	w.Close('}')
}

func (b *block) renderAccount(w *form.Writer, i uint32) {
	if i == noAccount {
		w.JSON("null")
		return
	}
	w.Hex(b.address(i)[:])
}

func (b *block) renderReceipt(w *form.Writer, t *tx) {
	w.Open('{')
	w.Name("blockHash").Hex(b.hash[:])
	w.Name("blockNumber").Uint(b.number)
	b.renderAccount(w.Name("contractAddress"), t.made)
	w.Name("cumulativeGasUsed").Uint(t.cumulative)
	w.Name("effectiveGasPrice").Uint(t.price)
	w.Name("from").Hex(b.address(t.from)[:])
	w.Name("gasUsed").Uint(t.gasUsed)
	w.Name("logs").Open('[')
	for i := range t.logs {
		b.renderLog(w, t, i)
	}
	w.Close(']')
	w.Name("logsBloom").Hex(t.bloom[:])
	w.Name("status").Uint(t.status())
	b.renderAccount(w.Name("to"), t.to)
	w.Name("transactionHash").Hex(t.hash[:])
	w.Name("transactionIndex").Uint(uint64(t.index)) // not negative
	w.Name("type").Uint(uint64(t.typ))
	w.Close('}')
}

func (b *block) renderLog(w *form.Writer, t *tx, i int) {
	w.Open('{')
	t.logs[i].render(w)
	w.Name("blockNumber").Uint(b.number)
	w.Name("transactionHash").Hex(t.hash[:])
	w.Name("transactionIndex").Uint(uint64(t.index)) // not negative
	w.Name("blockHash").Hex(b.hash[:])
	w.Name("logIndex").Uint(uint64(t.firstLog + i)) // not negative
	w.JSON(`"removed":false`)
	w.Close('}')
}

// render writes the members that a log has everywhere.
func (l *log) render(w *form.Writer) {
	w.Name("address").Hex(l.address.address[:])
	w.Name("topics").Open('[')
	for i := range l.topics {
		w.Hex(l.topics[i].hash[:])
	}
	w.Close(']')
	w.Name("data").Hex(l.data)
}
