package stream

import (
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"quorate/engine/events"
	"quorate/engine/index"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/reply"
	"quorate/httpapi/sign"
	"quorate/httpapi/view"
)

// The names of events.
const (
	eventSnapshot    = "snapshot"
	eventBlock       = "block"
	eventTransaction = "transaction"
	eventTransfer    = "transfer"
	eventMessage     = "message"
	eventRetraction  = "retraction"
	eventValidators  = "validators"
	eventHealth      = "health"
)

// chainStream is the part of a stream that is about one chain.
type chainStream struct {
	t        *stream
	chain    *evmapi.Chain
	info     *view.ChainInfo
	hub      *events.Hub
	follower *events.Follower
	snapshot bool         // is to be told first: the block at
	tip      index.Header // which the stream begins

	told    events.Position // behind what was written
	batch   events.Batch    // what is to be written
	signing map[*events.Message]*signing
	replay  replay
	failing time.Time // since when rows cannot be read; zero: they can
}

// signing is a message on its way to a signature.
type signing struct {
	done   chan struct{}
	signed []byte
	err    error
}

// waiting returns what is closed when the message is signed that all else waits for.
func (c *chainStream) waiting() <-chan struct{} {
	if len(c.batch.Events) == 0 || c.batch.Events[0].Kind != events.OfMessage {
		return nil
	}
	if s := c.signing[c.batch.Events[0].Message]; s != nil {
		return s.done
	}
	return nil
}

// look reads what follows, if all was written that was read before. Rows cannot be read
// for a moment while the chain goes back.
func (c *chainStream) look() error {
	if len(c.batch.Events) > 0 || c.batch.Retracted {
		return nil
	}
	b, err := c.follower.Next(eventsAtOnce)
	if err != nil {
		if errors.Is(err, events.ErrLost) {
			return err
		}
		if c.failing.IsZero() {
			c.failing = time.Now()
		}
		if time.Since(c.failing) > readPatience {
			return err
		}
		return nil
	}
	c.failing = time.Time{}
	c.batch = b
	if c.replay.on {
		c.t.room.Limits.Owe(c.t.client, len(b.Events)/eventsPerUnit)
		c.replay.on = b.More
	}
	return nil
}

// write writes what there is. It reports whether there may be more at once.
func (c *chainStream) write() (more bool, err error) {
	if c.snapshot {
		c.snapshot = false
		c.t.event(eventSnapshot, true)
		c.open()
		c.t.buf = append(c.t.buf, `,"topic":"chain","block":`...)
		c.block(&c.tip)
		c.close()
	}
	if c.replay.on {
		end, ok := c.turn()
		if !ok {
			return false, nil
		}
		defer end()
	}
	if err := c.look(); err != nil {
		return false, err
	}
	if c.batch.Retracted {
		c.told = c.batch.After
		c.batch.Retracted = false
		c.t.event(eventRetraction, true)
		c.open()
		c.t.buf = append(strconv.AppendUint(append(c.t.buf, `,"blockNumber":"`...), c.batch.Stands.Number, 10), `","blockHash":"`...)
		c.t.buf = append(view.AppendHash(c.t.buf, &c.batch.Stands.Hash), '"')
		c.close()
	}
	if err := c.writeEvents(); err != nil {
		return false, err
	}
	if len(c.batch.Events) > 0 { // a message is awaited, or the piece is full
		return len(c.t.buf) >= streamPiece, nil
	}
	c.told = c.follower.At()
	return c.batch.More && c.failing.IsZero(), nil
}

// writeEvents writes the events that are ready, as far as there is room.
func (c *chainStream) writeEvents() error {
	if len(c.batch.Events) == 0 {
		return nil
	}
	c.sign()
	var rows *evmapi.Request
	defer func() {
		if rows != nil {
			rows.V.Close()
		}
	}()
	n := 0
	for ; n < len(c.batch.Events) && len(c.t.buf) < streamPiece; n++ {
		e := &c.batch.Events[n]
		if e.Kind == events.OfMessage && !c.signed(e.Message) {
			break
		}
		if rows == nil && (e.Kind == events.OfTx || e.Kind == events.OfTransfer) {
			var err error
			if rows, err = c.rows(); err != nil {
				return err
			}
		}
		c.told = e.After()
		c.writeEvent(e, rows)
	}
	clear(c.batch.Events[:n]) // the blocks of what is written are free
	c.batch.Events = c.batch.Events[n:]
	c.sign()
	return nil
}

// rows opens what rows do not say themselves.
func (c *chainStream) rows() (*evmapi.Request, error) {
	m := c.t.room
	k := &evmapi.Request{Request: reply.Request{Desk: m.desk}, EVM: m.EVM}
	k.Q.Currency = view.DefaultCurrency
	var err error
	if k.Open, err = evmapi.OpenTip(c.chain); err != nil {
		return nil, err
	}
	k.W = view.Writer{Dialect: c.t.dialect, Currency: view.DefaultCurrency, Chain: c.info, Source: k}
	return k, nil
}

