package httpapi

import (
	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/httpapi/door"
	"quorate/httpapi/etherscan"
	"quorate/httpapi/reply"
)

// etherscanOf returns what speaks Etherscan's dialect.
func etherscanOf(s *Server) *etherscan.Room {
	x := &etherscan.Room{
		MethodName: func(selector [4]byte) string {
			if s.cfg.Methods == nil {
				return ""
			}
			return s.cfg.Methods.MethodName(selector)
		},
		Price: func(chainID string) string {
			if s.cfg.Prices == nil {
				return ""
			}
			return s.cfg.Prices.Price(chainID, nil, "usd")
		},
		Desk: s.desk, NodeTimeout: s.cfg.NodeTimeout,
	}
	if s.cfg.Chains != nil {
		x.Chain = func(ctx *fasthttp.RequestCtx, name string) (*Chain, bool) { return dialectChain(s, ctx, name) }
	}
	if s.cfg.Ext != nil {
		x.Forward = func(ctx *fasthttp.RequestCtx, p *door.Params, id chain.ID, body []byte) *door.Failure {
			return forwardCall(s, ctx, p, id, body)
		}
	}
	return x
}

// dialectChain finds a chain, the first one for no name.
func dialectChain(s *Server, ctx *fasthttp.RequestCtx, name string) (*Chain, bool) {
	var found *Chain
	if all := s.cfg.Chains.Chains(); name == "" && len(all) > 0 {
		found = all[0]
	} else if c, ok := s.cfg.Chains.Chain(name); ok {
		found = c
	} else {
		return nil, false
	}
	reply.TellSync(ctx, found, s.desk.InFleet)
	return found, true
}

// forwardCall has the RPC of a chain answer a request with a call in JSON, at its price.
func forwardCall(s *Server, ctx *fasthttp.RequestCtx, p *door.Params, id chain.ID, body []byte) *door.Failure {
	ctx.Request.SetRequestURI("/ext/bc/" + id.String() + "/rpc")
	ctx.Request.Header.SetMethod(fasthttp.MethodPost)
	ctx.Request.Header.SetContentType(door.ContentJSON)
	ctx.Request.SetBody(body)
	if s.cfg.ExtCost != nil {
		if f := s.desk.More(ctx, p, s.cfg.ExtCost(ctx).Units-p.Paid); f != nil {
			return f
		}
	}
	passOn(s)(ctx, *p)
	return nil
}

// dialectPath returns the path of a request's route: what browsers do not ask for at the
// console's address is for tools. Their failures have a form of their own.
func dialectPath(ctx *fasthttp.RequestCtx, path []byte) []byte {
	if string(path) != etherscan.Path && (string(path) != etherscan.ShortPath || !etherscan.Asked(ctx, wantsHTML(ctx))) {
		return path
	}
	ctx.SetUserValue(door.ErrorForm{}, etherscan.AppendError)
	return []byte(etherscan.Path)
}
