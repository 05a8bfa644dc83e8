package world

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"quorate/devnet/traffic"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// A message's payload is told from others without a list of what was emitted:
//
//	u64 index | 24 bytes derived from key and index | 32-byte MAC of these
const (
	emitterLen = 20
	noiseLen   = 24
	payloadLen = 8 + noiseLen + sha256.Size
)

// Emitter returns the address of the contract that emits the messages.
func (w *World) Emitter() [emitterLen]byte { return w.emitter }

// Emitted returns the number of messages emitted so far.
func (w *World) Emitted() uint64 { return w.params.Emitted }

// Message returns the C-Chain's warp message with index i, emitted or not.
func (w *World) Message(i uint64) *warp.Unsigned {
	return w.message(i, w.cChain, nil, 'n', 'm')
}

// L1Message returns the warp message with index i of an L1's chain, emitted or not.
func (w *World) L1Message(l *L1, i uint64) *warp.Unsigned {
	return w.message(i, l.ChainID, l.ChainID[:], 'N', 'M')
}

// message makes a message of a chain. What is derived for it depends on prefix,
// and on the two purposes, which belong to one length of prefix.
func (w *World) message(i uint64, source chain.ID, prefix []byte, noise, mac byte) *warp.Unsigned {
	random := w.keyed(noise, prefix, binary.BigEndian.AppendUint64(nil, i))
	b := make([]byte, 0, payloadLen)
	b = binary.BigEndian.AppendUint64(b, i)
	b = append(b, random[:noiseLen]...)
	sum := w.keyed(mac, prefix, b)
	b = append(b, sum[:]...)
	u, err := warp.New(NetworkID, source, warp.AddressedCall{SourceAddress: w.emitter[:], Payload: b}.Append(nil))
	if err != nil { // the length is fixed and small
		panic(fmt.Sprintf("world: message %d: %v", i, err))
	}
	return u
}

// MessageIndex reports whether the chain that u names has emitted it, and as
// which message.
func (w *World) MessageIndex(u *warp.Unsigned) (uint64, bool) {
	call, err := warp.ParseAddressedCall(u.Payload)
	if err != nil || len(call.Payload) != payloadLen {
		return 0, false
	}
	i := binary.BigEndian.Uint64(call.Payload)
	if i >= w.params.Emitted {
		return 0, false
	}
	want := w.Message(i)
	if l, ok := w.L1Of(u.SourceChainID); ok {
		want = w.L1Message(l, i)
	}
	return i, bytes.Equal(want.Bytes(), u.Bytes())
}

// Emits reports whether the chain that u names has emitted it.
func (w *World) Emits(u *warp.Unsigned) bool {
	_, ok := w.MessageIndex(u)
	return ok || w.traffic.Emits(u)
}

// Traffic returns the plan of the interchain messages between the C-Chain and the L1s'
// chains, in this order.
func (w *World) Traffic() *traffic.Plan { return &w.traffic }

// keyed is a MAC: all inputs of one purpose have the same length.
func (w *World) keyed(purpose byte, prefix, b []byte) [sha256.Size]byte {
	pre := make([]byte, 0, len(w.messageKey)+1+len(prefix)+len(b))
	pre = append(pre, w.messageKey[:]...)
	pre = append(pre, purpose)
	pre = append(pre, prefix...)
	return sha256.Sum256(append(pre, b...))
}
