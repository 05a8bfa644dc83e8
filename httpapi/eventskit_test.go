package httpapi

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/chain/warp"
	"quorate/engine/events"
	"quorate/engine/index/indextest"
)

// noEvents knows no chain.
type noEvents struct{}

func (noEvents) Hub(chain.ID) (*events.Hub, bool) { return nil, false }

// oneHub is that of all chains.
type oneHub struct{ hub *events.Hub }

func (h oneHub) Hub(chain.ID) (*events.Hub, bool) { return h.hub, true }

// eventChain is a chain in a real index, with blocks from which to grow and to go back.
type eventChain struct {
	*testChain
	made uint64 // seeds that are used
}

// Read is a source of blocks for rewinds.
func (c *eventChain) Read(_ context.Context, from, to uint64, f func(*evm.Block) error) error {
	for _, b := range c.blocks[from : to+1] {
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

func newEventChain(t testing.TB, n int) *eventChain {
	t.Helper()
	_, x := indexed(t, 0)
	c := &eventChain{testChain: x}
	c.grow(t, n)
	return c
}

// grow adds n blocks, each with a warp message.
func (c *eventChain) grow(t testing.TB, n int) {
	t.Helper()
	c.made++
	next := indextest.New(indextest.Config{Seed: 5000 + c.made, Txs: 4}).Blocks(n + 1)[1:]
	if len(c.blocks) == 0 {
		next = indextest.New(indextest.Config{Seed: 5000 + c.made, Txs: 4}).Blocks(n)
	}
	for _, b := range next {
		if len(c.blocks) > 0 {
			last := c.blocks[len(c.blocks)-1]
			b.Number, b.Parent, b.TimeMilli = last.Number+1, last.Hash, last.TimeMilli+1
		}
		c.blocks = append(c.blocks, b)
		tx := evm.Tx{Index: uint32(len(b.Txs)), Hash: evm.Keccak(b.Hash[:], []byte("tx")), From: alice, To: bob}
		log := uint32(0)
		for i := range b.Txs {
			if l := b.Txs[i].Logs; len(l) > 0 {
				log = l[len(l)-1].Index + 1
			}
			b.Txs[i].Logs = slices.DeleteFunc(b.Txs[i].Logs, func(l evm.Log) bool { return l.Address == precompile })
		}
		tx.Logs = []evm.Log{warpLog(log, messageOf(b.Number))}
		b.Txs = append(b.Txs, tx)
	}
	if err := c.x.Commit(context.Background(), next); err != nil {
		t.Fatal(err)
	}
}

// back goes back n blocks.
func (c *eventChain) back(t testing.TB, n int) {
	t.Helper()
	to := uint64(len(c.blocks) - 1 - n)
	if err := c.x.Rewind(context.Background(), c, to); err != nil {
		t.Fatal(err)
	}
	c.blocks = c.blocks[:to+1]
}

// messageOf returns a message of the Teleporter for a chain that depends on the height.
func messageOf(height uint64) []byte {
	m := icm.Message{Nonce: *uint256.NewInt(height), Destination: chain.ID{byte(height % 2)}}
	call := warp.AddressedCall{SourceAddress: alice[:], Payload: m.Append(nil)}
	u, err := warp.New(12345, chain.ID{1}, call.Append(nil))
	if err != nil {
		panic(err)
	}
	return u.Bytes()
}

// precompile sends warp messages.
var precompile = evm.Address{0: 2, 19: 5}

// warpLog is what the precompile logs of a message.
func warpLog(index uint32, message []byte) evm.Log {
	data := make([]byte, 64)
	data[31] = 32
	binary.BigEndian.PutUint64(data[56:], uint64(len(message)))
	data = append(data, message...)
	data = append(data, make([]byte, -len(data)&31)...)
	sent := evm.Keccak([]byte("SendWarpMessage(address,bytes32,bytes)"))
	return evm.Log{Index: index, Address: precompile, Topics: []evm.Hash{sent, {}, {}}, Data: data}
}

// signsAll signs by putting a mark before the message.
func signsAll() fake {
	return func(_ context.Context, req *aggregator.Request) (*aggregator.Result, error) {
		return &aggregator.Result{Signed: append([]byte("signed"), req.Message...)}, nil
	}
}

// serveEvents serves events of a chain; cfg may have more.
func serveEvents(t testing.TB, c *eventChain, cfg Config) (*Server, string) {
	t.Helper()
	if cfg.Networks == nil {
		cfg.Networks = networks{signsAll()}
	}
	cfg.Chains, cfg.Events, cfg.TokenKey = oneChain{c.testChain}, oneHub{events.NewHub(c.x)}, []byte("the key of all tests")
	return start(t, cfg)
}

// event is one of Server-Sent Events.
type event struct {
	id, name, data string
}

// height returns the block of an event, or of a retraction.
func (e *event) height(t testing.TB) uint64 {
	t.Helper()
	var at struct {
		Block, Transfer, Message struct {
			BlockNumber uint64 `json:",string"`
		}
		Transaction struct {
			NativeTransaction struct {
				BlockNumber uint64 `json:",string"`
			}
		}
		BlockNumber uint64 `json:",string"`
	}
	if err := json.Unmarshal([]byte(e.data), &at); err != nil {
		t.Fatalf("%s: %v", e.data, err)
	}
	return max(at.Block.BlockNumber, at.Transfer.BlockNumber, at.Message.BlockNumber, at.Transaction.NativeTransaction.BlockNumber, at.BlockNumber)
}

// listener reads a stream as an EventSource does.
type reader struct {
	body io.ReadCloser
	r    *bufio.Reader
	id   string
}

var errRefused = errors.New("refused")

// listen opens a stream.
func listen(ctx context.Context, addr, query, id string) (*reader, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/v1/events?"+query, nil)
	if err != nil {
		return nil, err
	}
	if id != "" {
		req.Header.Set("Last-Event-ID", id)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%w: %d %s", errRefused, resp.StatusCode, body)
	}
	return &reader{body: resp.Body, r: bufio.NewReader(resp.Body), id: id}, nil
}

// next returns the next event that has data.
func (l *reader) next() (e event, err error) {
	for {
		text, err := l.r.ReadString('\n')
		if err != nil {
			return e, err
		}
		text = strings.TrimSuffix(text, "\n")
		name, value, _ := strings.Cut(text, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if text != "" { // a comment
				continue
			}
			if e.id != "" {
				l.id = e.id
			}
			if e.data != "" {
				return e, nil
			}
		}
	}
}

func mustListen(t testing.TB, addr, query, id string) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	l, err := listen(ctx, addr, query, id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.body.Close() })
	return l
}

func (l *reader) must(t testing.TB) event {
	t.Helper()
	e, err := l.next()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A stream begins with a snapshot, tells what happens in the order of the chain in the
// form of the lists, and goes on from any ID.
