package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-json"
)

// Codes of errors. A node knows only these three.
const (
	codeParse   = -32700
	codeRequest = -32600
	codeServer  = -32000
)

const (
	version = "2.0"
	// maxRequest bounds the body of a JSON-RPC request in bytes.
	maxRequest = 1 << 20
	// maxMessage bounds an error's message in bytes, so that none sends long input back.
	maxMessage = 1 << 10
	// maxEcho bounds each part of a request that is sent back in an error's data.
	maxEcho = 1 << 10
)

// serverRequest is one request as it was understood. It is decoded as leniently
// as a node does: members of any case, the last of several counts, what follows
// the object is ignored.
type serverRequest struct {
	Version string           `json:"jsonrpc"`
	Method  string           `json:"method"`
	Params  *json.RawMessage `json:"params"`
	ID      *json.RawMessage `json:"id"` // nil: nobody waits for an answer
}

// rpcError is the error member of an answer.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"` // null but for errors of the request itself
}

func serverError(message string) *rpcError {
	return &rpcError{Code: codeServer, Message: clip(message, maxMessage)}
}

// decodeRequest reads one request. The request is never nil: it holds what could
// be read.
func decodeRequest(body []byte) (*serverRequest, *rpcError) {
	req := &serverRequest{}
	// A decoder, not Unmarshal: it stops behind the first value.
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(req); err != nil {
		if typed := new(json.UnmarshalTypeError); !errors.As(err, &typed) {
			req = &serverRequest{} // what stands before the fault is not echoed
		}
		return req, &rpcError{codeParse, clip(decodeMessage(err), maxMessage), req.echo()}
	}
	if req.Version != version {
		return req, &rpcError{codeRequest, "jsonrpc must be " + version, req.echo()}
	}
	return req, nil
}

// decodeMessage words a decoder's error as a node does, whose type is in another package.
func decodeMessage(err error) string {
	var typed *json.UnmarshalTypeError
	if !errors.As(err, &typed) {
		return err.Error()
	}
	if typed.Field == "" {
		return "json: cannot unmarshal " + typed.Value + " into Go value of type json2.serverRequest"
	}
	return fmt.Sprintf("json: cannot unmarshal %s into Go struct field serverRequest.%s of type string", typed.Value, typed.Field)
}

// echo returns the request as it was understood, without what is long.
func (r *serverRequest) echo() *serverRequest {
	short := func(raw *json.RawMessage) *json.RawMessage {
		if raw != nil && len(*raw) > maxEcho {
			return nil
		}
		return raw
	}
	return &serverRequest{clip(r.Version, maxEcho), clip(r.Method, maxEcho), short(r.Params), short(r.ID)}
}

// errParams is a node's text for params of any wrong form.
var errParams = errors.New("couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. " +
	"See documentation for example calls")

// decodeParams reads params into args, a pointer to a struct: an object, or an
// array whose first element, if any, is one.
func decodeParams(params *json.RawMessage, args any) error {
	if params == nil {
		return nil
	}
	if json.Unmarshal(*params, args) == nil {
		return nil
	}
	first := [1]any{args}
	if json.Unmarshal(*params, &first) != nil {
		return errParams
	}
	return nil
}

// lookup returns the method that a request on the path of a service calls, or a
// node's text why there is none.
func (s *Service) lookup(service, called string) (*method, *rpcError) {
	class, function, dotted := strings.Cut(called, ".")
	if dotted {
		if initial, _ := utf8.DecodeRuneInString(function); unicode.IsUpper(initial) {
			return nil, serverError("method must start with a non-uppercase letter")
		}
		called = class + "." + upperInitial(function)
	}
	switch {
	case strings.Count(called, ".") != 1:
		return nil, serverError(fmt.Sprintf("rpc: service/method request ill-formed: %q", excerpt(called)))
	case class != service:
		return nil, serverError(fmt.Sprintf("rpc: can't find service %q", excerpt(called)))
	}
	if m := s.methods[called]; m != nil {
		return m, nil
	}
	return nil, serverError(fmt.Sprintf("rpc: can't find method %q", excerpt(called)))
}

// upperInitial makes the first letter a capital, as the names of methods are
// inside a node; its texts show them so.
func upperInitial(name string) string {
	initial, size := utf8.DecodeRuneInString(name)
	if initial == utf8.RuneError {
		return name
	}
	return string(unicode.ToUpper(initial)) + name[size:]
}

// appender is a result that writes itself.
type appender interface{ AppendJSON(dst []byte) []byte }

// appendResult appends the answer to a request whose call went well. id is sent
// back byte for byte.
func appendResult(dst []byte, result any, id *json.RawMessage) ([]byte, error) {
	dst = append(dst, `{"jsonrpc":"2.0","result":`...)
	if a, ok := result.(appender); ok {
		dst = a.AppendJSON(dst)
	} else {
		text, err := json.Marshal(result)
		if err != nil {
			return nil, fmt.Errorf("result: %w", err)
		}
		dst = append(dst, text...)
	}
	return appendID(dst, id), nil
}

// appendError appends the answer to a request that failed.
func appendError(dst []byte, e *rpcError, id *json.RawMessage) []byte {
	text, err := json.Marshal(e)
	if err != nil { // only data can be at fault
		text, _ = json.Marshal(&rpcError{Code: e.Code, Message: e.Message})
	}
	dst = append(dst, `{"jsonrpc":"2.0","error":`...)
	return appendID(append(dst, text...), id)
}

func appendID(dst []byte, id *json.RawMessage) []byte {
	dst = append(dst, `,"id":`...)
	if id == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, *id...)
	}
	return append(dst, "}\n"...)
}

// clip cuts a text to at most n bytes, between characters, and marks the cut.
func clip(s string, n int) string {
	const mark = "..."
	if len(s) <= n {
		return s
	}
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

// excerpt cuts a client's text to what belongs in a message or a log line.
func excerpt(s string) string { return clip(s, 256) }
