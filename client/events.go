package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"
)

// silence is after how long a stream that sends nothing is taken for broken: servers send a
// comment every 15 s.
const silence = 45 * time.Second

// Event is one that a server sent.
type Event struct {
	// Name is block, transaction, transfer, message, retraction, snapshot, validators or
	// health.
	Name string
	// ID continues a stream after this event, as [StreamEventsParams.LastEventID].
	ID   string
	Data json.RawMessage
}

// Decode decodes the data of an event.
func (e *Event) Decode(v any) error { return json.Unmarshal(e.Data, v) }

// Message is the data of an event of the topic messages: a warp message once it is signed.
type Message struct {
	ChainID string `json:"chainId"`
	Message struct {
		ID              string `json:"messageId"`
		Source          string `json:"sourceBlockchainId"`
		Destination     string `json:"destinationBlockchainId"` // empty if it is not of the Teleporter
		BlockNumber     string `json:"blockNumber"`
		TxHash          string `json:"txHash"`
		LogIndex        int    `json:"logIndex"`
		UnsignedMessage string `json:"unsignedMessage"`
		SignedMessage   string `json:"signedMessage"`
		Error           string `json:"error"` // why it was not signed
	} `json:"message"`
}

// errEnded is the end of a stream that can be continued.
var errEnded = errors.New("the stream has ended")

// Events follows what happens. A stream that breaks, or that the server ends, is continued
// where it was, without a gap or a repeat, until the context ends or there is nothing from
// the server for [Client.Patience]. The last pair has the error that ended it: a stream
// that cannot be continued is an [*Error] with status 410.
func (c *Client) Events(ctx context.Context, p StreamEventsParams) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		heard := time.Now()
		for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
			began := time.Now()
			stopped, err := c.stream(ctx, &p, &heard, func(e Event) bool { return yield(e, nil) })
			if stopped {
				return
			}
			if e := (*Error)(nil); ctx.Err() != nil || errors.As(err, &e) && !e.Temporary() || time.Since(heard) > c.Patience {
				yield(Event{}, err)
				return
			}
			if heard.After(began) {
				pause = 100 * time.Millisecond
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
}

// stream reads one connection's events until it ends, and leaves in p where to go on and in
// heard when the last line came. stopped: yield wanted no more.
func (c *Client) stream(ctx context.Context, p *StreamEventsParams, heard *time.Time, yield func(Event) bool) (stopped bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alive := time.AfterFunc(silence, cancel)
	defer alive.Stop()
	resp, err := c.once(ctx, call{method: http.MethodGet, path: "/v1/events", query: p.query()})
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	in := bufio.NewReaderSize(resp.Body, 64<<10)
	var e Event
	for {
		line, err := readLine(in)
		if err != nil {
			return false, fmt.Errorf("GET /v1/events: %w", err)
		}
		alive.Reset(silence)
		*heard = time.Now()
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			e.Name = value
		case "id":
			e.ID = value
		case "data":
			e.Data = append(append(json.RawMessage{}, e.Data...), value...)
		case "":
			if line != "" { // a comment
				continue
			}
			if e.ID != "" { // of an event that is here whole, or alone
				p.LastEventID = e.ID
				p.StartBlock = 0 // the ID says where to go on
			}
			if e.Data == nil {
				continue
			}
			if e.Name == "end" {
				return false, endOf(&e)
			}
			if !yield(e) {
				return true, nil
			}
			e = Event{ID: p.LastEventID}
		}
	}
}

// readLine reads a line without its end. Long ones are bounded.
func readLine(in *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		part, err := in.ReadSlice('\n')
		b.Write(part)
		switch {
		case err == nil:
			return strings.TrimRight(b.String(), "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		case b.Len() > maxAnswer:
			return "", io.ErrShortBuffer
		}
	}
}

// endOf returns the error that the last event of a stream stands for.
func endOf(e *Event) error {
	var end struct{ Reason, Message string }
	if err := e.Decode(&end); err != nil {
		return err
	}
	if end.Reason == "lost" {
		return &Error{Status: http.StatusGone, Message: end.Message}
	}
	return fmt.Errorf("%w: %s", errEnded, end.Message)
}
