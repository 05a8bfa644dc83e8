package validator

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"quorate/p2p/wire"
)

// maxBatch is how many bytes of frames are joined into one write.
const maxBatch = 32 << 10

// keepFrames is for how many frames a writer keeps room after a burst.
const keepFrames = 128

// outgoing is a frame to be written, not before due unless that is zero.
type outgoing struct {
	frame []byte
	due   time.Time
	// place says that the frame answers a request, whose place is free once it is written.
	place bool
	after After
}

// delayed is a heap of frames by due time.
type delayed []outgoing

func (d delayed) Len() int           { return len(d) }
func (d delayed) Less(i, j int) bool { return d[i].due.Before(d[j].due) }
func (d delayed) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push is for package heap.
func (d *delayed) Push(x any) { *d = append(*d, x.(outgoing)) }

// Pop is for package heap.
func (d *delayed) Pop() any {
	last := len(*d) - 1
	o := (*d)[last]
	(*d)[last] = outgoing{}
	*d = (*d)[:last]
	return o
}

// write sends frames and pings until ctx ends or a write fails. The delayed
// frames are bounded by the places of requests.
func (c *conn) write(ctx context.Context) error {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	var batch []outgoing
	var later delayed
	var buf []byte
	for {
		select {
		case <-ctx.Done():
			return errClosing
		case <-ping.C:
			if of := c.version.Load(); of != nil && !c.v.compatible(*of) {
				return fmt.Errorf("version %s", of)
			}
			c.pingSent.Store(true)
			buf = wire.AppendFrame(buf, wire.Ping{Uptime: 100}.Append(nil))
		case <-c.out.Ready():
		case <-timer.C:
		}
		if !c.v.gate.pass(ctx) {
			return errClosing
		}
		if cap(batch) > keepFrames {
			batch = nil
		}
		batch = c.out.Drain(batch)
		for _, o := range batch {
			if !o.due.IsZero() {
				heap.Push(&later, o)
				continue
			}
			var err error
			if buf, err = c.append(ctx, buf, o); err != nil {
				return err
			}
		}
		for now := time.Now(); len(later) > 0 && !later[0].due.After(now); {
			var err error
			if buf, err = c.append(ctx, buf, heap.Pop(&later).(outgoing)); err != nil {
				return err
			}
		}
		if err := c.flush(buf); err != nil {
			return err
		}
		if buf = buf[:0]; cap(buf) > keepBuffer {
			buf = nil
		}
		switch {
		case len(later) > 0:
			timer.Reset(time.Until(later[0].due))
		case cap(later) > keepFrames:
			later = nil
		}
	}
}

// append adds a frame to the batch, which it writes when it is large. It does
// not return before ctx ends when the frame is the last.
func (c *conn) append(ctx context.Context, buf []byte, o outgoing) ([]byte, error) {
	buf = append(buf, o.frame...)
	if o.place {
		<-c.places
	}
	if len(buf) < maxBatch && o.after == GoOn {
		return buf, nil
	}
	err := c.flush(buf)
	if err == nil && o.after == Stall {
		<-ctx.Done()
		err = errClosing
	}
	return buf[:0], err
}

func (c *conn) flush(buf []byte) error {
	if len(buf) == 0 {
		return nil
	}
	if err := c.tls.SetWriteDeadline(time.Now().Add(idleTimeout)); err != nil {
		return err
	}
	_, err := c.tls.Write(buf)
	return err
}
