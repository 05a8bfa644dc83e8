package network

import (
	"context"

	"github.com/goccy/go-json"

	"quorate/engine/source"
)

// only has a single node answer.
type only struct {
	of   *source.Client
	node source.Node
}

// Call implements [platform.Caller].
func (o only) Call(ctx context.Context, path, method string, params, result any) error {
	if params == nil {
		params = struct{}{}
	}
	return o.of.CallOf(ctx, path, method, params, source.Choice{Rank: func(n source.Node) int {
		if n == o.node {
			return 0
		}
		return -1
	}}, func(_ source.Node, raw []byte) error { return json.Unmarshal(raw, result) })
}
