package bench

import (
	"context"
	"testing"
	"time"

	"quorate/aggregator"
	"quorate/devnet"
	"quorate/engine"
	"quorate/engine/network"
	"quorate/engine/source"
)

// BenchmarkWire has new messages signed by all of 1,000 validators in another
// process, over TLS, by the whole engine. cpu-µs/validator is what this process
// spends on a validator's part of a message, and network-µs/validator how much
// of it is not cryptography: our CPU time less that of the same signatures
// collected without a network, in the same run. The wall time is mostly that of
// the simulated validators, who sign on the same cores. With -cpuprofile it says
// where the rest goes.
func BenchmarkWire(b *testing.B) {
	const validators = 1000
	r := newRig(b, validators, false)
	nodeURL, _ := startFarm(b, validators)
	eng, stop := startEngine(b, nodeURL, validators)
	defer stop()
	agg, ok := eng.Networks().ByID(rigNetwork)
	if !ok {
		b.Fatal("no such network")
	}
	d, err := devnet.New(devnet.Config{Validators: validators}) // the same messages
	if err != nil {
		b.Fatal(err)
	}
	next := uint64(0)
	ask := func() {
		next++
		res, err := agg.Aggregate(b.Context(), &aggregator.Request{Message: d.Message(next).Bytes(), Quorum: 100})
		if err != nil {
			b.Fatal(err)
		}
		if res.Weight != res.Total {
			b.Fatalf("%d of %d signed", res.Weight, res.Total)
		}
	}
	ask() // the first one meets cold caches
	b.ReportAllocs()
	var wire, crypto []float64
	for b.Loop() {
		start := cpu()
		ask()
		wire = append(wire, float64(cpu()-start)/1e3)
		start = cpu()
		r.fresh(b)
		crypto = append(crypto, float64(cpu()-start)/1e3)
	}
	b.StopTimer()
	b.ReportMetric(median(wire)/validators, "cpu-µs/validator")
	b.ReportMetric((median(wire)-median(crypto))/validators, "network-µs/validator")
	b.ReportMetric(median(wire)/median(crypto), "cpu/no-network")
}

// startEngine runs an engine until stop and waits until all validators are connected.
func startEngine(b *testing.B, nodeURL string, validators int) (_ *engine.Engine, stop func()) {
	b.Helper()
	nodes, err := source.ParseEndpoints(nodeURL)
	if err != nil {
		b.Fatal(err)
	}
	eng, err := engine.New(engine.Config{
		Nodes: nodes, DataDir: b.TempDir(), NoIndex: true,
		// The simulated validators share our cores: they are slow.
		Settings: network.Settings{BufferWindow: 20 * time.Second, RequestTimeout: 50 * time.Second},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- eng.Run(ctx) }()
	await(b, func() bool {
		sets := eng.Networks().Metrics()
		return len(sets) == 1 && sets[0].Value("quorate_p2p_peers_ready") == float64(validators)
	})
	return eng, func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}
