package aggregator

import (
	"context"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// Repeat is a request that was read once and may be answered again without that: its
// message is parsed and hashed, and its signing subnet known. It does not change.
type Repeat struct {
	by     *Aggregator
	msg    *warp.Unsigned
	subnet chain.ID // whose validators sign
	to     chain.ID // whose epoch says at which height
	epoch  bool     // or it is the proposed one
	wish   wish
}

// Network returns the ID of the network that the message is of.
func (r *Repeat) Network() uint32 { return r.msg.NetworkID }

// Size returns about how many bytes r takes.
func (r *Repeat) Size() int { return len(r.msg.Bytes()) + repeatOverhead }

const repeatOverhead = 256

// ended is a context for questions that are worth asking only if the answer is at hand.
var ended = func() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}()

// Repeatable reads a request for [Aggregator.Again]. It returns nil where a node may
// have to be asked about each request: without a message, or for a height.
func (a *Aggregator) Repeatable(req *Request) *Repeat {
	if len(req.Message) == 0 || req.PChainHeight != 0 {
		return nil
	}
	msg, err := a.message(ended, req)
	if err != nil {
		return nil
	}
	// Which subnet validates a chain never changes, so it need not be asked again.
	subnet, err := a.sets.SubnetOf(ended, msg.SourceChainID)
	if err != nil {
		return nil
	}
	if req.SigningSubnetID != nil {
		subnet = *req.SigningSubnetID
	}
	r := &Repeat{by: a, msg: msg, subnet: subnet, wish: req.wish()}
	r.to, r.epoch = destination(req, msg)
	return r
}

// Again answers a request as [Aggregator.Aggregate] would at this moment, if that is
// with a result in memory, made by the validators that sign now. Otherwise it returns
// nil, also for requests that another aggregator has read: then Aggregate has to be asked.
func (a *Aggregator) Again(r *Repeat) *Result {
	if r.by != a {
		return nil
	}
	var height uint64
	if r.epoch {
		height, _ = a.sets.EpochHeight(r.to) // chains go on being followed
	}
	set, ok := a.sets.Current(r.subnet)
	if height != 0 {
		var err error
		set, err = a.sets.At(ended, r.subnet, height)
		ok = err == nil
	}
	if !ok || empty(set) {
		return nil
	}
	at := attempt{wish: r.wish, msg: r.msg, set: set}
	k := a.inMemory(&at)
	if k == nil {
		return nil
	}
	a.journal.answered(time.Now(), &at, k, FromMemory)
	return k.resultAt(set.Height)
}
