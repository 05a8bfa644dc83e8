package sign

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/attest"
	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/reply"
)

// maxTxMessages bounds the messages of one transaction that are signed.
const maxTxMessages = 64

// signTransaction returns the signed warp messages of a transaction.
func (m *Room) signTransaction(ctx *fasthttp.RequestCtx, p door.Params) {
	network, f := m.network(p.Get("network"))
	var requests []aggregator.Request
	if f == nil {
		looked := 0
		requests, f = m.txRequests(string(p.Get("network")), p.Get("txHash"), &looked)
		m.desk.Owe(ctx, &p, max(0, looked/attestedPerUnit-p.Paid))
	}
	if f == nil && len(requests) > 1 { // one is paid for
		if d := m.Limits.More(p.Client, p.Paid, (len(requests)-1)*door.UnitsMedium); !d.Allow {
			f = &door.Failure{Status: d.Status, Message: fmt.Sprintf("transaction %s has %d warp messages, which cost %d compute units: %s",
				p.Get("txHash"), len(requests), len(requests)*door.UnitsMedium, d.Message), RetryAfter: d.RetryAfter}
		}
	}
	if f != nil {
		door.Fail(ctx, f)
		return
	}
	var origin aggregator.Request
	m.from(ctx, &p, &origin)
	signed, more, repeated, err := m.signAll(network, requests, &origin)
	m.settle(ctx, &p, more+door.UnitsFree, repeated) // looking for the transaction costs as much as a known message
	if err != nil {
		door.Fail(ctx, m.aggregateFailure(err))
		return
	}
	ctx.Response.SetStatusCode(fasthttp.StatusCreated)
	ctx.Response.Header.SetContentType(door.ContentJSON)
	body := append(ctx.Response.SwapBody(nil)[:0], `{"signedMessage":"`...)
	body = append(hex.AppendEncode(body, signed[0]), '"')
	if len(signed) > 1 {
		body = append(body, `,"signedMessages":[`...)
		for i, m := range signed {
			if i > 0 {
				body = append(body, ',')
			}
			body = append(hex.AppendEncode(append(body, '"'), m), '"')
		}
		body = append(body, ']')
	}
	ctx.Response.SwapBody(append(body, '}'))
}

// txRequests returns what is to be signed of a transaction: of an EVM chain, whose hashes
// are hex, or of the P-Chain, whose IDs are CB58. Where there is no such transaction, or none
// with a message, it is the message that itself has the ID, in either form.
func (m *Room) txRequests(network string, text []byte, looked *int) (requests []aggregator.Request, f *door.Failure) {
	var id chain.ID
	if door.ParseHex(text, id[:]) {
		var messages [][]byte
		messages, f = m.warpMessages(network != "mainnet", evm.Hash(id))
		for i := range messages {
			requests = append(requests, aggregator.Request{Message: messages[i]})
		}
	} else {
		var err error
		if id, err = chain.ParseID(string(text)); err != nil {
			return nil, door.BadRequest("txHash must be the hash of a transaction of an EVM chain, 0x and 64 hex digits, or the ID of one of the P-Chain " +
				"in CB58, or that of a warp message in either form, not " + door.Excerpt(text))
		}
		requests, f = alone(m.platformMessage(network, id, attest.ByTx))
	}
	if f == nil || f.Status != fasthttp.StatusNotFound && f.Status != fasthttp.StatusServiceUnavailable {
		return requests, f
	}
	requests, unread := m.messageWithID(network, id, looked)
	switch {
	case unread == nil:
		return requests, nil
	case unread.Status != fasthttp.StatusNotFound:
		return nil, unread
	case f.Status == fasthttp.StatusNotFound:
		f.Message += ", and no warp message has this ID"
	}
	return nil, f
}

func alone(req *aggregator.Request, f *door.Failure) ([]aggregator.Request, *door.Failure) {
	if f != nil {
		return nil, f
	}
	return []aggregator.Request{*req}, nil
}

// signAll has requests signed for origin's client, as many at once as is fair. It
// returns the first error that was met, what the sets of validators cost that were asked, and
// how many messages were known.
func (m *Room) signAll(network Aggregator, requests []aggregator.Request, origin *aggregator.Request) (list [][]byte, more, repeated int, err error) {
	ctx, cancel := context.WithCancelCause(m.desk.Work)
	defer cancel(nil)
	signed := make([][]byte, len(requests))
	var next, units, repeats atomic.Int64
	var wg sync.WaitGroup
	for range min(AtOnce, len(requests)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(requests)) && context.Cause(ctx) == nil; i = next.Add(1) - 1 {
				req := &requests[i]
				req.Quorum, req.Client, req.Received = aggregator.DefaultQuorum, origin.Client, origin.Received
				res, err := network.Aggregate(ctx, req)
				units.Add(int64(req.Asked / validatorsPerUnit))
				repeats.Add(int64(known(req, err)))
				if err != nil {
					cancel(err) // only the first call counts
					return
				}
				signed[i] = res.Signed
			}
		})
	}
	wg.Wait()
	more, repeated = int(units.Load()), int(repeats.Load())
	if m.desk.Work.Err() != nil {
		return nil, more, repeated, &aggregator.Error{Kind: aggregator.Stopping, Msg: "the server is shutting down"}
	}
	return signed, more, repeated, context.Cause(ctx)
}

// warpMessages finds the messages of a transaction of any chain of a network.
func (m *Room) warpMessages(testnet bool, hash evm.Hash) ([][]byte, *door.Failure) {
	var unread *door.Failure // why a chain could not be looked through
	for _, chain := range m.EVM.Chains() {
		info := chain.Info
		if info.IsTestnet != testnet {
			continue
		}
		messages, found, err := TxMessages(chain, hash)
		switch {
		case err != nil && !errors.Is(err, index.ErrEmpty):
			m.desk.Log.Error("a chain's rows cannot be read", "chain", info.ChainID, "err", err)
			return nil, door.Internal()
		case len(messages) > maxTxMessages:
			return nil, door.BadRequest(fmt.Sprintf("transaction %s has %d warp messages; at most %d are signed for one request",
				hash, len(messages), maxTxMessages))
		case len(messages) > 0:
			return messages, nil
		case found:
			return nil, door.NotFound("transaction " + hash.String() + " has no warp message")
		}
		if err := chain.Down(); err != nil {
			unread = door.Unavailable("transaction " + hash.String() + " is not indexed, and chain " + info.ChainID + " does not go on: " + reply.Standstill(err))
		}
	}
	if unread != nil {
		return nil, unread
	}
	return nil, door.NotFound("transaction " + hash.String() + " does not exist or is not indexed yet")
}

// TxMessages returns the unsigned warp messages of a transaction in the order of their
// logs; found is false if the chain has no such transaction, or not yet.
func TxMessages(chain *evmapi.Chain, hash evm.Hash) (messages [][]byte, found bool, err error) {
	v, err := chain.At(nil)
	if err != nil {
		return nil, false, err
	}
	defer v.Close()
	if messages, err = v.WarpMessages(hash); err != nil || len(messages) > 0 {
		return messages, true, err
	}
	_, found, err = v.Tx(hash)
	return nil, found, err
}
