package httpapi

import "quorate/engine/index"

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
