package evm

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

func address(s string) evm.Address { return must(evm.ParseAddress(s)) }

func hash(s string) evm.Hash { return evm.Hash(must(hex.DecodeString(s[2:]))) }

func wei(s string) uint256.Int { return *must(uint256.FromHex(s)) }

var (
	sender = address("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc")
	beef   = address("0x00000000000000000000000000000000deadbeef")
	show   = address("0x17ab05351fc94a1a67bf3f56ddbb941ae6c63e25")
	child  = address("0x7c883169ac8623708eda6e893e21d097230e5ba4")
	gone   = address("0xd310f0496e1a4a02303a6fae85be3565ef66c79e")
	burnt  = address("0x0100000000000000000000000000000000000000")
	warp   = address("0x0200000000000000000000000000000000000005")
)

func TestRecorded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	c := n.client(t, nil)
	if id, err := c.ChainID(t.Context()); err != nil || id != 43112 {
		t.Errorf("chain ID %d, %v", id, err)
	}
	if f, err := c.Features(t.Context()); err != nil || !f.Trace {
		t.Errorf("features %+v, %v", f, err)
	}
	tip, err := c.Tip(t.Context())
	if want := (chain.Head{Height: 3, ID: chain.ID(hash("0xf91bb99cb222bf5325dd40bf384061cb5470615a0f51da35734941d8a5da94ae")), TimeMilli: 0x1a1fb6dd576}); err != nil || tip != want {
		t.Errorf("tip %+v, %v", tip, err)
	}
	blocks, err := c.Fetch(t.Context(), 0, 3)
	if err != nil || len(blocks) != 4 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	for i, b := range blocks {
		if err := c.Trace(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if b.Number != uint64(i) || !b.Traced || (b.Balances == nil) != (i == 0) {
			t.Errorf("block %d: %+v", i, b)
		}
	}
	checkAtomic(t, blocks)
	checkTxs(t, blocks[3])
	checkCalls(t, blocks[3])
	checkBalances(t, c, blocks)
}

func checkAtomic(t *testing.T, blocks []*evm.Block) {
	t.Helper()
	for i, want := range [][]evm.Atomic{
		1: {{Address: sender, Wei: *uint256.NewInt(4_999_999_999 * 1e9)}},
		2: {{Address: sender, Wei: *uint256.NewInt(1_000_000_001 * 1e9), Export: true}},
		3: nil,
	} {
		if !reflect.DeepEqual(blocks[i].Atomic, want) {
			t.Errorf("block %d: got %+v, want %+v", i, blocks[i].Atomic, want)
		}
	}
}

