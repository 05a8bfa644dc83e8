package primary

import (
	"quorate/devnet/world"
	"quorate/engine/chain/platform"
)

// Grow makes the chains go on: at least one block of the P-Chain, the last of which
// is so many seconds later than the one before, and at times one of the X-Chain. It
// returns the P-Chain's height. No validator comes or goes, since their nodes would have
// to: an auto-renewed one that leaves is there again a block later.
func (c *Chain) Grow(seconds uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.maker
	m.grown = true
	at := m.s.Time + seconds
	m.run(at)
	builds := []func(uint64) (platform.Body, []int){m.delegate}
	switch m.rng.IntN(4) {
	case 0:
		builds[0] = func(uint64) (platform.Body, []int) { return m.transfer() }
	case 1:
		builds[0] = func(uint64) (platform.Body, []int) { return m.importP() }
	case 2:
		builds = append(builds, func(uint64) (platform.Body, []int) { return m.exportP() })
	}
	if len(m.lasting) > 0 && at >= m.forks.Helicon && m.rng.IntN(24) == 0 {
		builds = append(builds, func(uint64) (platform.Body, []int) { return m.reconfigure() })
	}
	m.act(at, builds...)
	if m.rng.IntN(2) == 0 {
		m.actX(at, m.xbase, m.ximport)
	}
	return uint64(len(m.p.all))
}

// Convert makes a subnet the L1 that it is to be, in a block of the next second, and
// returns its height. If it is one already, nothing happens.
func (c *Chain) Convert(l *world.L1) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.maker
	if m.s.Subnets[l.SubnetID].Conversion == nil {
		at := m.s.Time + 1
		m.run(at)
		txs, err := m.w.Conversion(l, 0)
		m.fail(err)
		m.block(at, txs...)
	}
	return uint64(len(m.p.all))
}

// Err returns why the chains no longer grow, which is a defect here.
func (c *Chain) Err() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.err
}
