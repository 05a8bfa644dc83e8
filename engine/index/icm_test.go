package index

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/chain/warp"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// icmTruth is what blocks say of interchain messages, found out in the simplest way.
func icmTruth(blocks []*evm.Block) (events map[evm.Hash][]ICMEvent, rows []ICMRow) {
	events = map[evm.Hash][]ICMEvent{}
	for _, b := range blocks {
		for i := range b.Txs {
			tx := &b.Txs[i]
			for j := range tx.Logs {
				e, ok := icm.ParseEvent(&tx.Logs[j])
				if tx.Failed || !ok || e.Message != nil && !e.Proves(&indextest.Self) {
					continue
				}
				at := ICMPlace{b.Number, tx.Index, tx.Logs[j].Index}
				full := ICMEvent{Event: e, ICMPlace: at, TxHash: tx.Hash, TimeMilli: b.TimeMilli}
				full.GasSpent.Mul(uint256.NewInt(tx.GasUsed), &tx.GasPrice)
				if e.Kind == icm.Failed {
					full.Message = nil
				}
				if e.Kind == icm.Sent && j+1 < len(tx.Logs) {
					if raw, ok := WarpMessage(&tx.Logs[j+1]); ok {
						u, _ := warp.Parse(raw)
						full.Carrier = u.ID()
					}
				}
				events[e.ID] = append(events[e.ID], full)
				if e.Kind == icm.Sent || e.Kind == icm.Received {
					rows = append(rows, ICMRow{at, e.Kind, e.ID, e.Peer, e.Message.From, e.Message.To, b.TimeMilli})
				}
			}
		}
	}
	slices.Reverse(rows)
	return events, rows
}

func icmRows(t *testing.T, v *View, of ICMList, size int) (rows []ICMRow) {
	t.Helper()
	for p := (Page{Limit: size, To: 1<<64 - 1}); ; {
		next, err := v.ICMRows(of, p, func(r *ICMRow) bool { rows = append(rows, *r); return true })
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			return rows
		}
		p.After = next
	}
}

// sameICM compares what a view shows of messages with what the blocks say up to it.
func sameICM(t *testing.T, v *View, blocks []*evm.Block) {
	t.Helper()
	events, rows := icmTruth(blocks[:v.Tip().Number+1])
	for id, want := range events {
		got, err := v.ICMEvents(id)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("message %s: %+v, %v\nwant %+v", id, got, err, want)
		}
	}
	if got := icmRows(t, v, ICMList{}, 7); !slices.Equal(got, rows) {
		t.Errorf("%d rows, want %d", len(got), len(rows))
	}
	for _, peer := range append(indextest.Peers, chain.ID{99}) {
		want := slices.DeleteFunc(slices.Clone(rows), func(r ICMRow) bool { return r.Peer != peer })
		if got := icmRows(t, v, ICMList{Peer: &peer}, 3); !slices.Equal(got, want) {
			t.Errorf("peer %s: %d rows, want %d", peer, len(got), len(want))
		}
	}
	sameICMCounts(t, v, rows)
	first := map[[2]uint64]ICMRow{} // of each transaction
	for _, r := range rows {
		first[[2]uint64{r.Height, uint64(r.TxIndex)}] = r
		for _, a := range []evm.Address{r.From, r.To} {
			want := slices.DeleteFunc(slices.Clone(rows), func(r ICMRow) bool { return r.From != a && r.To != a })
			if got := icmRows(t, v, ICMList{Address: &a}, 4); !slices.Equal(got, want) {
				t.Fatalf("address %s: %d rows, want %d", a, len(got), len(want))
			}
		}
	}
	for _, b := range blocks[:v.Tip().Number+1] {
		for i := range b.Txs {
			want, is := first[[2]uint64{b.Number, uint64(i)}]
			if got, found, err := v.ICMInTx(b.Number, uint32(i)); err != nil || found != is || got != want {
				t.Fatalf("transaction %d of block %d: %+v, %v, %v, want %+v", i, b.Number, got, found, err, want)
			}
		}
	}
}

