package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"
)

// Node is one of the nodes of a [Client], the same value for as long as the client
// asks that address.
type Node struct{ n *node }

// Endpoint returns the node's address.
func (n Node) Endpoint() Endpoint { return n.n.at }

// Returns counts how often the node has answered again after a failure: what was
// known of it before may no longer hold.
func (n Node) Returns() uint64 {
	if n.n == nil {
		return 0
	}
	n.n.mu.Lock()
	defer n.n.mu.Unlock()
	return n.n.returns
}

// Nodes returns the nodes that are asked, best first as they were configured.
func (c *Client) Nodes() []Node {
	nodes := *c.nodes.Load()
	list := make([]Node, len(nodes))
	for i, n := range nodes {
		list[i] = Node{n}
	}
	return list
}

// ErrNoNode means that no node is fit for the request.
var ErrNoNode = errors.New("no node is fit for the request")

// Choice decides which nodes are asked for a batch and which answers count.
type Choice struct {
	// Rank returns how fit a node is, 0 for the best; below zero it is not asked at
	// all. Among nodes of one rank the one that answers soonest is asked first.
	Rank func(Node) int
	// Check looks at an answer whose results were decoded, with the refusals of
	// single calls in their Err. With an error the next node is asked; unless it was
	// made by [Pass] the answer is a bad one. Nil takes all.
	Check func(Node, []BatchCall) error
}

// pass is an error that is no fault of the node.
type pass struct{ error }

func (e *pass) Unwrap() error { return e.error }

// Pass marks an error of [Choice.Check] as one for which a node is none the worse:
// it cannot answer this, and another may.
func Pass(err error) error { return &pass{err} }

// Fit returns the nodes of a choice in the order in which they would be asked.
func (c *Client) Fit(choice Choice) []Node {
	order := c.orderOf(choice, time.Now())
	list := make([]Node, len(order))
	for i, n := range order {
		list[i] = Node{n}
	}
	return list
}

// CallBatchOf is [Client.CallBatch] for some of the nodes. When no answer counts, the
// error is the first of [Pass] or a refusal of the batch, if there is any, and else
// the last one; [ErrNoNode] when no node was asked.
func (c *Client) CallBatchOf(ctx context.Context, path string, calls []BatchCall, choice Choice) error {
	if len(calls) == 0 {
		return nil
	}
	first, body, err := c.encode(calls)
	if err != nil {
		return err
	}
	return name(calls, c.askOf(ctx, choice, path, body, func(n *node, r reply) error {
		if err := decodeBatch(r, first, calls); err != nil || choice.Check == nil {
			return err
		}
		return choice.Check(Node{n}, calls)
	}))
}

// CallOf is [Client.Call] for the nodes of a choice; decode takes the result of a node,
// and may refuse it: see [BatchCall]. A node that does not have the path is passed over
// with a [*RefusedError], and is none the worse for it. [Choice.Check] is not called.
func (c *Client) CallOf(ctx context.Context, path, method string, params any, choice Choice, decode func(n Node, result []byte) error) error {
	id := c.id.Add(1)
	body, err := json.Marshal(request{Version: "2.0", ID: id, Method: method, Params: params})
	if err != nil {
		return fmt.Errorf("%s: encode parameters: %w", method, err)
	}
	c.calls.Inc()
	err = c.askOf(ctx, choice, path, body, func(n *node, r reply) error {
		if r.status == fasthttp.StatusNotFound {
			return Pass(&RefusedError{Node: n.at.String(), Status: r.status})
		}
		var result json.RawMessage
		if err := decodeAnswer(r, id, &result); err != nil {
			return err
		}
		if err := decode(Node{n}, result); err != nil {
			var no *pass
			if errors.As(err, &no) {
				return err
			}
			return fmt.Errorf("%w: %w", ErrBadAnswer, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// askOf asks the nodes of a choice in turn.
func (c *Client) askOf(ctx context.Context, choice Choice, path string, body []byte, decode func(*node, reply) error) error {
	order := c.orderOf(choice, time.Now())
	last, refusal := ErrNoNode, error(nil)
	for i, n := range order {
		if i > 0 {
			c.failovers.Inc()
		}
		timeout := c.cfg.Timeout
		if end, ok := ctx.Deadline(); ok {
			timeout = min(timeout, time.Until(end)/time.Duration(len(order)-i))
		}
		err := c.askNode(ctx, n, timeout, path, body, func(r reply) error { return decode(n, r) })
		var no *pass
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &no):
			refusal = cmp.Or(refusal, no.error)
		case errors.As(err, new(*RPCError)):
			refusal = cmp.Or(refusal, err)
		case errors.Is(err, ErrClosed):
			return err
		default:
			last = err
			c.failures.Inc()
		}
	}
	return cmp.Or(refusal, last)
}

// orderOf returns the nodes of a choice in the order in which to try them.
func (c *Client) orderOf(choice Choice, now time.Time) []*node {
	type ranked struct {
		*node
		rank   int
		paused int
		cost   float64
	}
	nodes := *c.nodes.Load()
	list := make([]ranked, 0, len(nodes))
	for _, n := range nodes {
		rank := 0
		if choice.Rank != nil {
			rank = choice.Rank(Node{n})
		}
		if rank < 0 {
			continue
		}
		r := ranked{node: n, rank: rank, cost: n.cost(now)}
		if n.paused(now) {
			r.paused = 1
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.paused, b.paused), cmp.Compare(a.rank, b.rank), cmp.Compare(a.cost, b.cost))
	})
	order := make([]*node, len(list))
	for i := range list {
		order[i] = list[i].node
	}
	return order
}

const (
	// paceShare is the weight of an answer in the mean of how long a node takes.
	paceShare = 0.2
	// paceHalf is the time after which half of what is known of a node's pace is
	// forgotten, so that one that was slow once is tried again.
	paceHalf = 20 * time.Second
)

// cost is how long an answer of the node may take, in seconds.
func (n *node) cost(now time.Time) float64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	age := float64(now.Sub(n.timed)) / float64(paceHalf)
	return n.took / (1 + max(0, age)) * float64(1+n.busy)
}

// begin and end enclose a request to the node; took is zero for one that failed.
func (n *node) begin() {
	n.mu.Lock()
	n.busy++
	n.mu.Unlock()
}

func (n *node) end(now time.Time, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.busy--
	if took > 0 {
		n.took += paceShare * (took.Seconds() - n.took)
		n.timed = now
	}
}
