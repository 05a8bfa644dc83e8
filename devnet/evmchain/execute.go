package evmchain

import (
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

// Held is a delay of [Chain.SetExecution] that does not end.
const Held time.Duration = -1

// SetExecution sets how long after their acceptance blocks are executed from Helicon on; 0,
// the default, is at once. [Held] has them wait until it is set again. What waits is
// executed at once, if d is not [Held].
func (c *Chain) SetExecution(d time.Duration) {
	c.read()() // builds it
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delay = d
	if d != Held {
		c.execute(uint64(len(c.records) - 1)) // not negative
	}
}

// accepted has a block executed that was accepted. The caller holds the lock.
func (c *Chain) accepted(height uint64) {
	switch {
	case height == c.cfg.transition:
		c.swapped, c.executed = time.Now(), height
	case !c.cfg.late(height) || c.delay == 0:
		c.executed = height
	case c.delay != Held:
		time.AfterFunc(c.delay, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.execute(height)
		})
	}
}

// execute has all blocks executed up to a height. The caller holds the lock.
func (c *Chain) execute(height uint64) {
	if height > c.executed {
		c.executed = height
		c.news()
	}
}

// Executed returns the height of the last block that is executed.
func (c *Chain) Executed() uint64 {
	defer c.read()()
	return c.executed
}

// Wait waits until a block is executed, also one that is not accepted yet. It is false when
// the chain ends before.
func (c *Chain) Wait(height uint64) bool {
	for !c.ended.Load() {
		unlock := c.read()
		executed, news := c.executed, c.tip
		unlock()
		if height <= executed {
			return true
		}
		if c.ended.Load() {
			return false
		}
		<-news
	}
	return height <= c.Executed()
}

// Late reports whether a block is executed after its acceptance.
func (c *Chain) Late(height uint64) bool { return c.cfg.late(height) }

// Settled returns the height of the last block that a block settles: itself, if it is
// executed before its acceptance.
func (c *Chain) Settled(height uint64) uint64 {
	defer c.read()()
	if l := c.records[height].late; l != nil {
		return l.settled
	}
	return height
}

// Transition returns the height of the last block that is executed before its acceptance,
// if there is one, and when it was accepted: the zero time if it is part of the history,
// or not there yet.
func (c *Chain) Transition() (height uint64, at time.Time, ok bool) {
	defer c.read()()
	return c.cfg.transition, c.swapped, c.cfg.Atomic && !c.cfg.Helicon.IsZero()
}

// height is the height of the last block, which may not be built. The caller holds the lock.
func (c *Chain) height() uint64 {
	if c.built {
		return uint64(len(c.records) - 1) // not negative
	}
	height, _ := c.cfg.ticked(c.waiting)
	return height
}

// Swapped reports whether the last block was accepted that is executed before its acceptance,
// and when, as [Chain.Transition] says it. It costs nothing.
func (c *Chain) Swapped() (at time.Time, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.swapped, c.height() >= c.cfg.transition
}

// Activated reports whether Helicon is active by the time of the last block. It costs nothing.
func (c *Chain) Activated() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return !c.cfg.Helicon.IsZero() && int64(c.cfg.timeOf(c.height())) >= c.cfg.Helicon.UnixMilli() // some years
}

// Waits reports whether a warp message is sent in a block that is accepted and not executed.
func (c *Chain) Waits(message chain.ID) bool {
	defer c.read()()
	for height := c.executed + 1; height < uint64(len(c.records)); height++ { // not negative
		for _, t := range c.block(height).txs {
			for i := range t.logs {
				l := &t.logs[i]
				if len(l.topics) == 3 && l.topics[0].hash == topicSendWarp.hash && l.topics[2].hash == evm.Hash(message) {
					return true
				}
			}
		}
	}
	return false
}

// Accepted reports whether a block is accepted.
func (c *Chain) Accepted(block chain.ID) bool {
	_, ok := c.Height(evm.Hash(block))
	return ok
}
