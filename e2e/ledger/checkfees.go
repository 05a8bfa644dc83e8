package ledger

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/ava-labs/avalanchego/graft/coreth/plugin/evm/atomic"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
)

// day is the length of a metric's interval, in seconds.
const day = 24 * 60 * 60

// memberFees are what validators of L1s have paid, of all, of each subnet, node and
// validator. Nothing says it but the fees that accrue, see [Ledger.Settle].
func (k *Checker) memberFees(ctx context.Context) {
	check := func(path, cumulative, daily, paying string, of func(*Member) bool) {
		var paid, active uint64
		for _, m := range k.joined {
			if of(m) {
				if paid += k.feesOf(m); m.limit != 0 {
					active++
				}
			}
		}
		k.lastPoint(ctx, path+"/metrics/"+cumulative, k.now, paid)
		k.sumOfPoints(ctx, path+"/metrics/"+daily, paid)
		if paying != "" {
			k.lastPoint(ctx, path+"/metrics/"+paying, k.now, active)
		}
	}
	check("/v2/validators", "totalCumulativeFeesDaily", "totalValidatorFeesDaily", "totalPayingValidatorsDaily", func(*Member) bool { return true })
	if len(k.joined) > 0 && !slices.ContainsFunc(k.joined, func(m *Member) bool { return k.feesOf(m) > 0 }) {
		k.problem("no validator of an L1 has paid")
	}
	for _, one := range k.joined {
		check("/v2/validation/"+one.ID.String(), "validationCumulativeFeesDaily", "validationFeesDaily", "", func(m *Member) bool { return m == one })
		check("/v2/validator/"+one.Node.String(), "perNodeCumulativeFeesPaid", "perNodeDailyFeesPaid", "", func(m *Member) bool { return m.Node == one.Node })
		check("/v2/subnet/"+one.Subnet.String(), "perSubnetCumulativeFeesPaid", "perSubnetDailyFeesPaid", "perSubnetPayingValidators",
			func(m *Member) bool { return m.Subnet == one.Subnet })
	}
}

// burnedFees are what the transactions of each chain took and did not make.
func (k *Checker) burnedFees(ctx context.Context) {
	root := "/v2" + k.root[len("/v1"):] + "/metrics/"
	for _, c := range []struct {
		*Chain
		name, cumulative string
	}{{k.P, "pChainFeesBurned", "pChainCumulativeFeesBurned"}, {k.X, "xChainFeesBurned", "xChainCumulativeFeesBurned"},
		{k.C, "cChainAtomicFeesBurned", "cChainCumulativeAtomicFeesBurned"}} {
		var burned uint64
		for _, tx := range c.Txs {
			if tx.Block != nil && tx.height > 0 {
				burned += k.burnedBy(tx)
			}
		}
		if burned == 0 {
			k.problem("%s: nothing was burned", c.Alias)
		}
		k.lastPoint(ctx, root+c.cumulative, c.Blocks[len(c.Blocks)-1].Time, burned)
		k.sumOfPoints(ctx, root+c.name, burned)
	}
}

// burnedBy returns the fee of a transaction.
func (k *Checker) burnedBy(tx *Tx) uint64 {
	in, made := sum(tx.Consumed), sum(tx.Emitted)
	var funded sums
	switch t := tx.unsigned.(type) {
	case *txs.RewardValidatorTx:
		return 0
	case *atomic.UnsignedImportTx:
		for _, a := range t.Outs {
			made.add(a.AssetID, a.Amount)
		}
	case *atomic.UnsignedExportTx:
		for _, a := range t.Ins {
			in.add(a.AssetID, a.Amount)
		}
	default:
		k.body(object{}, tx, &funded)
	}
	took, left := in.of[k.AVAX]+tx.refunded, made.of[k.AVAX]+funded.of[k.AVAX]
	return max(took, left) - left
}

// points returns those of a metric, the newest first.
func (k *Checker) points(ctx context.Context, path string) list {
	points, _ := k.get(ctx, path, http.StatusOK)["results"].(list)
	return points
}

// lastPoint compares the newest point of a metric: that of the day of the last block.
func (k *Checker) lastPoint(ctx context.Context, path string, now, want uint64) {
	points := k.points(ctx, path)
	if len(points) == 0 {
		if want != 0 {
			k.problem("%s: no points, want %d", path, want)
		}
		return
	}
	k.same(path, points[0], object{"value": want, "timestamp": now / day * day})
}

// sumOfPoints compares the sum of a metric's points.
func (k *Checker) sumOfPoints(ctx context.Context, path string, want uint64) {
	sum := uint64(0)
	for _, p := range k.points(ctx, path) {
		o, _ := p.(object)
		n, _ := o["value"].(json.Number)
		v, err := strconv.ParseUint(string(n), 10, 64)
		if err != nil {
			k.problem("%s: %v", path, p)
		}
		sum += v
	}
	if sum != want {
		k.problem("%s: %d in all, want %d", path, sum, want)
	}
}
