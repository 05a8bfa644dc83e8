package evmchain

import "quorate/engine/chain/evm"

// bloom is the filter of a receipt or block.
type bloom [256]byte

// bloomBits returns the three bits for what hashes to sum.
func bloomBits(b []byte) (bits [3]uint16) {
	sum := evm.Keccak(b)
	for i := range bits {
		bits[i] = (uint16(sum[2*i])<<8 | uint16(sum[2*i+1])) & 0x7ff
	}
	return bits
}

func (f *bloom) add(bits [3]uint16) {
	for _, bit := range bits {
		f[len(f)-1-int(bit>>3)] |= 1 << (bit & 7)
	}
}

func (f *bloom) merge(o *bloom) {
	for i, b := range o {
		f[i] |= b
	}
}

// topic is one topic of a log. The bits of those that occur often are known.
type topic struct {
	hash  evm.Hash
	bits  [3]uint16
	known bool
}

// log is an event; address is that of an account.
type log struct {
	address account
	topics  []topic
	data    []byte
}

func (l *log) addTo(f *bloom) {
	f.add(l.address.addressBits)
	for i := range l.topics {
		t := &l.topics[i]
		if !t.known {
			t.bits, t.known = bloomBits(t.hash[:]), true
		}
		f.add(t.bits)
	}
}
