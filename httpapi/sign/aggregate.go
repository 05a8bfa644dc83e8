package sign

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain/warp"
	"quorate/httpapi/door"
)

// aggregateSignatures is endpoint 1.
func (m *Room) aggregateSignatures(ctx *fasthttp.RequestCtx, p door.Params) {
	network, f := m.network(p.Get("network"))
	if f == nil {
		f = door.CheckJSON(ctx)
	}
	if f != nil {
		door.Fail(ctx, f)
		return
	}
	body := ctx.Request.Body()
	hash := m.repeats.hash(sdkForm, body)
	if found := m.repeats.find(sdkForm, body, hash); m.repeats.send(ctx, found, network, hash) {
		m.settle(ctx, &p, 0, 1)
		return
	}
	var rest door.Ignored
	req, err := parseRequest(body, sdkForm, &rest)
	rest.Tell(ctx)
	if err != nil {
		door.Fail(ctx, door.AsFailure(err))
		return
	}
	m.from(ctx, &p, req)
	res, err := network.Aggregate(m.desk.Work, req)
	m.settle(ctx, &p, req.Asked/validatorsPerUnit, known(req, err))
	if err != nil {
		door.Fail(ctx, m.aggregateFailure(err))
		return
	}
	sdkForm.answer(ctx, req, res)
	m.repeats.offer(body, hash, sdkForm, network, req, &rest, res)
}

// relayerSignatures is the drop-in for the relayer's own aggregator. Like the
// original it looks at no content type.
func (m *Room) relayerSignatures(ctx *fasthttp.RequestCtx, p door.Params) {
	body := ctx.Request.Body()
	hash := m.repeats.hash(relayerForm, body)
	if found := m.repeats.find(relayerForm, body, hash); found != nil {
		if network, ok := m.Networks.ByID(found.known.Network()); ok && m.repeats.send(ctx, found, network, hash) {
			m.settle(ctx, &p, 0, 1)
			return
		}
	}
	var rest door.Ignored
	network, req, f := m.relayerRequest(body, &rest)
	rest.Tell(ctx)
	if f != nil {
		door.Fail(ctx, f)
		return
	}
	m.from(ctx, &p, req)
	res, err := network.Aggregate(m.desk.Work, req)
	m.settle(ctx, &p, req.Asked/validatorsPerUnit, known(req, err))
	if err != nil {
		door.Fail(ctx, relayerFailure(m.aggregateFailure(err), err))
		return
	}
	relayerForm.answer(ctx, req, res)
	m.repeats.offer(body, hash, relayerForm, network, req, &rest, res)
}

// validatorsPerUnit is how many validators of a set cost a unit when a message is signed.
const validatorsPerUnit = 20

// known returns how many signed messages, of one, were answered without asking a validator.
func known(req *aggregator.Request, err error) int {
	if err == nil && req.Asked == 0 {
		return 1
	}
	return 0
}

// settle makes the price of signed messages that of what they took: more units for the sets of
// validators that were asked, and one alone for each message that was known.
func (m *Room) settle(ctx *fasthttp.RequestCtx, p *door.Params, more, repeated int) {
	m.desk.Owe(ctx, p, more-repeated*(door.UnitsMedium-door.UnitsFree))
}

// from says in req on whose behalf it is made, and since when.
func (m *Room) from(ctx *fasthttp.RequestCtx, p *door.Params, req *aggregator.Request) {
	req.Received, req.Client = m.Received(ctx), p.Client.String()
}

