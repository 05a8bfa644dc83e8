package primary

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	store "quorate/engine/store/index"
)

// rowsOf returns the rows of a layer, and fails if what it says of them is wrong.
func rowsOf(t *testing.T, l *layer) map[string]string {
	t.Helper()
	all, size := map[string]string{}, 0
	for i, r := range l.rows {
		all[string(r.key)] = "-"
		if r.value != nil {
			all[string(r.key)] = "+" + string(r.value)
		}
		size += len(r.key) + len(r.value)
		if l.find(r.key, hashKey(r.key)) != i {
			t.Fatalf("row %x is not found", r.key)
		}
	}
	if l.bytes != size || len(all) != len(l.rows) {
		t.Fatalf("%d bytes in %d rows, want %d in %d", l.bytes, len(l.rows), size, len(all))
	}
	var keys []string
	for _, r := range l.sorted() {
		keys = append(keys, string(r.key))
	}
	if !slices.Equal(keys, slices.Sorted(maps.Keys(all))) {
		t.Fatalf("out of order: %x", keys)
	}
	return all
}

// change changes rows at random, those of live lists by the whole tree if slow.
func (o *Overlay) change(rnd *rand.Rand, slow bool) (err error) {
	row := o.Key(store.PrimaryBlocks).U32(rnd.Uint32N(300))
	list, order := o.Key(liveTable).U8(uint8(rnd.Uint32N(3))), Key(nil).U32(rnd.Uint32N(150))
	value := bytes.Repeat([]byte{byte(rnd.Uint32())}, rnd.IntN([]int{2, 40, 40, 400}[rnd.IntN(4)]))
	switch rnd.IntN(6) {
	case 0:
		o.Put(row, value)
	case 1:
		o.Delete(row)
	case 2:
		if slow {
			if _, found, err := o.GetLive(list, order); err != nil || !found {
				return err
			}
			return o.deleteTree(list, order)
		}
		return o.swap(list, order, nil)
	default:
		if slow {
			return o.putTree(list, order, value)
		}
		return o.swap(list, order, value)
	}
	return nil
}

// swap is SwapLive that fails if what it returns was not there before.
func (o *Overlay) swap(list Key, order, value []byte) error {
	was, found, err := o.GetLive(list, order)
	if err != nil {
		return err
	}
	before, err := o.SwapLive(list, order, value)
	if err == nil && (found != (before != nil) || !bytes.Equal(before, was)) {
		err = fmt.Errorf("%x, which was there before: %t, is returned as %x", was, found, before)
	}
	return err
}

// pile has the rows of the group in flight, with those of before.
func (o *Overlay) pile() {
	for _, r := range o.group.rows {
		o.flying.put(r.key, r.value, 0)
	}
	o.group = layer{}
}

// What a block changed can be undone or taken away whatever it was, what is in flight does
// not change, and the nodes of live lists are the same where a leaf is changed in its bytes.
func TestLayer(t *testing.T) {
	t.Parallel()
	snap, err := openDB(t, t.TempDir()).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		fast, slow := &Overlay{Space: Space{Ordinal: 5}, snap: snap}, &Overlay{Space: Space{Ordinal: 5}, snap: snap}
		for range 100 {
			flying, before, ops := rowsOf(t, &fast.flying), rowsOf(t, &fast.group), rnd.Uint64()
			for _, o := range []*Overlay{fast, slow} {
				rnd := rand.New(rand.NewPCG(ops, 2))
				for range rnd.IntN(80) {
					if err := o.change(rnd, o == slow); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := rowsOf(t, &fast.group)
			if !maps.Equal(want, rowsOf(t, &slow.group)) {
				t.Fatalf("seed %d: other rows by the whole tree", seed)
			}
			switch rnd.IntN(4) {
			case 0:
				fast.drop()
				slow.drop()
				want = before
			case 1:
				taken := fast.take()
				slow.take()
				for k, v := range rowsOf(t, &taken) {
					if want[k] != v {
						t.Fatalf("seed %d: row %x is taken as %q, and was %q", seed, k, v, want[k])
					}
				}
				want = before
			default:
				fast.keep()
				slow.keep()
			}
			if got := rowsOf(t, &fast.group); !maps.Equal(got, want) {
				t.Fatalf("seed %d: %d rows in the group, want %d", seed, len(got), len(want))
			}
			if got := rowsOf(t, &fast.flying); !maps.Equal(got, flying) {
				t.Fatalf("seed %d: rows in flight have changed", seed)
			}
			if rnd.IntN(10) == 0 {
				fast.pile()
				slow.pile()
			}
		}
	}
}

// A large layer takes the memory of the one before, and nothing of its rows.
func TestLayerRoom(t *testing.T) {
	t.Parallel()
	for round := range 4 {
		var l layer
		var changes []change
		put := func(i int) {
			changes = append(changes, l.put(Key(nil).U32(uint32(round)).U32(uint32(i)), Key(nil).U64(uint64(i)), 1))
		}
		for i := range 3000 + 1000*round {
			put(i)
		}
		want := rowsOf(t, &l)
		changes = nil
		for i := 2000; i < 9000; i++ {
			put(i)
		}
		if got := rowsOf(t, &l); len(got) != 9000 {
			t.Fatalf("%d rows", len(got))
		}
		l.back(changes)
		if got := rowsOf(t, &l); !maps.Equal(got, want) {
			t.Fatalf("round %d: %d rows, want %d", round, len(got), len(want))
		}
		if l.free(); len(rowsOf(t, &l)) > 0 {
			t.Fatal("a layer that was freed has rows")
		}
	}
}
