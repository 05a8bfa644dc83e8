package devnet

import (
	"bytes"
	"testing"
	"time"

	"quorate/devnet/primary"
)

// TestGrown: a network that goes on from where another one ended has its chains, however
// these grew beside each other.
func TestGrown(t *testing.T) {
	t.Parallel()
	grown(t, Config{Blocks: 20, Validators: 2, EVMChains: 1, PrimaryBlocks: 60, HeightInterval: 10 * time.Second})
	grown(t, Config{
		Blocks: 20, Validators: 5, EVMChains: 1, PrimaryBlocks: 60, HeightInterval: time.Hour, Helicon: time.Date(2024, 12, 1, 0, 0, 0, 0, time.UTC),
	})
}

func grown(t *testing.T, cfg Config) {
	t.Helper()
	said := Growth{}
	cfg.OnGrowth = func(g Growth) { said = g }
	first, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		first.growEVM()
		first.grew(Growth{Blocks: 1})
		if i%4 == 0 {
			first.EVMChain(first.world.CChainID()).Tip() // whoever asks makes it
			first.growPrimary()
			first.grew(Growth{Heights: 1})
		}
	}
	if want := (Growth{Blocks: 30, Heights: 8, Helicon: cfg.Helicon}); said != want {
		t.Fatalf("said %+v, want %+v", said, want)
	}
	cfg.Grown = said
	second, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for id, c := range first.chains {
		if other := second.EVMChain(id); other.Tip() != 50 || c.Tip() != 50 || other.Hash(50) != c.Hash(50) {
			t.Errorf("chain %s: blocks %d and %d are others", id, c.Tip(), other.Tip())
		}
	}
	for name, of := range map[string]func(*primary.Chain) []*primary.Container{
		"P": (*primary.Chain).Platform, "X": (*primary.Chain).AVM, "C": (*primary.Chain).Core,
	} {
		a, b := of(first.Primary()), of(second.Primary())
		if len(a) == 0 || len(a) != len(b) || !bytes.Equal(a[len(a)-1].Bytes(), b[len(b)-1].Bytes()) {
			t.Errorf("%s: the last of %d and %d containers are others", name, len(a), len(b))
		}
	}
	second.grew(Growth{Blocks: 1})
	if want := (Growth{Blocks: 31, Heights: 8, Helicon: cfg.Helicon}); said != want {
		t.Errorf("said %+v, want %+v", said, want)
	}
}
