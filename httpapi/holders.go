package httpapi

import (
	"quorate/engine/index"
	"quorate/httpapi/door"
)

// holders lists who had more than a threshold of a token in a part of time.
func (c *call) holders() *door.Failure {
	list, next, err := c.v.Holders(c.addr, *c.q.Threshold, index.Frame{Start: c.q.Since, End: c.q.Until}, c.page())
	if err != nil {
		return c.readFailure(err)
	}
	c.list("addresses")
	for i := range list {
		c.w.Holder(&list[i])
	}
	return c.end(next, nil)
}
