package devnet

import (
	"context"
	"runtime"
	"testing"
)

// BenchmarkStart builds and starts 1,000 validators: time per start, and the
// memory that they hold before anybody connects.
func BenchmarkStart(b *testing.B) {
	b.ReportAllocs()
	var held float64
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		d, err := New(Config{Validators: 1000, Byzantine: 0.2, L1s: 1})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		<-d.Ready()
		runtime.GC()
		runtime.ReadMemStats(&after)
		held = float64(after.HeapInuse+after.StackInuse) - float64(before.HeapInuse+before.StackInuse)
		cancel()
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(held/(1<<20), "MB-held")
}
