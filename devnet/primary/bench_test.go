package primary_test

import (
	"testing"

	"quorate/devnet/primary"
	"quorate/devnet/world"
)

// BenchmarkMake is what the history of the commands' default costs at the start.
func BenchmarkMake(b *testing.B) {
	w, err := world.New(world.Params{Validators: 5, Seed: 1, L1s: 1})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c, err := primary.Make(primary.Config{World: w})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(c.Platform())), "blocks")
		b.ReportMetric(float64(len(c.Vertices())+len(c.AVM())), "X-blocks")
	}
}
