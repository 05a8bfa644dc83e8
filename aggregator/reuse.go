package aggregator

import (
	"context"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/actor"
	"quorate/engine/chain/warp"
)

// reuse makes a result of signatures that were collected for another set: at the
// turn of an epoch, or after a change of the validators, most of those who signed
// still count. It returns nil when they do not reach the quorum, or when their sum
// is not valid; then the message has to be collected.
func (a *Aggregator) reuse(ctx context.Context, req *Request, key resultKey, msg *warp.Unsigned, set *valset.Set) *kept {
	parts := a.results.getParts(key.msg)
	if len(parts) == 0 || parts[0].set == set.Digest {
		return nil // a collection for this set begins with them anyway
	}
	byKey := make(map[[bls.PublicKeyLen]byte]*part, len(parts))
	for _, p := range parts {
		byKey[p.key] = p.part
	}
	now, signers := time.Now(), warp.NewBits(len(set.Validators))
	var sum []*part
	for i := range set.Validators {
		raw := set.Validators[i].Key.Compressed()
		if p := byKey[raw]; p != nil && (p.proven || !a.bad.holds(now, raw)) {
			own := *p // kept parts are shared, proven is not
			signers.Set(i)
			sum = append(sum, &own)
		}
	}
	if set.Weight(signers) < need(set.TotalWeight, req.Quorum) {
		return nil
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
	a.results.publish(ctx, key, k)
	a.count.reused.Inc()
	return k
}
