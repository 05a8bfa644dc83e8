package httpapi

import "github.com/valyala/fasthttp"

// listChains makes the handler of endpoint 17.
func listChains(s *Server, r *Route) handler {
	return func(ctx *fasthttp.RequestCtx, _ params) {
		c := s.calls.get(s, ctx, r)
		c.w.Dialect = s.dialect(ctx)
		c.w.B = ctx.Response.SwapBody(nil)[:0]
		if f := c.q.parse(ctx.URI().QueryString(), r.query, r.size); f != nil {
			ctx.Response.SwapBody(c.w.B)
			fail(ctx, f)
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
