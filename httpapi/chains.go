package httpapi

import (
	"quorate/httpapi/door"
)

// listChains is endpoint 17.
func (c *call) listChains() *door.Failure { return c.chains(c.chainItem) }

// chains lists the chains that are asked for, which change without a block.
func (c *call) chains(write func(Chain)) *door.Failure {
	if f := c.Parse(); f != nil {
		return f
	}
	c.Passing = true
	c.List("chains")
	for _, chain := range c.s.cfg.Chains.Chains() {
		if c.wanted(chain.Info()) {
			write(chain)
		}
	}
	c.W.Raw("]}")
	return nil
}
