package primary

// setAt makes at what views open.
func (c *Chain) setAt(at *position) {
	c.at.Store(at)
	c.changed.Tell()
}

// Changed returns a channel that is closed when there are further blocks, or other rows
// of the same ones. Take it before looking at the chain, and no change is missed.
func (c *Chain) Changed() <-chan struct{} { return c.changed.Wait() }