func (m *Room) relayerRequest(body []byte, rest *door.Ignored) (Aggregator, *aggregator.Request, *door.Failure) {
	req, err := parseRequest(body, relayerForm, rest)
	if err != nil {
		return nil, nil, door.AsFailure(err)
	}
	id, ok := networkID(req.Message)
	if !ok {
		return nil, nil, door.BadRequest("message is not an unsigned warp message, which here names the network and is required")
	}
	network, ok := m.Networks.ByID(id)
	if !ok {
		return nil, nil, door.BadRequest(fmt.Sprintf("message is of network %d, of which no node is followed", id))
	}
	if req.Quorum == 0 {
		// Clients that leave the member at its zero value mean the default.
		if req.Quorum = aggregator.DefaultQuorum; req.Quorum+req.Buffer > 100 {
			return nil, nil, door.BadRequest(fmt.Sprintf("quorum-percentage, by default %d, and quorum-percentage-buffer are together %d, at most 100 is possible",
				req.Quorum, req.Quorum+req.Buffer))
		}
	}
	return network, req, nil
}

// networkID returns the network that a message names, bare or as a log's data.
func networkID(message []byte) (uint32, bool) {
	if inner, ok := warp.UnwrapABI(message); ok {
		message = inner
	}
	if len(message) < 6 || message[0] != 0 || message[1] != 0 { // codec version 0, network
		return 0, false
	}
	return binary.BigEndian.Uint32(message[2:]), true
}

// network returns the network of a name, as paths have it.
func (m *Room) network(name []byte) (Aggregator, *door.Failure) {
	var known string
	switch string(name) {
	case "mainnet":
		known = "mainnet"
	case "fuji":
		known = "fuji"
	case "testnet":
		known = "testnet"
	default:
		return nil, &door.Failure{Status: fasthttp.StatusNotFound,
			Message: "network " + door.Excerpt(name) + " is unknown; there are mainnet, fuji and testnet"}
	}
	if a, ok := m.Networks.ByName(known); ok {
		return a, nil
	}
	return nil, door.NotFound("no node of network " + known + " is followed here")
}

// Unknown returns why a name is none of a network of which a node is followed, nil if it is.
func (m *Room) Unknown(name []byte) *door.Failure {
	_, f := m.network(name)
	return f
}

// aggregateFailure maps what the aggregator says to an answer; the package
// comment has the reasons.
func (m *Room) aggregateFailure(err error) *door.Failure {
	var e *aggregator.Error
	if !errors.As(err, &e) {
		m.desk.Log.Error("aggregation failed for an unknown reason", "err", err)
		return door.Internal()
	}
	f := &door.Failure{Status: kindStatus(e.Kind), Message: e.Msg}
	if f.Status == fasthttp.StatusBadGateway || f.Status == fasthttp.StatusServiceUnavailable {
		if f.RetryAfter = e.RetryAfter; f.RetryAfter <= 0 {
			f.RetryAfter = door.DefaultRetry
		}
	}
	level := slog.LevelDebug
	if e.Kind == aggregator.NodeFailed || f.Status == fasthttp.StatusInternalServerError {
		level = slog.LevelWarn
	}
	if m.desk.Log.Enabled(m.desk.Work, level) {
		m.desk.Log.Log(m.desk.Work, level, "aggregation failed", "status", f.Status, "err", err)
	}
	return f
}

func kindStatus(k aggregator.Kind) int {
	switch k {
	case aggregator.BadRequest, aggregator.Refused, aggregator.Keyless:
		return fasthttp.StatusBadRequest
	case aggregator.NotFound:
		return fasthttp.StatusNotFound
	case aggregator.Invalid:
		return fasthttp.StatusBadGateway
	case aggregator.Unreachable, aggregator.NotYet, aggregator.Overloaded, aggregator.NodeFailed, aggregator.Stopping:
		return fasthttp.StatusServiceUnavailable
	}
	return fasthttp.StatusInternalServerError
}

// relayerFailure gives f the status that the original has for err.
func relayerFailure(f *door.Failure, err error) *door.Failure {
	var e *aggregator.Error
	if errors.As(err, &e) {
		switch e.Kind {
		case aggregator.BadRequest, aggregator.Overloaded, aggregator.Stopping:
			return f
		}
	}
	return &door.Failure{Status: fasthttp.StatusInternalServerError, Message: f.Message}
}