func checkTxs(t *testing.T, b *evm.Block) {
	t.Helper()
	if b.GasLimit != 0x989680 || b.GasUsed != 0x63399 || !b.BaseFee.Eq(uint256.NewInt(1)) || b.Miner != burnt || b.Size != 0x701 || len(b.Txs) != 7 {
		t.Fatalf("block: %+v", b)
	}
	reverted := &evm.Failure{Error: "execution reverted"}
	want := []evm.Tx{
		{Type: 2, Nonce: 1, Creation: true, Contract: show, Value: *uint256.NewInt(100), GasLimit: 800_000, GasUsed: 0x311e7, GasPrice: *uint256.NewInt(2)},
		{Type: 0, Nonce: 2, To: beef, Value: *uint256.NewInt(1e18), GasLimit: 21_000, GasUsed: 21_000, GasPrice: *uint256.NewInt(2e11)},
		{Type: 1, Nonce: 3, To: beef, Value: *uint256.NewInt(7), GasLimit: 50_000, GasUsed: 0x62d4, GasPrice: *uint256.NewInt(1e11)},
		{Type: 2, Nonce: 4, Creation: true, Contract: address("0x4ac1d98d9cef99ec6546ded4bd550b0b287aad6d"), GasLimit: 100_000, GasUsed: 0xcf48, GasPrice: *uint256.NewInt(2), Failed: true, Failure: reverted},
		{Type: 2, Nonce: 5, To: child, Value: *uint256.NewInt(5), GasLimit: 100_000, GasUsed: 0x524e, GasPrice: *uint256.NewInt(2), Failed: true, Failure: reverted},
		{Type: 2, Nonce: 6, To: warp, GasLimit: 200_000, GasUsed: 0xf938, GasPrice: *uint256.NewInt(2)},
		{Type: 2, Nonce: 7, To: sender, Value: *uint256.NewInt(9), GasLimit: 21_000, GasUsed: 21_000, GasPrice: *uint256.NewInt(2)},
	}
	for i, got := range b.Txs {
		if dynamic := got.Type == 2; (got.MaxFee != nil) != dynamic || (got.MaxPriorityFee != nil) != dynamic ||
			dynamic && (!got.MaxFee.Eq(uint256.NewInt(1e12)) || !got.MaxPriorityFee.Eq(uint256.NewInt(1))) {
			t.Errorf("transaction %d: fees %v %v", i, got.MaxFee, got.MaxPriorityFee)
		}
		if got.Index != uint32(i) || got.From != sender || got.Hash.IsZero() {
			t.Errorf("transaction %d: %+v", i, got)
		}
		if input := map[int]int{0: 250, 3: 5, 4: 4, 5: 100}[i]; i > 0 && len(got.Input) != input {
			t.Errorf("transaction %d: input of %d bytes, want %d", i, len(got.Input), input)
		}
		got.Hash, got.Index, got.From, got.Input, got.Logs, got.Calls, got.MaxFee, got.MaxPriorityFee, got.Raw = evm.Hash{}, 0, evm.Address{}, nil, nil, nil, nil, nil, nil
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("transaction %d:\n got %+v\nwant %+v", i, got, want[i])
		}
	}
	transfer := evm.Log{Address: show, Data: make([]byte, 32), Topics: []evm.Hash{
		evm.Keccak([]byte("Transfer(address,address,uint256)")), {}, hash("0x0000000000000000000000008db97c7cece249c2b98bdc0226cc4c2a57bf52fc"),
	}}
	transfer.Data[30], transfer.Data[31] = 0x03, 0xe8
	if got := b.Txs[0].Logs; len(got) != 1 || !reflect.DeepEqual(got[0], transfer) {
		t.Errorf("got %+v, want %+v", got, transfer)
	}
	if got := b.Txs[5].Logs; len(got) != 1 || got[0].Index != 1 || got[0].Address != warp || len(got[0].Topics) != 3 || len(got[0].Data) != 160 {
		t.Errorf("the message's log: %+v", got)
	}
}

func checkCalls(t *testing.T, b *evm.Block) {
	t.Helper()
	one, two, three := *uint256.NewInt(1), *uint256.NewInt(2), *uint256.NewInt(3)
	identity := evm.Address{19: 4}
	want := []evm.Call{
		{Type: evm.CallCreate, Depth: 1, From: show, To: child, Value: one, Gas: 0xaac13, GasUsed: 0x3fa},
		{Type: evm.CallPlain, Depth: 1, From: show, To: child, Value: one, Gas: 0xa8e13, GasUsed: 6, Reverted: true},
		{Type: evm.CallCreate2, Depth: 1, From: show, To: gone, Value: two, Gas: 0xa12bf, GasUsed: 0x138a},
		{Type: evm.CallSelfDestruct, Depth: 2, From: gone, To: show, Value: two},
		{Type: evm.CallCreate, Depth: 1, From: show, Gas: 0x98461, GasUsed: 6, Reverted: true},
		{Type: evm.CallPlain, Depth: 1, From: show, To: beef, Value: three, Gas: 0x90086},
		{Type: evm.CallStatic, Depth: 1, From: show, To: identity, Gas: 0x8ffed, GasUsed: 0xf},
		{Type: evm.CallDelegate, Depth: 1, From: show, To: identity, Value: *uint256.NewInt(100), Gas: 0x8ff69, GasUsed: 0xf},
	}
	if got := b.Txs[0].Calls; !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	for _, tx := range b.Txs[1:] {
		if len(tx.Calls) > 0 {
			t.Errorf("transaction %d has calls: %+v", tx.Index, tx.Calls)
		}
	}
}

