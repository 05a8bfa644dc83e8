package aggregator

import (
	"context"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/actor"
	"quorate/engine/chain/warp"
)

// reuse makes a result of signatures that are kept from a collection for another set or
// another quorum: at the turn of an epoch, or after a change of the validators, most of
// those who signed still count. The first result for a set may lack a buffer that the
// set before lacked too. It returns nil when they do not reach what is asked for, or when
// their sum is not valid; then the message has to be collected.
func (a *Aggregator) reuse(ctx context.Context, req *Request, key collectionKey, first bool, msg *warp.Unsigned, set *valset.Set) *kept {
	parts := a.results.getParts(key.msg)
	if len(parts) == 0 {
		return nil
	}
	byKey := make(map[[bls.PublicKeyLen]byte]*part, len(parts))
	for _, p := range parts {
		byKey[p.key] = p.part
	}
	now := time.Now()
	found := make([]*part, len(set.Validators))
	var have uint64
	var candidates []int32
	for i := range set.Validators {
		raw := set.Validators[i].Key.Compressed()
		if p := byKey[raw]; p != nil && (p.proven || !a.bad.holds(now, raw)) {
			own := *p // kept parts are shared, proven is not
			found[i] = &own
			candidates = append(candidates, int32(i)) // set sizes are bounded
			have += set.Validators[i].Weight          // at most the total
		}
	}
	want := need(set.TotalWeight, req.Quorum+req.Buffer)
	if first && parts[0].set != set.Digest {
		want = max(need(set.TotalWeight, req.Quorum), min(want, have))
	}
	if have < want {
		return nil
	}
	beside, covers := weighings(set, a.sets.Beside(set))
	weight := func(i int32) uint64 { return set.Validators[i].Weight }
	signers, sum := warp.NewBits(len(set.Validators)), []*part(nil)
	for _, i := range fewest(candidates, weight, aim{want, req.Quorum}, beside) {
		signers.Set(int(i))
		sum = append(sum, found[i])
	}
	reply := actor.NewReply[*verdict]()
	t := &checkTask{set: set, msg: bls.HashMessage(msg.Bytes()), signers: signers, parts: sum}
	t.done = func(v *verdict) { reply.Answer(v, nil) }
	if a.verifier.submit(ctx, t) != nil {
		return nil
	}
	v, err := reply.Wait(ctx)
	if err != nil || !v.ok {
		return nil
	}
	k := newKept(msg, set, v.signers, v.sum, req.Quorum+req.Buffer, now)
	a.count.given(set, k, covers && covered(k.signers, beside, req.Quorum))
	a.results.publish(ctx, key.with(req.wish()), k)
	a.count.reused.Inc()
	return k
}
