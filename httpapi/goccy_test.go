package httpapi

import (
	"encoding/hex"
	"strings"
	"testing"

	gojson "github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/aggregator"
)

// goccyBody is an aggregation request as goccy/go-json reads it.
type goccyBody struct {
	Message       *string        `json:"message"`
	Justification *string        `json:"justification"`
	Subnet        *string        `json:"signingSubnetId"`
	Quorum        *gojson.Number `json:"quorumPercentage"`
	Buffer        *gojson.Number `json:"quorumPercentageBuffer"`
	Height        *gojson.Number `json:"pChainHeight"`
}

// goccyRequest reads what a common request has, without the checks of parseRequest:
// members that are unknown, twice there or of another type, numbers that are no
// integers, and what is wrong at which byte.
func goccyRequest(body []byte) (*aggregator.Request, error) {
	var b goccyBody
	if err := gojson.Unmarshal(body, &b); err != nil {
		return nil, err
	}
	r := &aggregator.Request{Quorum: 67}
	if b.Quorum != nil {
		n, err := b.Quorum.Int64()
		if err != nil {
			return nil, err
		}
		r.Quorum = int(n)
	}
	var err error
	r.Message, err = hex.DecodeString(strings.TrimPrefix(*b.Message, "0x"))
	return r, err
}

// BenchmarkBody is why there is a parser of our own beside goccy/go-json.
func BenchmarkBody(b *testing.B) {
	body := []byte(`{"message":"` + benchMessage + `","quorumPercentage":67}`)
	for _, p := range []struct {
		name  string
		parse func([]byte) (*aggregator.Request, error)
	}{
		{"own", func(b []byte) (*aggregator.Request, error) { return parseRequest(b, sdkForm, nil) }},
		{"goccy", goccyRequest},
	} {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.parse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkKeptWireGoccy is BenchmarkKeptWire, the shipped server, with a body that
// goccy/go-json has read before our parser gets what is left of it: what that
// leaves is short, so that the difference is the price of the other parser.
func BenchmarkKeptWireGoccy(b *testing.B) {
	s := benchServer(b)
	handle := s.fast.Handler
	s.fast.Handler = func(ctx *fasthttp.RequestCtx) {
		if _, err := goccyRequest(ctx.Request.Body()); err != nil {
			b.Error(err)
			return
		}
		ctx.Request.SetBodyRaw(shortBody)
		handle(ctx)
	}
	benchWire(b, s.fast)
}

// shortBody is the least that our own parser takes.
var shortBody = []byte(`{"message":"00"}`)
