package evm

import (
	"quorate/engine/index"
	"quorate/httpapi/door"
)

// holders lists who had more than a threshold of a token in a part of time.
func holders(c *call) *door.Failure {
	list, next, err := c.V.Holders(c.addr, *c.q.threshold, index.Frame{Start: c.Q.Since, End: c.Q.Until}, c.page())
	if err != nil {
		return c.Unreadable(err)
	}
	c.List("addresses")
	for i := range list {
		c.W.Holder(&list[i])
	}
	return c.End(next, nil)
}
