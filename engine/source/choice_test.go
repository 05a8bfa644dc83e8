package source

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const refusedCall = `{"code":-32000,"message":"not here"}`

// chosen returns a client of nodes that refuse or answer a call, and how often each
// was asked.
func chosen(t *testing.T, refuses ...bool) (*Client, func() []int) {
	t.Helper()
	var mu sync.Mutex
	asked := make([]int, len(refuses))
	urls := make([]string, len(refuses))
	for i, no := range refuses {
		urls[i] = batchNode(t, func(ids []uint64) string {
			mu.Lock()
			defer mu.Unlock()
			asked[i]++
			if no {
				return fmt.Sprintf(`[{"id":%d,"error":%s}]`, ids[0], refusedCall)
			}
			return fmt.Sprintf(`[{"id":%d,"result":%d}]`, ids[0], i)
		}).URL
	}
	return newTestClient(t, Config{Nodes: at(t, urls...)}), func() []int {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(asked)
	}
}

// A refusal that another node may not share is asked of the next one, which is none
// the worse for it; a node that is not fit is not asked at all.
func TestCallBatchOf(t *testing.T) {
	t.Parallel()
	c, asked := chosen(t, true, false, false)
	nodes := c.Nodes()
	got := ""
	calls := []BatchCall{{Method: "x", Decode: func(b []byte) error { got = string(b); return nil }}}
	pass := func(_ Node, calls []BatchCall) error {
		if calls[0].Err != nil {
			return Pass(calls[0].Err)
		}
		return nil
	}
	fit := func(fits ...Node) func(Node) int {
		return func(n Node) int { return slices.Index(fits, n) }
	}
	if err := c.CallBatchOf(t.Context(), "/", calls, Choice{Rank: fit(nodes[0], nodes[2]), Check: pass}); err != nil || got != "2" {
		t.Errorf("got %q, %v", got, err)
	}
	if n := asked(); !slices.Equal(n, []int{1, 0, 1}) {
		t.Errorf("asked %v times", n)
	}
	c.Up(func(node Endpoint, up bool) {
		if !up {
			t.Errorf("%s counts as down", node)
		}
	})
	var rpc *RPCError
	if err := c.CallBatchOf(t.Context(), "/", calls, Choice{Rank: fit(nodes[0]), Check: pass}); !errors.As(err, &rpc) || rpc.Message != "not here" {
		t.Errorf("refused by all: %v", err)
	}
	if err := c.CallBatchOf(t.Context(), "/", calls, Choice{Rank: fit()}); !errors.Is(err, ErrNoNode) {
		t.Errorf("none is fit: %v", err)
	}
	liar := errors.New("nonsense")
	err := c.CallBatchOf(t.Context(), "/", calls, Choice{Rank: fit(nodes[2], nodes[1]), Check: func(n Node, _ []BatchCall) error {
		if n == nodes[2] {
			return liar
		}
		return nil
	}})
	if err != nil || got != "1" {
		t.Errorf("after a bad answer: %q, %v", got, err)
	}
	if order := c.Fit(Choice{Rank: fit(nodes[2], nodes[1])}); !slices.Equal(order, []Node{nodes[1], nodes[2]}) {
		t.Error("a node that gave a bad answer is asked first")
	}
}

// Of nodes that are as fit the one is asked that answers soonest, with what it has
// to do by now; what is known of a node's pace fades.
func TestPaceOfNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, Config{Nodes: at(t, "http://127.0.0.1:1", "http://127.0.0.1:2")})
		nodes := c.Nodes()
		slow, fast := nodes[0].n, nodes[1].n
		first := func() Node { return c.Fit(Choice{})[0] }
		if first() != nodes[0] {
			t.Error("the order is another one before anything is known")
		}
		for range 20 {
			for n, took := range map[*node]time.Duration{slow: time.Second, fast: 100 * time.Millisecond} {
				n.begin()
				n.end(time.Now(), took)
			}
		}
		if first() != nodes[1] {
			t.Error("the slow node is asked first")
		}
		for range 20 {
			fast.begin()
		}
		if first() != nodes[0] {
			t.Error("a node that has much to do is asked first")
		}
		for range 20 {
			fast.end(time.Now(), 0)
		}
		<-time.After(10 * time.Minute)
		for range 20 {
			fast.begin()
			fast.end(time.Now(), 100*time.Millisecond)
		}
		if first() != nodes[0] {
			t.Error("a node that was slow long ago is not tried again")
		}
	})
}
