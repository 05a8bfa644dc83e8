package evm

import (
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// What commit 700c180 has written of oldBlock.
var (
	oldPayload = "011da804f90225a00900000000000000000000000000000000000000000000000000000000000000a000000000000000000000000000000000000000" +
		"00000000000000000000000000940200000000000000000000000000000000000000a000000000000000000000000000000000000000000000000000" +
		"00000000000000a00000000000000000000000000000000000000000000000000000000000000000a000000000000000000000000000000000000000" +
		"00000000000000000000000000b90100" +
		strings.Repeat("00", 256) +
		"8046837a120083015f90846553f10080a00000000000000000000000000000000000000000000000000000000000000000880000000000000000a000" +
		"0000000000000000000000000000000000000000000000000000000000000019808080808086018bcfe5687b84070207080100010000000000000000" +
		"000000000000000000000001080de0b6b3a7640000020101010b37f6041e82ea60940200000000000000000000000000000000000000808401020304" +
		"830150f8880de0b6b3a7640000880de0b6b3a764000001d086030181010201000908052502e382a86a05012882ea60808080c0830150f8880de0b6b3" +
		"a7640000880de0b6b3a764000001c0b80201020100000000000000000000000000000000000000000000000000000000000000000101050201080de0" +
		"b6b3a76400008103020000"
	oldTrace = "015aca1d1f3bb29212a2dc5fdb37b2130359781c4aae2c6c0de7a7ee61b92aa17d020101810100020000000000000000000000000000000000000000" +
		"010000000000000000000000000000000000000000090800010202080de0b6b3a76400008103010000"
)

// oldBlock is a block that version 1 has all of.
func oldBlock() *evm.Block {
	a, c, wide := evm.Address{1}, evm.Address{2}, *uint256.NewInt(1e18)
	b := &evm.Block{
		Size: 900, Traced: true, ExtData: []byte{7, 8}, Atomic: []evm.Atomic{{Address: a, Wei: wide, Export: true}},
		Balances: []evm.Balance{{Address: a, Before: wide, Wei: *uint256.NewInt(3)}, {Address: c}},
	}
	milli := uint64(1_700_000_000_123)
	h := consensus.Header{Parent: evm.Hash{9}, Miner: c, Number: 70, Time: milli / 1000, TimeMilli: &milli, GasLimit: 8e6, GasUsed: 90_000, BaseFee: uint256.NewInt(25), HasExtData: true}
	h.Fill(b)
	b.Header = h.Append(nil)
	b.Hash = evm.Keccak(b.Header)
	failed := evm.Tx{From: a, To: c, Nonce: 4, GasLimit: 60_000, GasUsed: 50_000, GasPrice: *uint256.NewInt(30), Input: []byte{1, 2, 3, 4}, Failed: true,
		Calls: []evm.Call{{Type: evm.CallPlain, Depth: 1, From: c, To: a, Gas: 9, GasUsed: 8, Reverted: true}}}
	made := evm.Tx{Index: 1, Type: 2, From: a, Nonce: 5, Creation: true, Contract: evm.CreateAddress(a, 5), GasLimit: 60_000, GasUsed: 40_000, GasPrice: *uint256.NewInt(26),
		MaxFee: uint256.NewInt(40), MaxPriorityFee: uint256.NewInt(1), Logs: []evm.Log{{Address: c, Topics: []evm.Hash{{31: 1}}, Data: []byte{5}}}}
	for _, tx := range []evm.Tx{failed, made} {
		raw, err := consensus.AppendTx(nil, &tx, &consensus.Signed{ChainID: *uint256.NewInt(43114), V: *uint256.NewInt(86264), R: wide, S: wide})
		if err != nil {
			panic(err)
		}
		tx.Raw, tx.Hash = raw, evm.Keccak(raw)
		b.Txs = append(b.Txs, tx)
	}
	return b
}

// TestOldVersion: what was archived before failures were kept is read as it was.
func TestOldVersion(t *testing.T) {
	t.Parallel()
	payload, err := hex.DecodeString(oldPayload)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := hex.DecodeString(oldTrace)
	if err != nil {
		t.Fatal(err)
	}
	var b evm.Block
	if err := Decode(payload, &b); err != nil || !reflect.DeepEqual(&b, oldBlock()) {
		t.Fatalf("%v: got\n%+v\nwant\n%+v", err, &b, oldBlock())
	}
	checkSame(t, &b)
	b.Traced, b.Balances, b.Txs[0].Calls = false, nil, nil
	if err := DecodeTrace(trace, &b); err != nil || !reflect.DeepEqual(&b, oldBlock()) {
		t.Fatalf("%v: got\n%+v\nwant\n%+v", err, &b, oldBlock())
	}
	for _, v := range []byte{0, version + 1} {
		payload[0], trace[0] = v, v
		if Decode(payload, &b) == nil || DecodeTrace(trace, &b) == nil {
			t.Errorf("version %d is read", v)
		}
	}
}

// TestFailures: those of a note are of the transactions that it names, each once.
func TestFailures(t *testing.T) {
	t.Parallel()
	b := oldBlock()
	for i := range b.Txs {
		b.Txs[i].Failure = &evm.Failure{Error: "out of gas", Revert: []byte{byte(i)}}
	}
	note := AppendTrace(nil, b)
	got := *oldBlock()
	if err := DecodeTrace(note, &got); err != nil || !reflect.DeepEqual(&got, b) {
		t.Fatalf("%v: got\n%+v\nwant\n%+v", err, &got, b)
	}
	first := strings.Index(string(note), "\x01\x0aout of gas")
	second := strings.Index(string(note), "\x02\x0aout of gas")
	for _, c := range []struct {
		at int
		n  byte
	}{{first, 2}, {first, 3}, {second, 1}, {second, 3}} {
		bad := []byte(string(note))
		bad[c.at] = c.n
		if err := DecodeTrace(bad, &got); !errors.Is(err, errForm) {
			t.Errorf("failure of transaction %d at %d: %v", c.n, c.at, err)
		}
	}
}