// open begins the data of an event.
func (c *chainStream) open() {
	c.t.buf = append(append(append(c.t.buf, `{"chainId":"`...), c.info.ChainID...), '"')
}

func (c *chainStream) close() {
	c.t.buf = append(c.t.buf, '}')
	c.t.closeEvent()
}

func (c *chainStream) writeEvent(e *events.Event, rows *evmapi.Request) {
	t := c.t
	begin := func(name string) {
		t.event(name, true)
		c.open()
		t.buf = append(append(append(t.buf, `,"`...), name...), `":`...)
	}
	switch e.Kind {
	case events.OfBlock:
		begin(eventBlock)
		c.block(&e.Block.Header)
	case events.OfTx:
		begin(eventTransaction)
		rows.W.B = rows.W.B[:0]
		rows.W.Forget()
		rows.W.TxDetails(e.Tx, nil)
		t.buf = append(t.buf, rows.W.B...)
	case events.OfTransfer:
		begin(eventTransfer)
		rows.W.B = rows.W.B[:0]
		rows.W.BlockTransfer(&index.AddressedTransfer{
			Tx: index.TxRef{Block: e.Tx.Block, Hash: e.Tx.Hash, Index: e.Tx.Index}, Transfer: *e.Transfer,
		})
		t.buf = append(t.buf, rows.W.B...)
	case events.OfMessage:
		begin(eventMessage)
		c.message(e)
	}
	c.close()
}

// block writes a block.
func (c *chainStream) block(h *index.Header) {
	b := strconv.AppendUint(append(c.t.buf, `{"blockNumber":"`...), h.Number, 10)
	b = strconv.AppendUint(append(b, `","blockTimestamp":`...), h.TimeMilli/1000, 10)
	b = strconv.AppendUint(append(b, `,"blockTimestampMilliseconds":`...), h.TimeMilli, 10)
	b = view.AppendHash(append(b, `,"blockHash":"`...), &h.Hash)
	b = view.AppendHash(append(b, `","parentHash":"`...), &h.Parent)
	b = strconv.AppendUint(append(b, `","txCount":`...), uint64(h.TxCount), 10)
	b = strconv.AppendUint(append(b, `,"gasLimit":"`...), h.GasLimit, 10)
	b = append(strconv.AppendUint(append(b, `","gasUsed":"`...), h.GasUsed, 10), '"')
	if h.BaseFee != nil {
		b = append(view.AppendAmount(append(b, `,"baseFeePerGas":"`...), h.BaseFee), '"')
	}
	if h.Reserved != nil {
		b = append(strconv.AppendUint(append(b, `,"settledHeight":"`...), h.Reserved.Settled, 10), '"')
	}
	c.t.buf = append(b, '}')
}

// message writes a message, signed or with the reason why it is not.
func (c *chainStream) message(e *events.Event) {
	m := e.Message
	s := c.signing[m]
	delete(c.signing, m)
	b := append(append(c.t.buf, `{"messageId":"`...), m.ID.String()...)
	b = append(append(b, `","sourceBlockchainId":"`...), c.info.BlockchainID...)
	if m.Addressed {
		b = append(append(b, `","destinationBlockchainId":"`...), m.Destination.String()...)
	}
	b = strconv.AppendUint(append(b, `","blockNumber":"`...), e.Block.Number, 10)
	b = view.AppendHash(append(b, `","txHash":"`...), &e.Tx.Hash)
	b = strconv.AppendUint(append(b, `","logIndex":`...), uint64(m.LogIndex), 10)
	b = append(hex.AppendEncode(append(b, `,"unsignedMessage":"`...), m.Unsigned), '"')
	if s.err == nil {
		b = append(hex.AppendEncode(append(b, `,"signedMessage":"`...), s.signed), '"')
	} else {
		b = view.AppendString(append(b, `,"error":`...), s.err.Error())
	}
	c.t.buf = append(b, '}')
}

// signed reports whether a message is signed, or will not be.
func (c *chainStream) signed(m *events.Message) bool {
	s := c.signing[m]
	if s == nil {
		return false
	}
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// sign has the first messages of the batch signed, as many at once as is fair.
func (c *chainStream) sign() {
	ahead := 0
	for i := range c.batch.Events {
		m := c.batch.Events[i].Message
		if m == nil || c.batch.Events[i].Kind != events.OfMessage {
			continue
		}
		if ahead++; ahead > sign.AtOnce {
			return
		}
		if c.signing[m] != nil {
			continue
		}
		if c.signing == nil {
			c.signing = make(map[*events.Message]*signing)
		}
		s := &signing{done: make(chan struct{})}
		c.signing[m] = s
		go func() {
			defer close(s.done)
			s.signed, s.err = c.t.room.Sign.Message(c.t.work, c.t.client, m.Unsigned, c.t.quorum)
		}()
	}
}