// sameICMCounts compares the numbers of messages up to each block with what rows, the
// newest first, say.
func sameICMCounts(t *testing.T, v *View, rows []ICMRow) {
	t.Helper()
	counts := map[icm.Kind]map[chain.ID]uint64{icm.Sent: {}, icm.Received: {}}
	newest := uint256.NewInt(0)
	at := len(rows) - 1
	for height := range v.Tip().Number + 1 {
		for ; at >= 0 && rows[at].Height == height; at-- {
			r := &rows[at]
			if r.Kind == icm.Sent {
				events, err := v.ICMEvents(r.ID)
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(events, func(e ICMEvent) bool { return e.Message != nil })
				nonce := &events[i].Message.Nonce
				if !nonce.Gt(newest) {
					continue
				}
				newest = nonce
			}
			counts[r.Kind][r.Peer]++
		}
		for kind, peers := range counts {
			for peer, want := range peers {
				if got, err := v.ICMCount(kind, &peer, height); err != nil || got != want {
					t.Fatalf("kind %d, chain %s up to %d: %d messages, %v, want %d", kind, peer, height, got, err, want)
				}
			}
		}
	}
	for kind, peers := range counts {
		list, err := v.ICMPeers(kind)
		if err != nil || len(list) < len(peers) {
			t.Errorf("kind %d: chains %v, %v, want %d", kind, list, err, len(peers))
		}
		for peer := range peers {
			if !slices.Contains(list, peer) {
				t.Errorf("kind %d: no chain %s", kind, peer)
			}
		}
	}
}

func TestICM(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 5, Txs: 12, Accounts: 6}).Blocks(80)
	c := openChain(t, Options{})
	commit(t, c, blocks, 9)
	for _, tip := range []uint64{0, 1, 30, 79} {
		sameICM(t, at(t, c, &tip), blocks)
	}
	events, rows := icmTruth(blocks)
	kinds := map[icm.Kind]int{}
	for _, list := range events {
		for i := range list {
			kinds[list[i].Kind]++
		}
	}
	if len(kinds) != 6 || len(rows) < 50 {
		t.Fatalf("the blocks say little: %v, %d rows", kinds, len(rows))
	}
	if got, err := at(t, c, nil).ICMEvents(evm.Hash{7}); err != nil || got != nil {
		t.Errorf("a message that there is not: %v, %v", got, err)
	}
}

// A chain that goes back forgets what the blocks said that it gives up, and shows what
// the others in their place say under the same IDs.
func TestICMRewind(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 6, Txs: 12, Accounts: 6}).Blocks(60)
	c := openChain(t, Options{})
	commit(t, c, blocks, 10)
	if err := c.Rewind(t.Context(), &archive{blocks: blocks}, 24); err != nil {
		t.Fatal(err)
	}
	sameICM(t, at(t, c, nil), blocks)
	other := slices.Clone(blocks[:25])
	for _, b := range blocks[25:] { // the same messages in other blocks: the transactions turned around
		n := *b
		n.Hash[31]++
		n.Parent = other[len(other)-1].Hash
		n.Txs = slices.Clone(b.Txs)
		slices.Reverse(n.Txs)
		log := uint32(0)
		for i := range n.Txs {
			n.Txs[i].Index = uint32(i)
			n.Txs[i].Hash[31]++
			n.Txs[i].Logs = slices.Clone(n.Txs[i].Logs)
			for j := range n.Txs[i].Logs {
				n.Txs[i].Logs[j].Index = log
				log++
			}
		}
		other = append(other, &n)
	}
	commit(t, c, other[25:], 10)
	sameICM(t, at(t, c, nil), other)
	clean := openChain(t, Options{})
	commit(t, clean, other, 60)
	for _, table := range []byte{store.TableICMEvents, store.TableICMLists, store.TableICMTotals} {
		if got, want := dump(t, c, table), dump(t, clean, table); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("table %s: %d rows, want %d", Table(table), len(got), len(want))
		}
	}
}

