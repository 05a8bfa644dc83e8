package httpapi

import (
	"encoding/hex"
	"strconv"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/httpapi/shape"
)

var (
	paramSetHeight = param{name: "height", doc: "a P-Chain height; 0 or left out, the proposed one", schema: whole(),
		set: func(q *query, v []byte) string { return setUint(&q.block, v) }}
	paramSetSubnet = param{name: "subnet", doc: "a subnet; left out, the primary network", schema: idLike(), set: func(q *query, v []byte) string { return setID(q.own.(*chain.ID), v) }}
)

// signingSet answers with the canonical validator set of a subnet at a height: whose
// signature each bit of a signed message stands for.
func signingSet(s *Server, r *Route) handler {
	return func(ctx *fasthttp.RequestCtx, p params) {
		network, f := s.network(p.get("network"))
		subnet := chain.PrimaryNetworkID
		q := query{own: &subnet}
		if f == nil {
			f = q.parse(ctx.URI().QueryString(), r.query, r.size)
		}
		q.ignored.tell(ctx)
		if f != nil {
			fail(ctx, f)
			return
		}
		req := aggregator.Request{SigningSubnetID: &subnet, PChainHeight: q.block}
		from(ctx, &p, &req)
		set, err := network.Validators(s.work, &req)
		if err != nil {
			fail(ctx, s.aggregateFailure(err))
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
			s.log.Error("a validator set cannot be written", "err", err)
			fail(ctx, &failure{status: fasthttp.StatusInternalServerError, message: "internal error"})
			return
		}
		ctx.Response.Header.SetContentType(contentJSON)
		ctx.Response.SwapBody(body)
	}
}
