package aggregator

import (
	"context"
	"log/slog"
	"runtime/debug"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/actor"
	"quorate/engine/chain/warp"
)

// maxBatch bounds how many aggregates one check covers: beyond it the saving
// per aggregate is small and a failure costs more.
const maxBatch = 32

// part is one validator's signature.
type part struct {
	raw    [bls.SignatureLen]byte
	sig    bls.Signature
	proven bool // verified by itself; otherwise at most as part of a sum
}

// checkTask asks whether the sum of parts is the signature of exactly signers.
type checkTask struct {
	set     *valset.Set
	msg     *bls.Message
	signers warp.Bits
	parts   []*part // in ascending order of signers
	whole   bool    // parts is one aggregate of all signers: nothing to locate
	done    func(*verdict)

	answered bool // owned by the verifier
}

func (t *checkTask) answer(v *verdict) {
	t.answered = true
	t.done(v)
}

// verdict answers a checkTask.
type verdict struct {
	signers warp.Bits
	ok      bool
	sum     [bls.SignatureLen]byte // of ok: the aggregate that was checked
	bad     []int32                // of not ok: validators whose part is invalid; the rest has a valid sum
	lies    []string               // of bad: the kind of each, for the metrics
	broken  bool                   // not ok, but no signature can be named: a fault of this program
}

// verifier checks aggregates on as many cores as it has slots. With a slot free
// the caller checks by itself, without waiting for anyone; otherwise workers
// take the backlog and check several at once, so that batching never adds latency.
type verifier struct {
	slots   chan struct{} // one token for each check under way
	tasks   chan *checkTask
	log     *slog.Logger
	batches *batchCounters
}

func newVerifier(workers, backlog int, log *slog.Logger, batches *batchCounters) *verifier {
	return &verifier{
		slots: make(chan struct{}, workers), tasks: make(chan *checkTask, backlog), log: log, batches: batches,
	}
}

// submit has a task checked; done is called once, perhaps before submit
// returns, unless ctx ends first.
func (v *verifier) submit(ctx context.Context, t *checkTask) error {
	select {
	case v.slots <- struct{}{}:
		defer v.release()
		v.run([]*checkTask{t})
		return nil
	default:
	}
	select {
	case v.tasks <- t:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// check has a task checked and waits for the verdict.
func (v *verifier) check(ctx context.Context, t *checkTask) (*verdict, error) {
	reply := actor.NewReply[*verdict]()
	t.done = func(v *verdict) { reply.Answer(v, nil) }
	if err := v.submit(ctx, t); err != nil {
		return nil, err
	}
	return reply.Wait(ctx)
}

func (v *verifier) release() { <-v.slots }

// work takes from the backlog. It runs until ctx ends.
func (v *verifier) work(ctx context.Context) error {
	batch := make([]*checkTask, 0, maxBatch)
	for {
		select {
		case t := <-v.tasks:
			batch = append(batch[:0], t)
		case <-ctx.Done():
			return nil
		}
		select {
		case v.slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		batch = v.more(batch)
		v.run(batch)
		v.release()
		clear(batch)
	}
}

// run checks a batch and gives each its verdict: the valid ones first, so that
// they do not wait for the search in the others. After a panic those without a
// verdict get one that ends their collections, rather than none.
func (v *verifier) run(batch []*checkTask) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		v.log.Error("a check of signatures has failed", "panic", p, "stack", string(debug.Stack()))
		for _, t := range batch {
			if !t.answered {
				t.answer(&verdict{signers: t.signers, broken: true})
			}
		}
	}()
	checks := make([]bls.Check, len(batch))
	for k, t := range batch {
		checks[k] = t.check()
	}
	v.batches.observe(len(batch))
	verdicts := bls.VerifyBatch(checks)
	for k, t := range batch {
		if verdicts[k] {
			t.answer(&verdict{signers: t.signers, ok: true, sum: checks[k].Sig.Bytes()})
		}
	}
	for k, t := range batch {
		if !verdicts[k] {
			t.answer(v.locate(t))
		}
	}
}

// more adds a worker's share of the backlog to batch.
func (v *verifier) more(batch []*checkTask) []*checkTask {
	for n := min(len(v.tasks)/cap(v.slots), maxBatch-1); n > 0; n-- {
		select {
		case t := <-v.tasks:
			batch = append(batch, t)
		default:
			return batch
		}
	}
	return batch
}

func (t *checkTask) check() bls.Check {
	sigs := make([]*bls.Signature, len(t.parts))
	for k, p := range t.parts {
		sigs[k] = &p.sig
	}
	return bls.Check{Key: t.set.KeySum(t.signers), Msg: t.msg, Sig: bls.SumSignatures(sigs)}
}

// locate finds parts that make a sum invalid. Parts proven before are beyond doubt.
func (v *verifier) locate(t *checkTask) *verdict {
	out := &verdict{signers: t.signers}
	if t.whole {
		return out
	}
	var index []int32
	var keys []*bls.PublicKey
	var sigs []*bls.Signature
	k := 0
	t.signers.Each(func(i int) {
		if p := t.parts[k]; !p.proven {
			index = append(index, int32(i)) // set sizes are bounded
			keys = append(keys, t.set.Validators[i].Key)
			sigs = append(sigs, &p.sig)
		}
		k++
	})
	bad := bls.Prune(keys, sigs, t.msg)
	if len(bad) == 0 {
		// Parts that are all valid have a valid sum: this is a bug of ours. It ends
		// the collection, and no validator is blamed for it.
		v.log.Error("sum of signatures is invalid but no part is", "signers", t.signers.Count())
		out.broken = true
		return out
	}
	for _, pos := range bad {
		out.bad = append(out.bad, index[pos])
		out.lies = append(out.lies, lieIn(sigs[pos]))
	}
	return out
}

// lieIn returns the kind of a signature that is a point of the curve but not valid.
func lieIn(s *bls.Signature) string {
	if !s.InSubgroup() {
		return "subgroup"
	}
	return "signature"
}
