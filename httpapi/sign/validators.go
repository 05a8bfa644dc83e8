package sign

import (
	"encoding/hex"
	"strconv"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/httpapi/door"
	"quorate/httpapi/shape"
)

var (
	paramSetHeight = door.Param{Name: "height", Doc: "a P-Chain height; 0 or left out, the proposed one", Schema: door.Whole(),
		Set: func(q *door.Query, v []byte) string { return door.SetUint(&q.Block, v) }}
	paramSetSubnet = door.Param{Name: "subnet", Doc: "a subnet; left out, the primary network", Schema: door.IDLike(), Set: func(q *door.Query, v []byte) string { return door.SetID(q.Own.(*chain.ID), v) }}
)

// signingSet answers with the canonical validator set of a subnet at a height: whose
// signature each bit of a signed message stands for.
func (m *Room) signingSet(r *door.Route) door.Handler {
	return func(ctx *fasthttp.RequestCtx, p door.Params) {
		network, f := m.network(p.Get("network"))
		subnet := chain.PrimaryNetworkID
		q := door.Query{Own: &subnet}
		if f == nil {
			f = q.Parse(ctx.URI().QueryString(), r.Query, r.Size)
		}
		q.Ignored.Tell(ctx)
		if f != nil {
			door.Fail(ctx, f)
			return
		}
		req := aggregator.Request{SigningSubnetID: &subnet, PChainHeight: q.Block}
		m.from(ctx, &p, &req)
		set, err := network.Validators(m.desk.Work, &req)
		if err != nil {
			door.Fail(ctx, m.aggregateFailure(err))
			return
		}
		out := shape.SigningSet{
			SubnetID: shape.ID(set.SubnetID.String()), PChainHeight: set.Height, TotalWeight: strconv.FormatUint(set.TotalWeight, 10),
			Validators: make([]shape.SigningValidator, len(set.Validators)),
		}
		for i := range set.Validators {
			v := &set.Validators[i]
			key := v.Key.Compressed()
			nodes := make([]shape.NodeID, len(v.NodeIDs))
			for k, id := range v.NodeIDs {
				nodes[k] = shape.NodeID(id.String())
			}
			out.Validators[i] = shape.SigningValidator{PublicKey: "0x" + hex.EncodeToString(key[:]), Weight: strconv.FormatUint(v.Weight, 10), NodeIDs: nodes}
		}
		body, err := json.Marshal(&out)
		if err != nil {
			m.desk.Log.Error("a validator set cannot be written", "err", err)
			door.Fail(ctx, door.Internal())
			return
		}
		ctx.Response.Header.SetContentType(door.ContentJSON)
		ctx.Response.SwapBody(body)
	}
}
