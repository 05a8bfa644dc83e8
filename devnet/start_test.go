package devnet

import (
	"errors"
	"testing"
	"time"

	"quorate/devnet/primary"
	"quorate/devnet/world"
)

// TestStart: the clocks of all chains go on from the time at which the network starts,
// whether Helicon is ahead, past, or never.
func TestStart(t *testing.T) {
	t.Parallel()
	start := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	const blocks, grown, every, height = 20, 5, 2 * time.Second, 3 * time.Second
	for name, helicon := range map[string]time.Time{"never": {}, "past": start.Add(-time.Hour), "ahead": start.Add(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := New(Config{
				Blocks: blocks, Validators: 2, EVMChains: 1, PrimaryBlocks: 60, HeightInterval: height, BlockInterval: every,
				Start: start.Add(time.Millisecond), Helicon: helicon,
			})
			if err != nil {
				t.Fatal(err)
			}
			for range grown {
				d.growEVM()
				d.growPrimary()
			}
			for id, c := range d.chains {
				if last := int64(c.Time(blocks)); last > start.UnixMilli() {
					t.Errorf("chain %s: the history ends at %s", id, time.UnixMilli(last).UTC())
				}
				tip := time.UnixMilli(int64(c.Time(c.Tip())))
				if late := tip.Sub(start.Add(grown * every)); c.Tip() != blocks+grown || late < 0 || late >= every {
					t.Errorf("chain %s: block %d is of %s", id, c.Tip(), tip.UTC())
				}
			}
			d.Primary().Read(func(s *primary.State) {
				if at := time.Unix(int64(s.Time), 0); !at.Equal(start.Add(grown * height)) {
					t.Errorf("the P-Chain is at %s", at.UTC())
				}
			})
			if epoch := d.World().Epoch(d.World().CChainID()); epoch.Start < start.Unix() {
				t.Errorf("the epoch is of %s", time.Unix(epoch.Start, 0).UTC())
			}
		})
	}
	for _, year := range []int{1999, 2041} {
		if _, err := New(Config{Start: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)}); !errors.Is(err, world.ErrParams) || !errors.Is(err, ErrConfig) {
			t.Errorf("a start in %d: %v", year, err)
		}
	}
}