// dump returns the rows of a table without what says which edition they are of.
func dump(t *testing.T, c *Chain, table byte) (list [][]byte) {
	t.Helper()
	v := at(t, c, nil)
	prefix := v.at.key(table)
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Seek(prefix); rows.Valid(); rows.Next() {
		b := bytes.Clone(rows.Key()[len(prefix):])
		if err := rows.Value(func(v []byte) error { b = append(b, v...); return nil }); err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// A folder of before there were interchain messages has none until they are made, and
// is not asked for them.
func TestICMOlderFolder(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 7, Txs: 10, Accounts: 6}).Blocks(40)
	c := openChain(t, Options{})
	commit(t, c, blocks[:30], 10)
	old := *c.places()
	old.of[store.TableICMEvents], old.of[store.TableICMLists] = place{}, place{}
	if err := c.putRows(row{old.rowKey(rowServing), old.append(nil)}); err != nil {
		t.Fatal(err)
	}
	c = reopen(t, c)
	if at(t, c, nil).HasICM() {
		t.Error("messages are said to be there that were never made")
	}
	commit(t, c, blocks[30:], 10)
	stale := c.Stale()
	if !slices.Contains(stale, Table(store.TableICMEvents)) || !slices.Contains(stale, Table(store.TableICMLists)) {
		t.Fatalf("stale: %v", stale)
	}
	rebuild(t, c, &archive{blocks: blocks}, stale...)
	v := at(t, c, nil)
	if !v.HasICM() {
		t.Error("messages are not there after they were made")
	}
	sameICM(t, v, blocks)
}

// Many events of one message are cut off, in the order of the chain.
func TestICMEventsAreBounded(t *testing.T) {
	t.Parallel()
	peer := indextest.Peers[0]
	id := icm.MessageID(&icm.Messengers[0], &indextest.Self, &peer, uint256.NewInt(1))
	tx := evm.Tx{Hash: evm.Hash{9}}
	for i := range uint32(maxICMEvents + 9) {
		log := (&icm.Event{Kind: icm.FeeAdded, ID: id, Messenger: icm.Messengers[0]}).Log()
		log.Index = i
		tx.Logs = append(tx.Logs, log)
	}
	c := openChain(t, Options{})
	commit(t, c, []*evm.Block{{Hash: evm.Hash{1}}, {Number: 1, Parent: evm.Hash{1}, Hash: evm.Hash{2}, Txs: []evm.Tx{tx}}}, 2)
	got, err := at(t, c, nil).ICMEvents(id)
	if err != nil || len(got) != maxICMEvents || !slices.IsSortedFunc(got, func(a, b ICMEvent) int { return cmp.Compare(a.LogIndex, b.LogIndex) }) {
		t.Errorf("%d events, %v", len(got), err)
	}
}

func FuzzICM(f *testing.F) {
	blocks := indextest.New(indextest.Config{Seed: 5, Txs: 12, Accounts: 6}).Blocks(20)
	for _, b := range blocks {
		for i := range b.Txs {
			for j := range b.Txs[i].Logs {
				if e, ok := icm.ParseEvent(&b.Txs[i].Logs[j]); ok {
					f.Add(appendICM(nil, &BlockRef{}, &b.Txs[i], &e, chain.ID{1}))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again ICMEvent
		if decodeICM(&e, b) != nil {
			return
		}
		tx := &evm.Tx{Hash: e.TxHash, GasPrice: e.GasSpent, GasUsed: 1}
		row := appendICM(nil, &BlockRef{TimeMilli: e.TimeMilli}, tx, &e.Event, e.Carrier)
		if err := decodeICM(&again, row); err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%x is read as %+v, then as %+v: %v", b, e, again, err)
		}
	})
}
