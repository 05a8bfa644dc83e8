package devnet

import (
	"errors"
	"slices"
	"testing"
	"time"

	"quorate/devnet/primary"
	"quorate/engine/chain"
)

// TestPrimary: a network whose P- and X-Chain have blocks grows by blocks, converts
// by a block, and its facts name what is there.
func TestPrimary(t *testing.T) {
	t.Parallel()
	d, stop := start(t, Config{
		Validators: 4, L1s: 2, L1After: time.Hour, PrimaryBlocks: 600, HeightInterval: time.Millisecond, Blocks: 10,
	})
	defer stop()
	base := d.World().Height()
	eventually(t, "the P-Chain has grown", func() bool { return d.World().Height() > base+5 })
	d.ConvertL1()
	if l := d.World().L1s()[1]; !d.World().Converted(l) {
		t.Error("the last L1 is not converted")
	}
	f := d.Facts("")
	if f.VertexHeight == nil || len(f.RewardAddresses) < 10 || f.BlockchainIDs[0] != chain.PlatformChainID.String() ||
		!slices.Contains(f.BlockchainIDs, d.World().XChainID().String()) || len(f.BlockchainIDs) < 10 {
		t.Errorf("facts: %v, %v, %v", f.VertexHeight, f.RewardAddresses, f.BlockchainIDs)
	}
	d.Primary().Read(func(s *primary.State) {
		if len(s.Subnets) < 5 || s.Subnets[d.World().L1s()[0].SubnetID] == nil {
			t.Errorf("%d subnets", len(s.Subnets))
		}
	})
	if err := d.Primary().Err(); err != nil {
		t.Error(err)
	}
}

func TestPrimaryConfig(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, MaxPrimaryBlocks + 1} {
		if _, err := New(Config{PrimaryBlocks: n}); err == nil {
			t.Errorf("%d blocks were accepted", n)
		}
	}
	for _, at := range []time.Time{
		time.Date(2024, 11, 16, 23, 59, 59, 0, time.UTC), // Granite is a second later
		time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if _, err := New(Config{PrimaryBlocks: 600, Helicon: at}); !errors.Is(err, ErrConfig) {
			t.Errorf("Helicon at %s: %v", at, err)
		}
	}
	d, err := New(Config{Blocks: 10})
	if err != nil || d.Primary() != nil || d.World().Height() != 0 {
		t.Errorf("without blocks: %v, %v", d.Primary(), err)
	}
}
