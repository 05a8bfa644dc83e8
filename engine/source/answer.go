package source

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"
)

// Classes of failure that [Client.Call] returns.
var (
	// ErrUnreachable: no connection, no answer in time, or a node that says it
	// cannot serve now. Trying again later may help.
	ErrUnreachable = errors.New("node is unreachable")
	// ErrTimeout: the node took the request but did not answer in time. It wraps
	// [ErrUnreachable].
	ErrTimeout = fmt.Errorf("%w: no answer in time", ErrUnreachable)
	// ErrBadAnswer: the answer is not what the method answers, or too long.
	ErrBadAnswer = errors.New("bad answer")
	// ErrTooLong: the answer is longer than Config.MaxBody. It wraps [ErrBadAnswer].
	ErrTooLong = fmt.Errorf("%w: longer than allowed", ErrBadAnswer)
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("source client is closed")
)

// RPCError is the error object of a JSON-RPC answer: the node understood the
// question and refused it.
type RPCError struct {
	Code    int
	Message string
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// maxErrorText bounds how much of a node's text goes into errors and logs, in bytes.
const maxErrorText = 500

type request struct {
	Version string `json:"jsonrpc"`
	ID      uint64 `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type envelope struct {
	ID     *uint64         `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// classify turns an error of the HTTP client into one of this package.
func classify(err error) error {
	if errors.Is(err, fasthttp.ErrBodyTooLarge) {
		return ErrTooLong
	}
	if errors.Is(err, fasthttp.ErrTimeout) {
		return ErrTimeout
	}
	var record tls.RecordHeaderError
	if errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/" {
		return fmt.Errorf("%w: it speaks HTTP, not HTTPS, so its address begins with http://: %w", ErrUnreachable, err)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// isStaleConn reports whether a connection was closed before any byte of an answer.
func isStaleConn(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, fasthttp.ErrConnectionClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// decodeAnswer reads the answer to the request with the given id.
func decodeAnswer(r reply, id uint64, result any) error {
	var env envelope
	err := json.Unmarshal(r.body, &env)
	switch {
	case err == nil && env.Error != nil && !busy(r.status):
		return &RPCError{Code: env.Error.Code, Message: r.excerpt([]byte(env.Error.Message))}
	case busy(r.status) || r.status >= 500:
		return fmt.Errorf("%w: HTTP %d: %s", ErrUnreachable, r.status, r.excerpt(r.body))
	case r.status != fasthttp.StatusOK:
		return fmt.Errorf("%w: HTTP %d: %s", ErrBadAnswer, r.status, r.excerpt(r.body))
	case err != nil:
		return fmt.Errorf("%w: not JSON-RPC: %w", ErrBadAnswer, err)
	case env.ID == nil || *env.ID != id:
		return fmt.Errorf("%w: answer to another request", ErrBadAnswer)
	case len(env.Result) == 0 || bytes.Equal(env.Result, []byte("null")):
		return fmt.Errorf("%w: neither result nor error", ErrBadAnswer)
	case result == nil:
		return nil
	}
	if _, raw := result.(*json.RawMessage); !raw {
		if err := r.room.unpack(env.Result); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(env.Result, result); err != nil {
		return fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	return nil
}

// busy reports whether a status means that the node cannot serve now: one that is
// starting answers 503 with plain text.
func busy(status int) bool {
	return status == fasthttp.StatusServiceUnavailable || status == fasthttp.StatusTooManyRequests
}

// excerpt shortens text of the node for errors and logs, and takes out the
// credentials that the node may have sent back.
func (r *reply) excerpt(b []byte) string {
	b = bytes.TrimSpace(b)
	if r.from.p != nil {
		b = r.from.scrub(b, minSecret)
	}
	if len(b) > maxErrorText {
		b = append(bytes.Clone(b[:maxErrorText]), "..."...)
	}
	return string(bytes.ToValidUTF8(b, []byte("?")))
}
