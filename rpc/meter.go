package rpc

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// bytesPerUnit is how many bytes of a WebSocket cost a unit, as those of a request's body do.
const bytesPerUnit = 2 << 10

// meter charges a client for all that it sends on a WebSocket: messages, the frames that
// control the connection, and the bytes of both. Once it finds too few units the session ends.
type meter struct {
	charge Charge
	read   atomic.Int64 // bytes that have come
	paid   atomic.Int64 // of these

	once sync.Once
	over chan struct{} // closed when the client is over its rate
	why  closing       // set before
}

func newMeter(charge Charge) *meter { return &meter{charge: charge, over: make(chan struct{})} }

// frame charges a frame and the bytes that came with it, and reports whether there were units
// for that.
func (m *meter) frame() bool {
	came := m.read.Load()
	return m.take(1 + int((came-m.paid.Swap(came))/bytesPerUnit))
}

// take charges units and reports whether they were there.
func (m *meter) take(units int) bool {
	wait, ok := m.charge(units)
	if ok {
		return true
	}
	m.once.Do(func() {
		reason := fmt.Sprintf("too many requests: try again in %s", wait.Round(time.Second)+time.Second)
		if wait <= 0 {
			reason = fmt.Sprintf("a message of %d compute units costs more than can be used at once", units)
		}
		m.why = closing{websocket.StatusPolicyViolation, reason}
		close(m.over)
	})
	return false
}
