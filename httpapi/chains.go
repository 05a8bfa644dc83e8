package httpapi

import (
	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
)

// listChains makes the handler of endpoint 17.
func listChains(s *Server, r *door.Route) door.Handler {
	return func(ctx *fasthttp.RequestCtx, _ door.Params) {
		c := s.calls.get(s, ctx, r)
		c.w.Dialect = s.dialect(ctx)
		c.w.B = ctx.Response.SwapBody(nil)[:0]
		if f := c.q.Parse(ctx.URI().QueryString(), r.Query, r.Size); f != nil {
			ctx.Response.SwapBody(c.w.B)
			door.Fail(ctx, f)
		} else {
			c.listChains()
			s.answer(ctx, c)
		}
		s.calls.put(c)
	}
}

func (c *call) listChains() {
	c.list("chains")
	for _, chain := range c.s.cfg.Chains.Chains() {
		if c.wanted(chain.Info()) {
			c.chainItem(chain)
		}
	}
	c.w.Raw("]}")
}
