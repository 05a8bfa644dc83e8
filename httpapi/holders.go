package httpapi

import "quorate/engine/index"

// itemHeld reads the address of the token whose holders are listed.
func (c *call) itemHeld(v []byte) *failure {
	if c.q.threshold == nil {
		return badRequest("threshold is required: an amount in the token's base units")
	}
	return c.itemAddress(v)
}

// holders lists who had more than a threshold of a token in a part of time.
func (c *call) holders() *failure {
	list, next, err := c.v.Holders(c.addr, *c.q.threshold, index.Frame{Start: c.q.since, End: c.q.until}, c.page())
	if err != nil {
		return c.readFailure(err)
	}
	c.list("addresses")
	for i := range list {
		c.w.Holder(&list[i])
	}
	return c.end(next, nil)
}
