package index

import (
	"encoding/binary"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// heads appends the rows of what lists show of a block's transactions.
func (b *builder) heads(blk *evm.Block) {
	if !b.m.writes(store.TableTxHeads) {
		return
	}
	for at := 0; at < len(blk.Txs); at += headsPer {
		b.value = b.capitals.appendHeads(b.value[:0], blk, blk.Txs[at:min(at+headsPer, len(blk.Txs))])
		b.put(b.start(store.TableTxHeads).u64(blk.Number).u32(uint32(at)), b.value)
	}
}

// capitals keeps the capitals of addresses seen lately, each of which is a hash.
type capitals [1 << capitalsBits]struct {
	of   evm.Address
	text evm.Capitals
}

const capitalsBits = 12 // 128 KiB

func (c *capitals) append(dst []byte, a *evm.Address) []byte {
	const odd = 0x9e3779b97f4a7c15
	h := (binary.LittleEndian.Uint64(a[:])*odd ^ binary.LittleEndian.Uint64(a[12:])) * odd
	slot := &c[h>>(64-capitalsBits)]
	if slot.of != *a { // that of the zero address has none, and begins as it
		slot.of, slot.text = *a, a.Capitals()
	}
	text := binary.LittleEndian.AppendUint64(dst, uint64(slot.text))
	return text[:len(dst)+evm.CapitalsLen]
}

// appendHeads appends the heads of up to headsPer transactions of a block.
func (c *capitals) appendHeads(dst []byte, b *evm.Block, txs []evm.Tx) []byte {
	dst = append(appendRowHead(dst, headsVersion, &b.Hash, b.TimeMilli), byte(len(txs)))
	for i := len(txs) - 1; i >= 0; i-- {
		tx := &txs[i]
		to := receiver(tx)
		dst = appendHead(dst, tx, b.Traced)
		dst = append(append(dst, tx.From[:]...), to[:]...)
		dst = c.append(c.append(dst, &tx.From), to)
	}
	return dst
}

// headTail is what comes behind each head in a row of heads.
const headTail = 2*evm.AddressLen + 2*evm.CapitalsLen

// headIn reads one of the transactions of a row of heads into tx.
func (d *decoder) headIn(tx *Tx) {
	d.head(tx)
	b := d.take(headTail)
	if b == nil {
		return
	}
	tx.From, *tx.sent() = evm.Address(b), evm.Address(b[evm.AddressLen:])
	b = b[2*evm.AddressLen:]
	const mask = 1<<(8*evm.CapitalsLen) - 1
	tx.Checked = true
	tx.SenderText = evm.Capitals(binary.LittleEndian.Uint64(b) & mask)
	tx.OthersText = evm.Capitals(binary.LittleEndian.Uint64(b[2*evm.CapitalsLen-8:]) >> (64 - 8*evm.CapitalsLen))
}

// skipHead passes over a head and what comes behind it.
func (d *decoder) skipHead() {
	flags := d.u8()
	d.take(headFixed - 1 + int(flags>>headInputAt))
	d.uv()
	d.uv()
	d.uv()
	d.take(int(d.u8()))
	d.take(int(d.u8()))
	d.take(headTail)
}
