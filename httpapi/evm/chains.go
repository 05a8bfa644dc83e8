package evm

import (
	"cmp"

	"quorate/httpapi/door"
)

// listChains is endpoint 17.
func listChains(c *call) *door.Failure { return c.chains(c.chainItem) }

// chains lists the chains that are asked for, which change without a block.
func (c *call) chains(write func(*Chain)) *door.Failure {
	if f := c.Parse(); f != nil {
		return f
	}
	c.Passing = true
	c.List("chains")
	for _, chain := range c.EVM.Chains.Chains() {
		if info := chain.Info; c.Wanted(info) && (c.q.feature == "" || info.Has(c.q.feature)) {
			write(chain)
		}
	}
	c.W.Raw("]}")
	return nil
}

// metricChains lists the chains on the host of metrics.
func metricChains(c *call) *door.Failure { return c.chains(c.metricChain) }

// metricChain writes a chain for the host of metrics.
func (c *call) metricChain(chain *Chain) { c.W.MetricChain(chain.Info) }

// chainItself makes the handler of a route that says what is known of a chain without
// reading its rows.
func (m *Room) chainItself(write func(c *call, chain *Chain)) door.Maker {
	return m.calls.Make(func(c *call) *door.Failure {
		if f := c.Parse(); f != nil {
			return f
		}
		name := c.Params.Values[0]
		chain, ok := m.Chains.Chain(string(name))
		if !ok {
			return NoChain(name)
		}
		c.Passing = true // it changes without a block
		write(c, chain)
		return nil
	})
}

// chainItem writes a chain as the list of chains has it.
func (c *call) chainItem(chain *Chain) {
	c.Chain, c.Info = chain, chain.Info
	_, behind := chain.Syncing()
	gaps, _ := chain.Gaps()
	c.W.ChainItem(c.Info, chain.Down() == nil && !behind, cmp.Or(c.Logo(nil), c.Info.Token.LogoURI), chain.Settled(), gaps)
}
