package rpc

import (
	"context"
	"reflect"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/metric"
)

// callTimeout bounds one call. Loading virtual machines is the longest of them.
const callTimeout = 2 * time.Minute

// method is one line of the table that routing, documentation and tests share.
type method struct {
	service, name string
	params        []param
	result, doc   string
	run           func(s *Service, ctx context.Context, params *json.RawMessage) (any, error)

	count counters // of this service; not part of the table
}

// param is one member of a method's params.
type param struct {
	name, kind string
	optional   bool
}

// define makes a line of the table. P is the type of the params: its fields are
// strings, pointers to strings or slices of strings; a tag doc:"optional" marks
// what may be left out.
func define[P any](service, name, result, doc string, run func(*Service, context.Context, *P) (any, error)) method {
	m := method{service: service, name: name, result: result, doc: doc}
	for field := range reflect.TypeFor[P]().Fields() {
		kind := "string"
		if field.Type.Kind() == reflect.Slice {
			kind = "array of string"
		}
		m.params = append(m.params, param{field.Tag.Get("json"), kind, field.Tag.Get("doc") == "optional"})
	}
	m.run = func(s *Service, ctx context.Context, params *json.RawMessage) (any, error) {
		args := new(P)
		if err := decodeParams(params, args); err != nil {
			return nil, err
		}
		return run(s, ctx, args)
	}
	return m
}

// table lists all methods, in the order of the documentation.
func table() []method { return append(adminMethods(), healthMethods()...) }

// counters count the calls of one method by how they ended.
type counters struct{ ok, failed metric.Counter }

func (s *Service) counters(method string) counters {
	return counters{s.count(method, "ok"), s.count(method, "error")}
}

func (s *Service) count(method, result string) metric.Counter {
	return s.set.Counter("quorate_rpc_calls_total", "Calls of node RPC by method and result.", "method", method, "result", result)
}
