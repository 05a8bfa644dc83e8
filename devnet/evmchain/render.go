package evmchain

import (
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

const zeroWord = `"0x0000000000000000000000000000000000000000000000000000000000000000"`

// appendHeaderFields appends the members of a header that a block shares with
// a header alone, in the order of their names, from dst's open brace on.
func (b *block) appendBlock(dst []byte, cfg *Config, full bool, view View) []byte {
	parent := b.parent
	if view.WrongParent && b.number > 0 {
		parent = evm.Keccak(parent[:])
	}
	dst = append(dst, `{"baseFeePerGas":`...)
	dst = jsonUint(dst, b.baseFee)
	dst = append(dst, `,"blobGasUsed":"0x0"`...)
	if cfg.Atomic {
		dst = append(dst, `,"blockExtraData":`...)
		dst = jsonBytes(dst, b.extData)
	}
	dst = append(dst, `,"blockGasCost":"0x0","difficulty":"0x1","excessBlobGas":"0x0"`...)
	dst = b.appendExt(dst, cfg)
	dst = append(dst, `,"extraData":`...)
	dst = jsonBytes(dst, b.extra)
	dst = append(dst, `,"gasLimit":`...)
	dst = jsonUint(dst, b.gasLimit)
	dst = append(dst, `,"gasUsed":`...)
	dst = jsonUint(dst, b.gasUsed)
	dst = append(dst, `,"hash":`...)
	dst = jsonHash(dst, &b.hash)
	dst = append(dst, `,"logsBloom":`...)
	dst = jsonBytes(dst, b.bloom[:])
	dst = append(dst, `,"minDelayExcess":"0x0"`...)
	if b.late != nil {
		dst = appendMember(dst, "minPriceExponent", b.late.least)
	}
	dst = append(dst, `,"miner":`...)
	dst = jsonAddress(dst, &coinbaseAt)
	dst = append(dst, `,"mixHash":`+zeroWord+`,"nonce":"0x0000000000000000","number":`...)
	dst = jsonUint(dst, b.number)
	dst = append(dst, `,"parentBeaconBlockRoot":`+zeroWord+`,"parentHash":`...)
	dst = jsonHash(dst, &parent)
	dst = append(dst, `,"receiptsRoot":`...)
	dst = jsonHash(dst, &b.receipts)
	if l := b.late; l != nil {
		dst = appendMember(dst, "settledExcess", l.excess)
		dst = appendMember(dst, "settledGasNumerator", l.part)
		dst = appendMember(dst, "settledGasUnix", l.unix)
		dst = appendMember(dst, "settledHeight", l.settled)
	}
	dst = append(dst, `,"sha3Uncles":`...)
	dst = jsonHash(dst, &emptyUncles)
	dst = append(dst, `,"size":`...)
	dst = jsonUint(dst, uint64(b.size)) // not negative
	dst = append(dst, `,"stateRoot":`...)
	dst = jsonHash(dst, &b.root)
	if b.late != nil {
		dst = appendMember(dst, "targetExponent", b.late.target)
	}
	dst = append(dst, `,"timestamp":`...)
	dst = jsonUint(dst, b.timeMilli/1000)
	dst = append(dst, `,"timestampMilliseconds":`...)
	dst = jsonUint(dst, b.timeMilli)
	dst = append(dst, `,"totalDifficulty":`...)
	dst = jsonUint(dst, b.number)
	dst = append(dst, `,"transactions":[`...)
	for i, t := range b.txs {
		if i > 0 {
			dst = append(dst, ',')
		}
		if full {
			dst = b.appendTx(dst, cfg, t)
		} else {
			dst = jsonHash(dst, &t.hash)
		}
	}
	dst = append(dst, `],"transactionsRoot":`...)
	dst = jsonHash(dst, &b.txRoot)
	return append(dst, `,"uncles":[]}`...)
}

// appendExt appends the members that only the C-Chain's headers have.
func (b *block) appendExt(dst []byte, cfg *Config) []byte {
	if !cfg.Atomic {
		return dst
	}
	dst = append(dst, `,"extDataGasUsed":`...)
	dst = jsonUint(dst, b.extDataGasUsed)
	dst = append(dst, `,"extDataHash":`...)
	return jsonHash(dst, &b.extDataHash)
}

// appendHead appends the header as a subscription to new heads gives it.
func (b *block) appendHead(dst []byte, cfg *Config) []byte {
	dst = append(dst, `{"parentHash":`...)
	dst = jsonHash(dst, &b.parent)
	dst = append(dst, `,"sha3Uncles":`...)
	dst = jsonHash(dst, &emptyUncles)
	dst = append(dst, `,"miner":`...)
	dst = jsonAddress(dst, &coinbaseAt)
	dst = append(dst, `,"stateRoot":`...)
	dst = jsonHash(dst, &b.root)
	dst = append(dst, `,"transactionsRoot":`...)
	dst = jsonHash(dst, &b.txRoot)
	dst = append(dst, `,"receiptsRoot":`...)
	dst = jsonHash(dst, &b.receipts)
	dst = append(dst, `,"logsBloom":`...)
	dst = jsonBytes(dst, b.bloom[:])
	dst = append(dst, `,"difficulty":"0x1","number":`...)
	dst = jsonUint(dst, b.number)
	dst = append(dst, `,"gasLimit":`...)
	dst = jsonUint(dst, b.gasLimit)
	dst = append(dst, `,"gasUsed":`...)
	dst = jsonUint(dst, b.gasUsed)
	dst = append(dst, `,"timestamp":`...)
	dst = jsonUint(dst, b.timeMilli/1000)
	dst = append(dst, `,"extraData":`...)
	dst = jsonBytes(dst, b.extra)
	dst = append(dst, `,"mixHash":`+zeroWord+`,"nonce":"0x0000000000000000"`...)
	if cfg.Atomic {
		dst = append(dst, `,"extDataHash":`...)
		dst = jsonHash(dst, &b.extDataHash)
	}
	dst = append(dst, `,"baseFeePerGas":`...)
	dst = jsonUint(dst, b.baseFee)
	if cfg.Atomic {
		dst = append(dst, `,"extDataGasUsed":`...)
		dst = jsonUint(dst, b.extDataGasUsed)
	}
	dst = append(dst, `,"blockGasCost":"0x0","blobGasUsed":"0x0","excessBlobGas":"0x0","parentBeaconBlockRoot":`+zeroWord+`,"timestampMilliseconds":`...)
	dst = jsonUint(dst, b.timeMilli)
	dst = append(dst, `,"minDelayExcess":"0x0"`...)
	dst = b.appendLate(dst, cfg)
	dst = append(dst, `,"hash":`...)
	dst = jsonHash(dst, &b.hash)
	return append(dst, '}')
}

// appendLate appends the members of a header of the new kind; nodes that know them append
// them for the old kind too, with nothing in them.
func (b *block) appendLate(dst []byte, cfg *Config) []byte {
	l := b.late
	switch {
	case cfg.Helicon.IsZero() || !cfg.Atomic:
		return dst
	case l == nil:
		return append(dst, `,"targetExponent":null,"minPriceExponent":null,"settledHeight":null,"settledGasUnix":null,"settledGasNumerator":null,"settledExcess":null`...)
	}
	dst = appendMember(dst, "targetExponent", l.target)
	dst = appendMember(dst, "minPriceExponent", l.least)
	dst = appendMember(dst, "settledHeight", l.settled)
	dst = appendMember(dst, "settledGasUnix", l.unix)
	dst = appendMember(dst, "settledGasNumerator", l.part)
	return appendMember(dst, "settledExcess", l.excess)
}

func appendMember(dst []byte, name string, v uint64) []byte {
	dst = append(append(append(dst, ',', '"'), name...), '"', ':')
	return jsonUint(dst, v)
}

func (b *block) address(i uint32) *evm.Address { return &b.ledger.accounts[i].address }

func (b *block) appendTx(dst []byte, cfg *Config, t *tx) []byte {
	dst = append(dst, `{"blockHash":`...)
	dst = jsonHash(dst, &b.hash)
	dst = append(dst, `,"blockNumber":`...)
	dst = jsonUint(dst, b.number)
	dst = append(dst, `,"from":`...)
	dst = jsonAddress(dst, b.address(t.from))
	dst = append(dst, `,"gas":`...)
	dst = jsonUint(dst, t.gasLimit)
	dst = append(dst, `,"gasPrice":`...)
	dst = jsonUint(dst, t.shown)
	if t.typ == 2 {
		dst = append(dst, `,"maxFeePerGas":`...)
		dst = jsonUint(dst, t.maxFee)
		dst = append(dst, `,"maxPriorityFeePerGas":`...)
		dst = jsonUint(dst, t.tip)
	}
	dst = append(dst, `,"hash":`...)
	dst = jsonHash(dst, &t.hash)
	dst = append(dst, `,"input":`...)
	dst = jsonBytes(dst, t.input)
	dst = append(dst, `,"nonce":`...)
	dst = jsonUint(dst, uint64(t.op.nonce))
	dst = append(dst, `,"to":`...)
	dst = b.appendTo(dst, t.to)
	dst = append(dst, `,"transactionIndex":`...)
	dst = jsonUint(dst, uint64(t.index)) // not negative
	dst = append(dst, `,"value":`...)
	dst = jsonWide(dst, &t.value)
	dst = append(dst, `,"type":`...)
	dst = jsonUint(dst, uint64(t.typ))
	if t.typ != 0 {
		dst = append(dst, `,"accessList":[`...)
		dst = append(b.appendAccess(dst, t), ']')
	}
	if !t.unprotected {
		dst = append(dst, `,"chainId":`...)
		dst = jsonUint(dst, cfg.EVMChainID)
	}
	dst = append(dst, `,"v":`...)
	dst = jsonUint(dst, t.v(cfg.EVMChainID))
	dst = append(dst, `,"r":`...)
	dst = jsonWide(dst, &t.sig.r)
	dst = append(dst, `,"s":`...)
	dst = jsonWide(dst, &t.sig.s)
	if t.typ != 0 {
		dst = append(dst, `,"yParity":`...)
		dst = jsonUint(dst, uint64(t.sig.parity))
	}
	return append(dst, '}')
}

// appendAccess appends what an access list holds.
func (b *block) appendAccess(dst []byte, t *tx) []byte {
	if t.access == noAccount {
		return dst
	}
	dst = append(dst, `{"address":`...)
	dst = jsonAddress(dst, b.address(t.access))
	dst = append(dst, `,"storageKeys":[`...)
	for i := range t.slots {
		if i > 0 {
			dst = append(dst, ',')
		}
		slot := t.slot(i)
		dst = jsonHash(dst, &slot)
	}
	return append(dst, `]}`...)
}

func (b *block) appendTo(dst []byte, to uint32) []byte {
	if to == noAccount {
		return append(dst, "null"...)
	}
	return jsonAddress(dst, b.address(to))
}

func (b *block) appendReceipt(dst []byte, t *tx) []byte {
	dst = append(dst, `{"blockHash":`...)
	dst = jsonHash(dst, &b.hash)
	dst = append(dst, `,"blockNumber":`...)
	dst = jsonUint(dst, b.number)
	dst = append(dst, `,"contractAddress":`...)
	dst = b.appendTo(dst, t.made)
	dst = append(dst, `,"cumulativeGasUsed":`...)
	dst = jsonUint(dst, t.cumulative)
	dst = append(dst, `,"effectiveGasPrice":`...)
	dst = jsonUint(dst, t.price)
	dst = append(dst, `,"from":`...)
	dst = jsonAddress(dst, b.address(t.from))
	dst = append(dst, `,"gasUsed":`...)
	dst = jsonUint(dst, t.gasUsed)
	dst = append(dst, `,"logs":[`...)
	for i := range t.logs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = b.appendLog(dst, t, i)
	}
	dst = append(dst, `],"logsBloom":`...)
	dst = jsonBytes(dst, t.bloom[:])
	dst = append(dst, `,"status":`...)
	dst = jsonUint(dst, t.status())
	dst = append(dst, `,"to":`...)
	dst = b.appendTo(dst, t.to)
	dst = append(dst, `,"transactionHash":`...)
	dst = jsonHash(dst, &t.hash)
	dst = append(dst, `,"transactionIndex":`...)
	dst = jsonUint(dst, uint64(t.index)) // not negative
	dst = append(dst, `,"type":`...)
	dst = jsonUint(dst, uint64(t.typ))
	return append(dst, '}')
}

func (b *block) appendLog(dst []byte, t *tx, i int) []byte {
	l := &t.logs[i]
	dst = append(dst, `{"address":`...)
	dst = jsonAddress(dst, &l.address.address)
	dst = append(dst, `,"topics":[`...)
	for k := range l.topics {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = jsonHash(dst, &l.topics[k].hash)
	}
	dst = append(dst, `],"data":`...)
	dst = jsonBytes(dst, l.data)
	dst = append(dst, `,"blockNumber":`...)
	dst = jsonUint(dst, b.number)
	dst = append(dst, `,"transactionHash":`...)
	dst = jsonHash(dst, &t.hash)
	dst = append(dst, `,"transactionIndex":`...)
	dst = jsonUint(dst, uint64(t.index)) // not negative
	dst = append(dst, `,"blockHash":`...)
	dst = jsonHash(dst, &b.hash)
	dst = append(dst, `,"logIndex":`...)
	dst = jsonUint(dst, uint64(t.firstLog+i)) // not negative
	return append(dst, `,"removed":false}`...)
}
