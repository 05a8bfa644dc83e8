package metrics

import (
	"testing"

	"quorate/engine/chain"
	"quorate/engine/metric"
	"quorate/httpapi/evm"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// counted is a chain with one bucket of each length.
type counted struct {
	evm.Chain
	id      chain.ID
	edition uint32
}

const noon = 1_700_049_600

func (c *counted) ID() chain.ID                      { return c.id }
func (c *counted) Gaps() (gaps []view.Gap, _ string) { return nil, "" }

func (c *counted) RollupState() (rollup.State, uint32, error) {
	return rollup.State{Begun: true, First: noon, Last: noon, Next: 1}, c.edition, nil
}

func (c *counted) Buckets(_ rollup.Interval, newest, oldest uint32, take func(uint32, *rollup.Record)) error {
	for n := newest; n >= oldest; n-- {
		take(n, &rollup.Record{})
	}
	return nil
}

// TestChunkOf: chunks whose hashes agree by chance are not taken for each other.
func TestChunkOf(t *testing.T) {
	t.Parallel()
	c, other := &counted{id: chain.ID{1}}, &counted{id: chain.ID{2}}
	load := func(m rollup.Metric, i rollup.Interval, form view.PointForm, chains ...evm.Chain) *series {
		s := &series{metric: m, interval: i, form: form}
		for _, c := range chains {
			if known, err := s.add(c); !known || err != nil {
				t.Fatal(known, err)
			}
		}
		return s
	}
	s := load(rollup.TxCount, rollup.Day, view.ValueFirst, c)
	place := s.last / ChunkLen
	p := newPoints(metric.NewSet(), defaultBytes)
	made, _, err := p.find(s, nil, s.last, s.first)
	if err != nil || len(made) != 1 || !made[0].of(s, place) {
		t.Fatal(made, err)
	}
	for what, o := range map[string]*series{
		"metric": load(rollup.GasUsed, rollup.Day, view.ValueFirst, c), "interval": load(rollup.TxCount, rollup.Hour, view.ValueFirst, c),
		"form": load(rollup.TxCount, rollup.Day, view.TimeFirst, c), "chain": load(rollup.TxCount, rollup.Day, view.ValueFirst, other),
		"chains": load(rollup.TxCount, rollup.Day, view.ValueFirst, c, other), "none": load(rollup.TxCount, rollup.Day, view.ValueFirst),
	} {
		if made[0].of(o, place) {
			t.Errorf("another %s is not told apart", what)
		}
	}
	if made[0].of(s, place+1) {
		t.Error("another place is not told apart")
	}
	c.edition++
	if made[0].of(load(rollup.TxCount, rollup.Day, view.ValueFirst, c), place) {
		t.Error("another edition is not told apart")
	}
}
