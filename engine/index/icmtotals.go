package index

import (
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	store "quorate/engine/store/index"
)

// Cells of how many interchain messages there were.
const (
	icmNewest = iota // | messenger: u256, the highest nonce that was sent
	icmCount         // | u8 kind, Sent or Received | the other chain: uv number
)

// countICM counts a message that was sent or received, once: a messenger counts its
// nonces up, so one that is not above all before it is of a message sent again.
func (b *builder) countICM(e *icm.Event) error {
	if !b.m.writes(store.TableICMTotals) {
		return nil
	}
	if e.Kind == icm.Sent {
		k := append(b.start(store.TableICMTotals), icmNewest).addr(&e.Messenger)
		b.scratch = k
		old, err := b.prior.cell(k)
		if err != nil {
			return err
		}
		if newest := new(uint256.Int).SetBytes(old); old != nil && !e.Message.Nonce.Gt(newest) {
			return nil
		}
		b.set(k, appendAmount(b.value[:0], &e.Message.Nonce))
	}
	return b.tally(append(b.start(store.TableICMTotals), icmCount, byte(e.Kind)).word(e.Peer), 1)
}

// HasICMCounts reports whether interchain messages are counted.
func (v *View) HasICMCounts() bool { return v.at.has(store.TableICMTotals) }

// ICMPeers returns the chains that messages were sent to, or received from.
func (v *View) ICMPeers(kind icm.Kind) (list []chain.ID, err error) {
	prefix := append(v.at.key(store.TableICMTotals), icmCount, byte(kind))
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Seek(prefix); rows.Valid(); {
		k := rows.Key()[len(prefix):]
		if len(k) != chain.IDLen+heightLen {
			return nil, fmt.Errorf("%w: key of a number of interchain messages", errCodec)
		}
		id := chain.ID(k)
		list = append(list, id)
		rows.Seek(append(key(nil), prefix...).word(id).u64(^uint64(0)).word(evm.Hash{})) // behind all rows of it
	}
	return list, nil
}

// ICMCount returns how many messages were sent to a chain, or received from it, up to
// a block. Those of before the first block of the chain's sums are not counted.
func (v *View) ICMCount(kind icm.Kind, peer *chain.ID, height uint64) (n uint64, err error) {
	prefix := append(v.at.key(store.TableICMTotals), icmCount, byte(kind)).word(*peer)
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if rows.Seek(append(key(nil), prefix...).u64(^min(height, v.tip.Number))); !rows.Valid() {
		return 0, nil
	}
	err = rows.Value(func(b []byte) (err error) {
		n, err = decodeNumber(b)
		return err
	})
	return n, err
}
