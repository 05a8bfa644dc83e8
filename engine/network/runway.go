package network

import (
	"context"
	"log/slog"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
)

// runwayPoll is how often the log is brought up to date about balances of L1 validators.
const runwayPoll = 10 * time.Second

// Runways says of each L1 in use for how long its validators can pay.
func (n *Network) Runways() []valset.Runway { return n.keeper.Runways() }

// runwayLog says in the log whose balance runs out: of each validator a week, a day and an
// hour before, and when it has.
type runwayLog struct {
	read func() []valset.Runway
	log  *slog.Logger
	said map[lastingKey]time.Duration // the step that was said last
}

type lastingKey struct {
	subnet chain.ID
	node   chain.NodeID
	weight uint64
}

// outOfBalance is the step behind the last of [rules.LastingStep].
const outOfBalance = -1

func (r *runwayLog) watch(ctx context.Context) error {
	tick := time.NewTicker(runwayPoll)
	defer tick.Stop()
	for {
		r.say()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *runwayLog) say() {
	now := make(map[lastingKey]time.Duration)
	for _, l1 := range r.read() {
		for i := range l1.Validators {
			v := &l1.Validators[i]
			key := lastingKey{l1.Subnet, v.NodeID, v.Weight}
			step := rules.LastingStep(v.Left)
			if v.Balance == 0 {
				step = outOfBalance
			}
			before := r.said[key]
			log := r.log.With("subnet", l1.Subnet, "node", v.NodeID, "weight", v.Weight, "balance", v.Balance, "fee", l1.Price)
			switch {
			case step == before:
			case step == outOfBalance:
				log.Warn("an L1 validator is out of balance and signs no more: top it up (IncreaseL1ValidatorBalanceTx)")
			case step != 0 && (before == 0 || step < before):
				log.Warn("the balance of an L1 validator runs out: top it up (IncreaseL1ValidatorBalanceTx)", "lasts", v.Left)
			default:
				log.Info("the balance of an L1 validator lasts longer again", "lasts", v.Left)
			}
			if step != 0 {
				now[key] = step
			}
		}
	}
	r.said = now
}

// addRunways adds the metrics of balances.
func (n *Network) addRunways() {
	n.metrics.Gauges("quorate_l1_seconds_left", "For how many seconds the balance lasts of the active validator of an L1 that runs out first, at today's fee.", []string{"subnet"},
		func(emit func(float64, ...string)) {
			for i, r := range n.Runways() {
				if next, ok := r.Next(); ok && i < maxSubnetSeries {
					emit(next.Left.Seconds(), r.Subnet.String())
				}
			}
		})
	n.metrics.Gauges("quorate_l1_inactive_weight", "Weight of the validators of an L1 that are out of balance.", []string{"subnet"},
		func(emit func(float64, ...string)) {
			for i, r := range n.Runways() {
				weight := uint64(0)
				for _, v := range r.Validators {
					if v.Balance == 0 {
						weight = chain.AddSaturated(weight, v.Weight)
					}
				}
				if i < maxSubnetSeries {
					emit(float64(weight), r.Subnet.String())
				}
			}
		})
}