// checkBalances compares with what the node said when it was asked for each.
func checkBalances(t *testing.T, c *Client, blocks []*evm.Block) {
	t.Helper()
	var last []evm.Address
	for _, b := range blocks[1:] {
		last = nil
		for _, got := range b.Balances {
			last = append(last, got.Address)
			before := b.Number - 1
			for _, side := range []struct {
				height *uint64
				wei    uint256.Int
			}{{&before, got.Before}, {&b.Number, got.Wei}} {
				want, err := c.Balance(t.Context(), got.Address, side.height)
				if err != nil || *want != side.wei {
					t.Errorf("block %d: %s has %s, want %v, %v", *side.height, got.Address, side.wei.Dec(), want, err)
				}
			}
		}
	}
	if want := []evm.Address{beef, burnt, show, child, sender}; !reflect.DeepEqual(last, want) {
		t.Errorf("balances of %v, want those of %v", last, want)
	}
	if got, err := c.Balance(t.Context(), sender, nil); err != nil || *got != wei("0x295be997ee419db594ce1b") {
		t.Errorf("balance now: %v, %v", got, err)
	}
	beyond := uint64(4)
	if got, err := c.Balance(t.Context(), sender, &beyond); !errors.Is(err, ErrNotFound) {
		t.Errorf("balance beyond the tip: %v, %v", got, err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	n := newNode(t).client(t, nil).cfg.Node
	for name, cfg := range map[string]Config{
		"no node":       {Path: "/x"},
		"no path":       {Node: n},
		"relative path": {Node: n, Path: "x"},
		"batch":         {Node: n, Path: "/x", BatchBlocks: 65},
		"batch below":   {Node: n, Path: "/x", BatchBlocks: -1},
		"bytes":         {Node: n, Path: "/x", BatchBytes: -1},
		"pause":         {Node: n, Path: "/x", PollInterval: -1},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	c, err := New(Config{Node: n, Path: "/x"})
	if err != nil || c.cfg.BatchBlocks != 64 {
		t.Errorf("%v: %+v", err, c.cfg)
	}
	for _, r := range [][2]uint64{{1, 0}, {0, MaxRange}} {
		if got, err := c.Fetch(t.Context(), r[0], r[1]); err == nil || len(got) > 0 {
			t.Errorf("range %v: got %d, %v", r, len(got), err)
		}
	}
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	for refusal, want := range map[string]bool{
		`{"code":-32601,"message":"the method debug_traceBlockByHash does not exist/is not available"}`: false,
		`{"code":-32000,"message":"method not supported"}`:                                              false,
		`{"code":-32000,"message":"something odd"}`:                                                     false,
		`{"code":-32000,"message":"block 0x00 not found"}`:                                              true,
		`{"code":-32000,"message":"required historical state unavailable (reexec=128)"}`:                true,
	} {
		n := newNode(t)
		n.edit = func(q question, r recorded) recorded {
			r.Error = []byte(refusal)
			return r
		}
		if f, err := n.client(t, nil).Features(t.Context()); err != nil || f.Trace != want {
			t.Errorf("%s: got %+v, %v", refusal, f, err)
		}
	}
	n := newNode(t)
	n.Close()
	if f, err := n.client(t, nil).Features(t.Context()); !errors.Is(err, ErrUnreachable) || f.Trace {
		t.Errorf("no node: got %+v, %v", f, err)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	p := newPace(64, 1000, 100)
	step := func(bytes int) int {
		n := p.next()
		p.answered(n, bytes*n, 1)
		return n
	}
	for range 40 {
		step(1)
	}
	if got := p.next(); got != 64 {
		t.Errorf("small answers: %d blocks at once, want the limit", got)
	}
	low, high := 64, 0
	for i := range 200 { // 50 bytes a block: 20 are the most that is good
		if n := step(50); i > 50 {
			low, high = min(low, n), max(high, n)
		}
	}
	if low < 12 || high > 23 {
		t.Errorf("swings between %d and %d blocks around 20", low, high)
	}
	for range 10 {
		p.failed(p.next())
	}
	if got := p.next(); got != 1 {
		t.Errorf("after failures: %d blocks at once", got)
	}
	p.answered(1, 1, 1)
	if got := p.next(); got != 3 {
		t.Errorf("after one good answer: %d blocks at once", got)
	}
	p.answered(1, 1, 1000)
	if got := p.next(); got != 1 {
		t.Errorf("after a slow answer: %d blocks at once", got)
	}
	if s := fmt.Sprint(newPace(1, 1, 1).next()); s != "1" {
		t.Errorf("limit of 1: %s", s)
	}
}
