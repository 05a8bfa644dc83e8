package settle

import (
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm/consensus"
)

// busy is a clock at a price of about 25 gwei, far above the least one, and the
// header of a block that asks for the same target and least price.
func busy() (Clock, *consensus.Header) {
	h := settings(1<<25, 7_500_000_000_000_000_000)
	h.Time = 1_800_000_000
	return After(h, stating(h.Time, 1, 24*scaling*target(h))), h
}

func TestClockAllocates(t *testing.T) {
	c, h := busy()
	if n := testing.AllocsPerRun(100, func() {
		h.Time++
		c.Begin(h)
		_ = c.BaseFee()
		c.End(h, 2_000_000)
	}); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
	w := recorded(t)
	start, b := *w.clock(t, transition), w.block(transition+1)
	h = w.header(t, transition+1)
	if n := testing.AllocsPerRun(100, func() {
		c := start
		if _, err := c.Execute(h, b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a block allocates %v times", n)
	}
}

// Where the target of a synchronous block comes from, and what is missing.
func TestStart(t *testing.T) {
	t.Parallel()
	state := make([]byte, 24)
	state[20] = 2 // the exponent 1 << 25
	for name, c := range map[string]struct {
		h      consensus.Header
		target uint64
	}{
		"a fee state":         {consensus.Header{Number: 1, Extra: state}, 2_718_281},
		"and predicates":      {consensus.Header{Number: 1, Extra: append(state, 0, 0)}, 2_718_281},
		"none":                {consensus.Header{Number: 1, Extra: state[:23]}, minTarget},
		"genesis":             {consensus.Header{Extra: state}, minTarget},
		"a member":            {consensus.Header{Number: 1, Extra: state, TargetExponent: new(uint64)}, minTarget},
		"a base fee too high": {consensus.Header{Number: 1, BaseFee: new(uint256.Int).SetAllOne()}, minTarget},
	} {
		clock := Start(&c.h)
		if clock.target != c.target || clock.BaseFee() == 0 {
			t.Errorf("%s: %+v", name, clock)
		}
	}
}

func FuzzClock(f *testing.F) {
	f.Add(uint64(1_795_785_098), uint64(1), uint64(5), uint64(0), uint64(0), uint64(1_795_785_099), uint64(7), uint64(11230), uint64(1<<25), uint64(1<<60))
	f.Add(^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), uint64(0), uint64(0))
	f.Add(uint64(0), uint64(0), uint64(0), uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0))
	f.Fuzz(func(t *testing.T, unix, numerator, excess, target, price, time, milli, gas, nextTarget, nextPrice uint64) {
		c := After(settings(target, price), stating(unix, numerator, excess))
		h := settings(nextTarget, nextPrice)
		h.Time, h.TimeMilli = time, &milli
		valid := func(c *Clock, when string) {
			if c.fraction >= c.rate() || c.excess < c.floor || c.BaseFee() < c.minPrice || c.target < minTarget {
				t.Errorf("%s: %+v", when, c)
			}
		}
		valid(&c, "stated")
		c.Begin(h)
		valid(&c, "begun")
		c.End(h, gas)
		valid(&c, "ended")
		// What a header states of a clock is all of it.
		if again := After(h, stating(c.seconds, c.fraction, c.excess)); again != c {
			t.Errorf("%+v, stated and read again %+v", c, again)
		}
	})
}

func BenchmarkClock(b *testing.B) {
	for name, excess := range map[string]uint64{"busy": 24, "idle": 1} {
		b.Run(name, func(b *testing.B) {
			c, h := busy()
			c.excess = max(excess*c.conversion(), c.floor)
			b.ReportAllocs()
			for b.Loop() {
				next := c
				h.Time = c.seconds + 2
				next.Begin(h)
				if next.BaseFee() == 0 {
					b.Fatal("no base fee")
				}
				next.End(h, 1_000_000)
			}
		})
	}
	b.Run("another target", func(b *testing.B) {
		c, h := busy()
		exponent := *h.TargetExponent + 1<<20
		h.TargetExponent = &exponent
		b.ReportAllocs()
		for b.Loop() {
			next := c
			next.End(h, 1_000_000)
		}
	})
}
