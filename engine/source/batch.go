package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/internal/pull"
)

// BatchCall is one request of a batch and what became of it.
type BatchCall struct {
	Method string
	Params any // nil: an empty list
	// Decode takes the text of the result, which may be null and which it may keep:
	// it is part of the answer's body, not of a buffer that is used again. An error
	// makes the whole answer a bad one, so that the next node is asked and Decode
	// called once more. Nil discards the result.
	Decode func(result []byte) error
	// Err is set by [Client.CallBatch]: an [*RPCError] if this request was refused.
	Err error
}

// batchRefusal is the code by which a node refuses a batch as a whole, with one
// error in place of all answers.
const batchRefusal = -32600

// CallBatch sends the calls in one HTTP request to path, asking the nodes in turn
// as [Client.Call] does. The results are decoded in the order of the calls,
// whatever that of the answers.
//
// The error is about the batch as a whole and of the same classes as that of
// Call; a request without an answer and an answer to no request are
// [ErrBadAnswer]. With no error each call's Err says how it fared.
func (c *Client) CallBatch(ctx context.Context, path string, calls []BatchCall) error {
	if len(calls) == 0 {
		return nil
	}
	first, body, err := c.encode(calls)
	if err != nil {
		return err
	}
	return name(calls, c.ask(ctx, path, body, func(r reply) error { return decodeBatch(r, first, calls) }))
}

// encode makes the body of a batch, whose requests have the ids from first on.
func (c *Client) encode(calls []BatchCall) (first uint64, body []byte, err error) {
	first = c.id.Add(uint64(len(calls))) - uint64(len(calls)) + 1
	requests := make([]request, len(calls))
	for i := range calls {
		requests[i] = request{Version: "2.0", ID: first + uint64(i), Method: calls[i].Method, Params: calls[i].Params}
		if requests[i].Params == nil {
			requests[i].Params = []any{}
		}
	}
	if body, err = json.Marshal(requests); err != nil {
		return 0, nil, name(calls, fmt.Errorf("encode parameters: %w", err))
	}
	c.calls.Add(float64(len(calls)))
	return first, body, nil
}

// name says which calls an error is about.
func name(calls []BatchCall, err error) error {
	switch {
	case err == nil:
		return nil
	case len(calls) == 1:
		return fmt.Errorf("%s: %w", calls[0].Method, err)
	}
	return fmt.Errorf("%s and %d more: %w", calls[0].Method, len(calls)-1, err)
}

// decodeBatch reads the answers to the requests with the ids from first on.
func decodeBatch(r reply, first uint64, calls []BatchCall) error {
	switch {
	case busy(r.status) || r.status >= 500:
		return fmt.Errorf("%w: HTTP %d: %s", ErrUnreachable, r.status, r.excerpt(r.body))
	case r.status != fasthttp.StatusOK:
		return fmt.Errorf("%w: HTTP %d: %s", ErrBadAnswer, r.status, r.excerpt(r.body))
	}
	if text := bytes.TrimLeft(r.body, " \t\r\n"); len(text) > 0 && text[0] == '{' {
		return refusedBatch(&r, text)
	}
	results := make([][]byte, len(calls))
	for i := range calls {
		calls[i].Err = nil
	}
	var p pull.Parser
	p.Reset(r.body)
	answers, whole := 0, error(nil)
	p.Elements(func(int) {
		a := readAnswer(&p, &r)
		if p.Err() != nil {
			return
		}
		if a.err != nil && a.err.Code == batchRefusal && whole == nil {
			whole = a.err
		}
		at := a.id - first
		switch {
		case !a.hasID || at >= uint64(len(calls)):
			p.Fail(errors.New("an answer to another request"))
		case results[at] != nil || calls[at].Err != nil:
			p.Fail(errors.New("two answers to one request"))
		case a.err != nil:
			calls[at].Err = fmt.Errorf("%s: %w", calls[at].Method, a.err)
		case a.result == nil:
			p.Fail(errors.New("neither result nor error"))
		default:
			results[at] = a.result
		}
		answers++
	})
	if !p.End() {
		return fmt.Errorf("%w: %w", ErrBadAnswer, p.Err())
	}
	if answers != len(calls) {
		if whole != nil {
			return whole
		}
		return fmt.Errorf("%w: %d answers to %d requests", ErrBadAnswer, answers, len(calls))
	}
	for i := range calls {
		if calls[i].Err != nil || calls[i].Decode == nil {
			continue
		}
		if err := calls[i].Decode(results[i]); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrBadAnswer, calls[i].Method, err)
		}
	}
	return nil
}

// refusedBatch reads one answer in place of a list of them.
func refusedBatch(r *reply, text []byte) error {
	var p pull.Parser
	p.Reset(text)
	a := readAnswer(&p, r)
	switch {
	case !p.End():
		return fmt.Errorf("%w: %w", ErrBadAnswer, p.Err())
	case a.err == nil:
		return fmt.Errorf("%w: one answer to a batch", ErrBadAnswer)
	}
	return a.err
}

// answer is one of a batch.
type answer struct {
	id     uint64
	hasID  bool
	result []byte
	err    *RPCError
}

func readAnswer(p *pull.Parser, r *reply) (a answer) {
	p.Members(func(name []byte) {
		switch string(name) {
		case "id":
			if err := json.Unmarshal(p.Raw(), &a.id); err == nil {
				a.hasID = true
			}
		case "result":
			a.result = p.Raw()
		case "error":
			if p.Null() {
				return
			}
			var e struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			}
			text := p.Raw()
			if p.Err() != nil {
				return
			}
			if err := json.Unmarshal(text, &e); err != nil {
				p.Fail(fmt.Errorf("an error that cannot be read: %w", err))
				return
			}
			a.err = &RPCError{Code: e.Code, Message: r.excerpt([]byte(e.Message))}
		default:
			p.Skip()
		}
	})
	return a
}
