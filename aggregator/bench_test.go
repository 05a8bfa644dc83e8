package aggregator

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"quorate/aggregator/bls"
	"quorate/engine/chain/warp"
)

// signedBefore answers with a signature made before the clock started.
func signedBefore(v *fakeValidator, msg *warp.Unsigned) reply {
	sig := v.key.Sign(msg.Bytes())
	return func(v *fakeValidator, _ *warp.Unsigned, deliver func(Answer)) {
		deliver(Answer{From: v.id, Signature: sig[:]})
	}
}

// BenchmarkFresh is a collection from signature bytes to signed message, the
// network apart. All in processor time, which other programs disturb least:
// x/floor is its time against the same cryptography done by hand on one core
// (decode each signature, add up, hash the message, one subgroup and one pairing
// check), x/naive against verifying each signature by itself.
func BenchmarkFresh(b *testing.B) {
	for _, n := range []int{5, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			bed, msg := signedBed(b, n)
			b.ReportAllocs()
			b.ResetTimer()
			var spent time.Duration
			for b.Loop() {
				spent += processorTime(b, func() { bed.collectAnew(b) })
			}
			b.StopTimer()
			each := spent / time.Duration(b.N)
			b.ReportMetric(float64(each.Microseconds()), "cpu-us/op")
			b.ReportMetric(float64(each)/float64(least(b, func() { byHand(b, bed, msg) })), "x/floor")
			b.ReportMetric(float64(each)/float64(least(b, func() { oneByOne(b, bed, msg) })), "x/naive")
		})
	}
}

// BenchmarkLiar has one validator sign with a wrong key. first/honest is the
// processor time of the message that finds it against one that all sign, and
// next/honest that of a message after it.
func BenchmarkLiar(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			bed, msg := signedBed(b, n)
			liar := bed.peers.vals[n/3]
			wrong := bls.SecretKeyFromSeed([]byte("quite another key, 32 bytes long")).Sign(msg.Bytes())
			var honest, first, next time.Duration
			for b.Loop() {
				bed.forgive()
				liar.set(signedBefore(liar, msg))
				honest += processorTime(b, func() { bed.collectAnew(b) })
				liar.set(sends(wrong[:]))
				first += processorTime(b, func() { bed.collectAnew(b) })
				next += processorTime(b, func() { bed.collectAnew(b) })
			}
			b.ReportMetric(float64(first)/float64(honest), "first/honest")
			b.ReportMetric(float64(next)/float64(honest), "next/honest")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// signedBed returns an aggregator of n validators that have signed msg beforehand.
func signedBed(b *testing.B, n int) (*bed, *warp.Unsigned) {
	b.Helper()
	peers := newFakePeers(equal(n)...)
	msg := message(b, 1)
	for _, v := range peers.vals {
		v.set(signedBefore(v, msg))
	}
	return newBed(b, peers, nil), msg
}

// collectAnew has message 1 signed by as many as will, as if nothing was known of it.
func (b *bed) collectAnew(t testing.TB) {
	b.results = newResults(1<<20, 1, nil, nil, nil)
	if _, err := b.Aggregate(context.Background(), request(t, 1, 67, 33)); err != nil {
		t.Fatal(err)
	}
}

// forgive ends all quarantines.
func (b *bed) forgive() {
	b.bad = newQuarantine(b.cfg.QuarantineBase, b.cfg.QuarantineMax)
	b.rankings = newRankings(b.cfg.Peers.Status, b.bad, b.habits)
}

// processorTime returns what f takes on all cores together.
func processorTime(t testing.TB, f func()) time.Duration {
	now := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := now()
	f()
	return now() - start
}

// least returns the processor time of the best of a few runs.
func least(t testing.TB, f func()) time.Duration {
	best := time.Hour
	for range 5 {
		best = min(best, processorTime(t, f))
	}
	return best
}

// rawSignatures returns what each validator of the set sent, in canonical order.
func rawSignatures(b *testing.B, bed *bed, msg *warp.Unsigned) [][bls.SignatureLen]byte {
	b.Helper()
	set := bed.sets.set.Load()
	out := make([][bls.SignatureLen]byte, len(set.Validators))
	for i := range set.Validators {
		bed.peers.byID[set.Validators[i].NodeIDs[0]].reply(bed.peers.byID[set.Validators[i].NodeIDs[0]], msg,
			func(a Answer) { out[i] = [bls.SignatureLen]byte(a.Signature) })
	}
	return out
}

func byHand(b *testing.B, bed *bed, msg *warp.Unsigned) {
	b.Helper()
	set := bed.sets.set.Load()
	sigs := make([]bls.Signature, len(set.Validators))
	ptrs := make([]*bls.Signature, len(sigs))
	all := warp.NewBits(len(sigs))
	for i, raw := range rawSignatures(b, bed, msg) {
		if err := bls.DecodeSignatureInto(&sigs[i], raw[:]); err != nil {
			b.Fatal(err)
		}
		ptrs[i] = &sigs[i]
		all.Set(i)
	}
	key, sum := set.KeySum(all), bls.SumSignatures(ptrs)
	if !bls.Verify(&key, bls.HashMessage(msg.Bytes()), &sum) {
		b.Fatal("invalid")
	}
}

func oneByOne(b *testing.B, bed *bed, msg *warp.Unsigned) {
	b.Helper()
	set := bed.sets.set.Load()
	for i, raw := range rawSignatures(b, bed, msg) {
		key := bls.SumKeys([]*bls.PublicKey{set.Validators[i].Key})
		sig, err := bls.DecodeAggregate(raw[:])
		if err != nil || !bls.Verify(&key, bls.HashMessage(msg.Bytes()), &sig) {
			b.Fatal("invalid", err)
		}
	}
}

// BenchmarkRepeat is the answer to a request whose result is kept.
func BenchmarkRepeat(b *testing.B) {
	for _, n := range []int{5, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			peers := newFakePeers(equal(n)...)
			msg := message(b, 1)
			for _, v := range peers.vals {
				v.set(signedBefore(v, msg))
			}
			bed := newBed(b, peers, nil)
			req := request(b, 1, 67, 33)
			if _, err := bed.Aggregate(context.Background(), req); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bed.Aggregate(context.Background(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
