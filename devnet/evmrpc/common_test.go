package evmrpc

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"quorate/devnet/evmchain"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/warp"
)

func testMessage(i uint64) *warp.Unsigned {
	u, err := warp.New(12345, chain.ID{1}, warp.AddressedCall{SourceAddress: make([]byte, 20), Payload: fmt.Appendf(nil, "message %d", i)}.Append(nil))
	if err != nil {
		panic(err)
	}
	return u
}

func testConfig() evmchain.Config {
	return evmchain.Config{
		ID: chain.ID{1}, EVMChainID: 43112, NetworkID: 12345, Atomic: true, PeerChain: chain.ID{2}, AssetID: chain.ID{3},
		Seed: [32]byte{4}, Blocks: 100, TxsPerBlock: 12, End: time.Unix(1735689600, 0),
		HistoryInterval: 8 * time.Hour, BlockInterval: 300 * time.Millisecond,
		Emitter: evm.Address{9}, FirstMessage: 5, Messages: 1 << 30, Message: testMessage,
	}
}

func newHandler(t testing.TB, cfg evmchain.Config) *Handler {
	t.Helper()
	c, err := evmchain.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return New(c, "v1.14.2")
}

// readChain is the chain of testConfig for tests that do not make it grow.
var readChain = sync.OnceValues(func() (*evmchain.Chain, error) { return evmchain.New(testConfig()) })

func newReader(t testing.TB) *Handler {
	t.Helper()
	c, err := readChain()
	if err != nil {
		t.Fatal(err)
	}
	return New(c, "v1.14.2")
}

type rpcAnswer struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    string
	}
}

func answer(t testing.TB, h *Handler, method string, params []any) []byte {
	t.Helper()
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	return h.Answer(body)
}

func ask(t testing.TB, h *Handler, method string, params ...any) rpcAnswer {
	t.Helper()
	var a rpcAnswer
	if raw := answer(t, h, method, params); json.Unmarshal(raw, &a) != nil {
		t.Fatalf("%s: no JSON: %.300s", method, raw)
	}
	return a
}

// get asks for something that must be there.
func get[T any](t testing.TB, h *Handler, method string, params ...any) T {
	t.Helper()
	var a struct {
		Result T
		Error  json.RawMessage
	}
	raw := answer(t, h, method, params)
	if err := json.Unmarshal(raw, &a); err != nil || a.Error != nil || !bytes.Contains(raw, []byte(`"result":`)) {
		t.Fatalf("%s %v: %v in %.300s", method, params, err, raw)
	}
	return a.Result
}

func wide(t testing.TB, s string) *big.Int {
	t.Helper()
	v, ok := new(big.Int).SetString(strings.TrimPrefix(s, "0x"), 16)
	if !ok || !strings.HasPrefix(s, "0x") {
		t.Fatalf("%q is no number", s)
	}
	return v
}

func number(t testing.TB, s string) uint64 { return wide(t, s).Uint64() }

func bytesOf(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil || !strings.HasPrefix(s, "0x") {
		t.Fatalf("%.80q is no hex", s)
	}
	return b
}

func hexOf(v uint64) string { return fmt.Sprintf("0x%x", v) }

type jsonBlock struct {
	BaseFeePerGas, BlobGasUsed, BlockExtraData, BlockGasCost, Difficulty, ExcessBlobGas, ExtDataGasUsed, ExtDataHash,
	ExtraData, GasLimit, GasUsed, Hash, LogsBloom, MinDelayExcess, Miner, MixHash, Nonce, Number, ParentBeaconBlockRoot,
	ParentHash, ReceiptsRoot, Sha3Uncles, Size, StateRoot, Timestamp, TimestampMilliseconds, TotalDifficulty, TransactionsRoot,
	TargetExponent, MinPriceExponent, SettledHeight, SettledGasUnix, SettledGasNumerator, SettledExcess string
	Transactions []jsonTx
}

type jsonTx struct {
	BlockHash, BlockNumber, From, Gas, GasPrice, MaxFeePerGas, MaxPriorityFeePerGas, Hash, Input, Nonce,
	TransactionIndex, Value, Type, ChainID, V, R, S, YParity string
	To         *string
	AccessList []jsonAccess
}

type jsonAccess struct {
	Address     string
	StorageKeys []string
}

type jsonReceipt struct {
	BlockHash, BlockNumber, CumulativeGasUsed, EffectiveGasPrice, From, GasUsed, LogsBloom, Status, TransactionHash, TransactionIndex, Type string
	ContractAddress, To                                                                                                                     *string
	Logs                                                                                                                                    []jsonLog
}

type jsonLog struct {
	Address, Data, BlockNumber, TransactionHash, TransactionIndex, BlockHash, LogIndex string
	Topics                                                                             []string
	Removed                                                                            bool
}

type jsonCall struct {
	From, To, Gas, GasUsed, Input, Output, Error, RevertReason, Value, Type string
	Calls                                                                   []jsonCall
	Logs                                                                    []jsonLog
}

type jsonAccount struct {
	Balance *string
	Nonce   *uint64
	Code    string
	Storage map[string]string
}

type traced[T any] struct {
	TxHash string
	Result T
}

type jsonDiff struct{ Pre, Post map[string]jsonAccount }
