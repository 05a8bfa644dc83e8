package bench

import (
	"fmt"
	"testing"
)

// BenchmarkFresh is a collection from signature bytes to signed message, the
// network apart, with all validators signing. x/floor is its time against the
// bare cryptography by hand on one core, and cpu/floor its CPU time on all cores
// against the same; x/naive is its time against verifying each signature by itself.
func BenchmarkFresh(b *testing.B) {
	for _, n := range []int{5, 100, 1000} {
		b.Run(fmt.Sprint("N=", n), func(b *testing.B) {
			r := newRig(b, n, false)
			b.ReportAllocs()
			for b.Loop() {
				r.fresh(b)
			}
			b.StopTimer()
			ours := func() { r.fresh(b) }
			floor := func() { r.byHand(b) }
			b.ReportMetric(against(wall(), 5, ours, floor), "x/floor")
			b.ReportMetric(against(cpu, 5, ours, floor), "cpu/floor")
			b.ReportMetric(against(wall(), 1, ours, func() { r.oneByOne(b) }), "x/naive")
		})
	}
}
