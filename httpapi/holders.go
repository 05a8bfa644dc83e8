package httpapi

import (
	"quorate/engine/index"
	"quorate/httpapi/door"
)

// holders lists who had more than a threshold of a token in a part of time.
func (c *call) holders() *door.Failure {
	list, next, err := c.v.Holders(c.addr, *c.Q.Threshold, index.Frame{Start: c.Q.Since, End: c.Q.Until}, c.page())
	if err != nil {
		return c.readFailure(err)
	}
	c.List("addresses")
	for i := range list {
		c.W.Holder(&list[i])
	}
	return c.end(next, nil)
}
