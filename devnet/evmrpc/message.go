package evmrpc

import (
	"bytes"
	"strings"

	"github.com/goccy/go-json"
)

// Codes of errors.
const (
	codeParse         = -32700
	codeInvalid       = -32600
	codeMethod        = -32601
	codeParams        = -32602
	codeServer        = -32000
	codeTooLarge      = -32003
	codeRevert        = 3
	subscribeSuffix   = "_subscribe"
	unsubscribeSuffix = "_unsubscribe"
)

// callError is an error with the code and data that the answer carries.
type callError struct {
	code int
	text string
	data string
}

// Error returns the text.
func (e *callError) Error() string { return e.text }

type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

func (r *request) notification() bool { return r.Version == "2.0" && r.ID == nil && r.Method != "" }

func (r *request) validID() bool { return len(r.ID) > 0 && r.ID[0] != '{' && r.ID[0] != '[' }

func (r *request) call() bool { return r.Version == "2.0" && r.validID() && r.Method != "" }

// parse reads a request or a batch of them.
func parse(body []byte) (list []request, batch bool, err error) {
	// A decoder, since what follows the first value is of no interest to nodes.
	var raw json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&raw); err != nil {
		return nil, false, &callError{code: codeParse, text: "parse error"}
	}
	if raw[0] != '[' {
		list = make([]request, 1)
		_ = json.Unmarshal(raw, &list[0]) // as nodes do: what is not a request is an invalid one
		return list, false, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, true, &callError{code: codeParse, text: "parse error"}
	}
	list = make([]request, len(parts))
	for i, part := range parts {
		_ = json.Unmarshal(part, &list[i])
	}
	return list, true, nil
}

// appendResult starts an answer; the result and a closing brace follow.
func (h *Handler) appendResult(dst []byte, id json.RawMessage) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = h.appendID(dst, id)
	return append(dst, `,"result":`...)
}

func (h *Handler) appendID(dst []byte, id json.RawMessage) []byte {
	switch {
	case h.faulty(FaultOtherID):
		return append(dst, "987654321"...)
	case len(id) == 0:
		return append(dst, "null"...)
	default:
		return append(dst, id...)
	}
}

func (h *Handler) appendError(dst []byte, id json.RawMessage, err error) []byte {
	body := struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    string `json:"data,omitempty"`
	}{codeServer, err.Error(), ""}
	if e, ok := err.(*callError); ok { // made here, never wrapped
		body.Code, body.Data = e.code, e.data
	}
	encoded, jsonErr := json.Marshal(body)
	if jsonErr != nil { // a struct of strings and a number
		panic(jsonErr)
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = h.appendID(dst, id)
	dst = append(dst, `,"error":`...)
	dst = append(dst, encoded...)
	return append(dst, '}')
}

// Answer returns the body of the answer to a request or batch; nil when none is due.
func (h *Handler) Answer(body []byte) []byte { return h.answer(body, nil) }

// answer is Answer for a connection that may subscribe, if s is not nil.
func (h *Handler) answer(body []byte, s *session) []byte {
	list, batch, err := parse(body)
	switch {
	case err != nil:
		return h.appendError(nil, nil, err)
	case !batch:
		if answer := h.handle(nil, &list[0], s); len(answer) > 0 {
			return answer
		}
		return nil
	case len(list) == 0:
		return h.appendError(nil, nil, &callError{code: codeInvalid, text: "empty batch"})
	case len(list) > maxBatch:
		var id json.RawMessage
		for i := range list {
			if list[i].call() {
				id = list[i].ID
				break
			}
		}
		return append(h.appendError([]byte{'['}, id, &callError{code: codeInvalid, text: "batch too large"}), ']')
	}
	return h.batch(list, s)
}

func (h *Handler) batch(list []request, s *session) []byte {
	out := []byte{'['}
	for i := range list {
		before := len(out)
		if before > 1 {
			out = append(out, ',')
		}
		start := len(out)
		if before > maxBatchAnswer {
			if list[i].notification() {
				out = out[:before]
				continue
			}
			out = h.appendError(out, list[i].ID, &callError{code: codeTooLarge, text: "response too large"})
			continue
		}
		if out = h.handle(out, &list[i], s); len(out) == start {
			out = out[:before] // a notification has no answer
		}
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, ']')
}

// handle appends the answer to one request.
func (h *Handler) handle(dst []byte, r *request, s *session) []byte {
	if !r.notification() && !r.call() {
		id := r.ID
		if !r.validID() {
			id = nil
		}
		return h.appendError(dst, id, &callError{code: codeInvalid, text: "invalid request"})
	}
	start := len(dst)
	dst, err := h.run(h.appendResult(dst, r.ID), r, s)
	switch {
	case r.notification():
		return dst[:start]
	case err != nil:
		return h.appendError(dst[:start], r.ID, err)
	}
	return append(dst, '}')
}

// run appends a method's result.
func (h *Handler) run(dst []byte, r *request, s *session) ([]byte, error) {
	switch {
	case strings.HasSuffix(r.Method, subscribeSuffix) && !strings.HasSuffix(r.Method, unsubscribeSuffix):
		if s == nil {
			return dst, &callError{code: codeMethod, text: "notifications not supported"}
		}
		return s.subscribe(dst, r)
	case strings.HasSuffix(r.Method, unsubscribeSuffix) && s != nil:
		return s.unsubscribe(dst, r)
	}
	m, ok := methods[r.Method]
	n := h.now()
	if !ok || !n.offers(r.Method) {
		return dst, &callError{code: codeMethod, text: "the method " + r.Method + " does not exist/is not available"}
	}
	args, err := arguments(r.Params, m.required, m.most)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst, err = m.run(n, dst, args)
	if err != nil || n.traits.Edit == nil {
		return dst, err
	}
	return append(dst[:start:start], n.traits.Edit(r.Method, r.Params, dst[start:])...), nil
}
