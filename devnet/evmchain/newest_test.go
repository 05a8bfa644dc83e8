package evmchain

import (
	"bytes"
	"sync"
	"testing"
)

// everything returns all that is asked about a block.
func everything(t *testing.T, c *Chain, height uint64) []byte {
	all := c.AppendHead(nil, height)
	all = c.AppendBlock(all, height, true, View{})
	all = c.AppendReceipts(all, height, View{})
	for _, tracer := range []Tracer{CallTracer, PrestateDiff} {
		var err error
		if all, err = c.AppendTrace(all, height, TraceConfig{Tracer: tracer}, View{}); err != nil {
			t.Error(err)
		}
	}
	return all
}

// The last block says the same as when it is one of many, whoever asks at one time.
func TestNewest(t *testing.T) {
	t.Parallel()
	c, err := New(whole(5, 20))
	if err != nil {
		t.Fatal(err)
	}
	c.Tip()
	said := map[uint64][]byte{}
	for range 3 {
		c.Advance()
		tip := c.Tip()
		said[tip] = everything(t, c, tip)
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				if !bytes.Equal(everything(t, c, tip), said[tip]) {
					t.Errorf("block %d says two things", tip)
				}
			})
		}
		readers.Wait()
		if c.newest.Load().number != tip {
			t.Errorf("block %d is worked out each time", tip)
		}
	}
	c.newest.Store(nil)
	c.grown = false
	for height, text := range said {
		if !bytes.Equal(everything(t, c, height), text) {
			t.Errorf("block %d says something else later", height)
		}
	}
}
