package pchain

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// churn is a P-Chain of which each block changes two members of one set.
type churn struct {
	machine
	rnd  *rand.Rand
	most int // members
	now  map[chain.NodeID]uint64
	seen map[uint64]map[chain.NodeID]uint64 // weights by height, of those that are looked at
	keep uint64                             // each of these heights is
}

var churned = chain.PrimaryNetworkID

func (c *churn) Load(*primary.Overlay) error { return nil }

func (c *churn) Apply(rows *primary.Overlay, b *primary.Block) error {
	c.rows, c.height, c.sets, c.head = rows, b.Platform.Height, nil, head{Exact: true}
	for range 2 {
		id, weight := chain.NodeID{1}, uint64(c.rnd.IntN(4))
		binary.BigEndian.PutUint16(id[1:], uint16(c.rnd.IntN(c.most)))
		var v *member
		if delete(c.now, id); weight > 0 {
			c.now[id] = weight
			v = &member{Node: id, Weight: weight, Key: (*[platform.BLSKeyLen]byte)(append(id[:], make([]byte, 28)...))}
		}
		if err := c.setMember(churned, id[:], v); err != nil {
			return err
		}
	}
	if c.height%c.keep == 0 {
		c.seen[c.height] = maps.Clone(c.now)
	}
	rows.Put(rows.Key(store.PlatformState).U8(rowHead), c.head.encode(nil))
	return c.flushSets()
}

// costs makes a history and returns the most rows and places that a set of it took.
func costs(t *testing.T, blocks uint64, most int) (rows, seeks int) {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	m := &churn{rnd: rand.New(rand.NewPCG(blocks, 1)), most: most, now: map[chain.NodeID]uint64{}, seen: map[uint64]map[chain.NodeID]uint64{}, keep: max(1, blocks/100)}
	base, err := primary.OpenChain(db, primary.Config{ID: primary.RowsID(9, primary.PChain), Version: 1, Reads: 1, Machine: func() primary.Machine { return m }})
	if err != nil {
		t.Fatal(err)
	}
	id := func(height uint64) (id chain.ID) {
		binary.BigEndian.PutUint64(id[:], height)
		return id
	}
	group := make([]*primary.Block, 0, 500)
	for height := uint64(1); height <= blocks; height++ {
		group = append(group, &primary.Block{Platform: &platform.Block{Height: height, ID: id(height), Parent: id(height - 1)}})
		if len(group) == cap(group) || height == blocks {
			if err := base.Commit(t.Context(), group); err != nil {
				t.Fatal(err)
			}
			group = group[:0]
		}
	}
	v, err := (&Chain{Chain: base}).View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for height, want := range m.seen {
		rows0, seeks0 := v.Cost()
		got, ok, err := v.ValidatorsAt(churned, height)
		if err != nil || !ok || len(got) != len(want) {
			t.Fatalf("at %d: %v, %v, %v; want %v", height, got, ok, err, want)
		}
		for _, one := range got {
			if want[one.Node] != one.Weight || chain.NodeID(one.Key[:20]) != one.Node {
				t.Fatalf("at %d: %v; want %v", height, got, want)
			}
		}
		rows1, seeks1 := v.Cost()
		rows, seeks = max(rows, rows1-rows0), max(seeks, seeks1-seeks0)
	}
	return rows, seeks
}

// What a validator set costs does not grow with the history.
func TestSetCost(t *testing.T) {
	t.Parallel()
	short, few := costs(t, 100, 30)
	long, many := costs(t, 10_000, 30)
	t.Logf("%d rows at %d places, of 100 times the history %d at %d", short, few, long, many)
	if long > short+10 || long > 2*pointLeast || many > few || many > 16 {
		t.Errorf("%d rows at %d places, of 100 times the history %d at %d", short, few, long, many)
	}
}

// A point of a large set has several rows.
func TestLargePoint(t *testing.T) {
	t.Parallel()
	rows, seeks := costs(t, 1000, 1000)
	if rows < 2*pointMost || rows > 1100 || seeks > 1000/5 {
		t.Errorf("%d rows at %d places", rows, seeks)
	}
}
