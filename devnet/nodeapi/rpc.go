package nodeapi

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-json"
)

// Codes of the JSON-RPC envelope, as the node's library uses them.
const (
	codeParse   = -32700
	codeInvalid = -32600
	codeServer  = -32000
)

var (
	errArgument        = errors.New("couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. See documentation for example calls")
	errUppercaseMethod = errors.New("method must start with a non-uppercase letter")
)

// service is the methods of one endpoint; name is their common prefix.
type service struct {
	name    string
	methods map[string]method
}

// method answers one call. params is nil or one JSON value.
type method func(params json.RawMessage) (any, error)

// call makes a method of a function with typed arguments. Like the node it
// takes them as an object, or as an array that holds the object.
func call[A any](f func(args A) (any, error)) method {
	return func(params json.RawMessage) (any, error) {
		var args A
		if params != nil {
			if err := json.Unmarshal(params, &args); err != nil {
				list := [1]*A{&args}
				if err = json.Unmarshal(params, &list); err != nil {
					return nil, errArgument
				}
			}
		}
		return f(args)
	}
}

// none is the arguments of methods that take none.
type none struct{}

type rpcRequest struct {
	Version string           `json:"jsonrpc"`
	Method  string           `json:"method"`
	Params  *json.RawMessage `json:"params"`
	ID      *json.RawMessage `json:"id"`
}

type rpcResult struct {
	Version string           `json:"jsonrpc"`
	Result  any              `json:"result"`
	ID      *json.RawMessage `json:"id"`
}

type rpcFailure struct {
	Version string           `json:"jsonrpc"`
	Error   rpcError         `json:"error"`
	ID      *json.RawMessage `json:"id"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

// answer returns the body of the answer to one request, or nil when the request
// has no ID and so wants no answer.
func (s *service) answer(body []byte) ([]byte, error) {
	var req rpcRequest
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&req); err != nil {
		return encode(rpcFailure{"2.0", rpcError{codeParse, err.Error(), &rpcRequest{}}, nil})
	}
	if req.Version != "2.0" {
		return encode(rpcFailure{"2.0", rpcError{codeInvalid, "jsonrpc must be 2.0", &req}, req.ID})
	}
	result, err := s.dispatch(&req)
	switch {
	case req.ID == nil:
		return nil, nil
	case err != nil:
		return encode(rpcFailure{"2.0", rpcError{codeServer, err.Error(), nil}, req.ID})
	default:
		return encode(rpcResult{"2.0", result, req.ID})
	}
}

func (s *service) dispatch(req *rpcRequest) (any, error) {
	class, name, ok := strings.Cut(req.Method, ".")
	if !ok {
		return nil, fmt.Errorf("rpc: service/method request ill-formed: %q", req.Method)
	}
	first, size := utf8.DecodeRuneInString(name)
	if unicode.IsUpper(first) {
		return nil, errUppercaseMethod
	}
	full := class + "." + string(unicode.ToUpper(first)) + name[size:]
	if class != s.name {
		return nil, fmt.Errorf("rpc: can't find service %q", full)
	}
	m, ok := s.methods[name]
	if !ok {
		return nil, fmt.Errorf("rpc: can't find method %q", full)
	}
	var params json.RawMessage
	if req.Params != nil {
		params = *req.Params
	}
	return m(params)
}

// encode returns the JSON of v and a line end, as the node writes it.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding an answer: %w", err)
	}
	return append(b, '\n'), nil
}
