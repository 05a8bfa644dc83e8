package httpapi

import (
	"encoding/binary"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/index"
)

func (v *fakeView) HasICM() bool { return !v.c.icmUnmade }

func (v *fakeView) ICMEvents(id evm.Hash) (list []index.ICMEvent, err error) {
	for _, e := range v.c.icmEvents[id] {
		if e.Height <= v.tip {
			list = append(list, e)
		}
	}
	return list, v.broken
}

func (v *fakeView) ICMRows(of index.ICMList, p index.Page, take func(r *index.ICMRow) bool) ([]byte, error) {
	all := slices.DeleteFunc(slices.Clone(v.c.icmRows), func(r index.ICMRow) bool {
		return of.Peer != nil && r.Peer != *of.Peer || of.Address != nil && r.From != *of.Address && r.To != *of.Address
	})
	at := func(r index.ICMRow) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, r.Height), r.LogIndex)
	}
	list, next, err := scan(v, all, p, at, func(r index.ICMRow) uint64 { return r.Height })
	return hand(list, next, err, at, func(r index.ICMRow) bool { return take(&r) })
}

func (v *fakeView) ICMInTx(number uint64, tx uint32) (index.ICMRow, bool, error) {
	for _, r := range v.c.icmRows {
		if r.Height == number && r.TxIndex == tx {
			return r, true, v.broken
		}
	}
	return index.ICMRow{}, false, v.broken
}

func (v *fakeView) HasICMCounts() bool { return !v.c.icmUnmade }

func (v *fakeView) ICMPeers(kind icm.Kind) (list []chain.ID, err error) {
	for _, r := range v.c.icmRows {
		if r.Kind == kind && !slices.Contains(list, r.Peer) {
			list = append(list, r.Peer)
		}
	}
	return list, v.broken
}

func (v *fakeView) ICMCount(kind icm.Kind, peer *chain.ID, height uint64) (n uint64, err error) {
	for _, r := range v.c.icmRows {
		if r.Kind == kind && r.Peer == *peer && r.Height <= height {
			n++
		}
	}
	return n, v.broken
}
