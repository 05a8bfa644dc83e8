package pchain

import (
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// day is the length of a day in seconds.
const day = 24 * 60 * 60

// scripted is a P-Chain of which each block does what a step says.
type scripted struct {
	machine
	steps []func(m *machine) error
}

func (s *scripted) Load(*primary.Overlay) error { return nil }

func (s *scripted) Apply(rows *primary.Overlay, b *primary.Block) error {
	s.rows, s.height, s.sets, s.sums, s.fees = rows, b.Platform.Height, nil, nil, nil
	if err := s.steps[b.Platform.Height-1](&s.machine); err != nil {
		return err
	}
	s.flushFees()
	rows.Put(rows.Key(store.PlatformState).U8(rowHead), s.head.encode(nil))
	return s.flushSets()
}

// Who runs out has paid all that it had, also what was too little for one more second;
// who is paid back has paid what had accrued; and who begins again pays from then on.
func TestFeesAtTheEnd(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.TempDir(), store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	p := rules.For(12345)
	m := &scripted{machine: machine{cfg: &Config{Params: &p}, head: head{Exact: true, FeesKnown: true, Time: 10 * day}}}
	a, b := &l1{number: 1}, &l1{number: 2}
	for i, v := range []*l1{a, b} {
		v.ValidationID, v.Subnet, v.Node = chain.ID{byte(i + 1)}, chain.ID{9}, chain.NodeID{byte(i + 1)}
	}
	change := func(m *machine, v *l1, f func() error) error {
		before := *v
		if err := f(); err != nil {
			return err
		}
		return m.putL1(v, &before)
	}
	m.steps = []func(m *machine) error{
		func(m *machine) error {
			for _, v := range []*l1{a, b} {
				if err := m.fund(v, 1000); err != nil {
					return err
				}
				if err := m.putL1(v, nil); err != nil {
					return err
				}
			}
			return nil
		},
		func(m *machine) error {
			m.head.Fees.Accrued, m.head.Time = 900, 12*day
			if err := change(m, b, func() error {
				b.refunded, b.limit = true, 0
				return nil
			}); err != nil {
				return err
			}
			return m.deactivate(1050)
		},
		func(m *machine) error {
			m.head.Fees.Accrued, m.head.Time = 5000, 13*day
			b.refunded = false
			return change(m, b, func() error { return m.fund(b, 700) })
		},
		func(m *machine) error {
			m.head.Fees.Accrued, m.head.Time = 5100, 14*day
			return nil
		},
	}
	base, err := primary.OpenChain(db, primary.Config{ID: primary.RowsID(9, primary.PChain), Version: 1, Reads: 1, Machine: func() primary.Machine { return m }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.steps {
		block := &primary.Block{Platform: &platform.Block{Height: uint64(i + 1), ID: chain.ID{byte(i + 1)}, Parent: chain.ID{byte(i)}}}
		if err := base.Commit(t.Context(), []*primary.Block{block}); err != nil {
			t.Fatal(err)
		}
	}
	v, err := (&Chain{Chain: base}).View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for name, c := range map[string]struct {
		of   FeeFilter
		paid []uint64 // from day 14 back to day 10
	}{
		"who ran out":      {FeeFilter{Validation: &a.ValidationID}, []uint64{1000, 1000, 1000, 0, 0}},
		"who was refunded": {FeeFilter{Node: &b.Node}, []uint64{1000, 900, 900, 0, 0}},
		"both":             {FeeFilter{Subnet: &a.Subnet}, []uint64{2000, 1900, 1900, 0, 0}},
		"all":              {FeeFilter{}, []uint64{2000, 1900, 1900, 0, 0}},
	} {
		n := 0
		if err := v.FeeDays(&c.of, 0, func(d *FeeDay) bool {
			if n >= len(c.paid) || d.Time != uint64(14-n)*day || d.Paid != c.paid[n] {
				t.Errorf("%s: day %d has %+v, want %v", name, 14-n, d, c.paid)
			}
			n++
			return true
		}); err != nil || n != len(c.paid) {
			t.Errorf("%s: %d days, %v", name, n, err)
		}
	}
}
