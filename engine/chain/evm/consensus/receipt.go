package consensus

import (
	"github.com/ethereum/go-ethereum/rlp"

	"quorate/engine/chain/evm"
)

// bloomBits are the three bits of a filter that an address or a topic sets.
type bloomBits [3]uint16

// blooms computes filters. The bits of what was seen lately are kept: most logs
// have one of a few addresses and first topics.
type blooms struct {
	h    *evm.Hasher
	kept [bloomSlots]bloomSlot
}

// bloomSlots is the number of addresses and topics whose bits are kept, 24 KiB in all.
const bloomSlots = 512

type bloomSlot struct {
	key  [evm.HashLen]byte // an address has zeros behind it
	bits bloomBits
	len  uint8
}

func (b *blooms) add(f *[BloomLen]byte, item []byte) {
	n := len(item)
	// The last bytes of addresses and topics are those that differ.
	at := (uint(item[n-1]) | uint(item[n-2])<<8 ^ uint(item[0])<<1) % bloomSlots
	s := &b.kept[at]
	if int(s.len) != n || string(s.key[:n]) != string(item) {
		s.len = uint8(n)
		copy(s.key[:], item)
		sum := b.h.Sum(item)
		for i := range s.bits {
			s.bits[i] = (uint16(sum[2*i])<<8 | uint16(sum[2*i+1])) & (8*BloomLen - 1)
		}
	}
	for _, bit := range s.bits {
		f[BloomLen-1-bit/8] |= 1 << (bit % 8)
	}
}

func (b *blooms) logs(f *[BloomLen]byte, logs []evm.Log) {
	for i := range logs {
		b.add(f, logs[i].Address[:])
		for k := range logs[i].Topics {
			b.add(f, logs[i].Topics[k][:])
		}
	}
}

// Bloom computes the filter of the logs of all transactions, a header's logsBloom.
func Bloom(txs []evm.Tx) (f [BloomLen]byte) {
	b := blooms{h: new(evm.Hasher)}
	for i := range txs {
		b.logs(&f, txs[i].Logs)
	}
	return f
}

func appendReceipt(dst []byte, t *evm.Tx, cumulative uint64, f *[BloomLen]byte) []byte {
	if t.Type != TypeLegacy {
		dst = append(dst, t.Type)
	}
	start := len(dst)
	if t.Failed {
		dst = append(dst, 0x80)
	} else {
		dst = append(dst, 1)
	}
	dst = rlp.AppendUint64(dst, cumulative)
	dst = AppendString(dst, f[:])
	logs := len(dst)
	for i := range t.Logs {
		l, entry := &t.Logs[i], len(dst)
		dst = AppendString(dst, l.Address[:])
		topics := len(dst)
		for k := range l.Topics {
			dst = AppendString(dst, l.Topics[k][:])
		}
		dst = closeList(dst, topics)
		dst = closeList(AppendString(dst, l.Data), entry)
	}
	return closeList(closeList(dst, logs), start)
}
