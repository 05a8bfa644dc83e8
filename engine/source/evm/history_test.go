package evm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quorate/engine/archive"
	archiveevm "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/history"
	"quorate/engine/metric"
)

// held are the places of blocks, the index of which is their height.
type held []*evm.Block

func (h held) Cursor() (uint64, evm.Hash, bool) { return uint64(len(h) - 1), h[len(h)-1].Hash, true }

func (h held) Block(hash evm.Hash) (uint64, bool, error) {
	i := slices.IndexFunc(h, func(b *evm.Block) bool { return b.Hash == hash })
	return uint64(max(i, 0)), i >= 0, nil
}

// Later: the blocks were asked for when they were executed later.
func (h held) Later() (later, known bool) { return true, true }

func (h held) Tx(hash evm.Hash) (uint64, uint32, bool, error) {
	for _, b := range h {
		for i := range b.Txs {
			if b.Txs[i].Hash == hash {
				return b.Number, uint32(i), true, nil
			}
		}
	}
	return 0, 0, false, nil
}

// heliconPast returns the history of the recorded blocks, and the blocks.
func heliconPast(t *testing.T) (*history.History, []heliconBlock, []*evm.Block) {
	t.Helper()
	recorded := helicon(t)
	check := newChecker(VerifyFull, metric.NewSet(), slog.New(slog.DiscardHandler), nil)
	a, err := archive.Open(t.TempDir(), archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	var blocks []*evm.Block
	for i := range recorded {
		b, err := recorded[i].read(check)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Append(t.Context(), []archive.Block{archiveevm.BlockOf(b)}); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	return history.New(held(blocks), func() *archive.Archive { return a }), recorded, blocks
}

// TestPast: what is answered from the archive of a network that crosses Helicon is, byte by
// byte, what its node answered: transactions, receipts, and the logs that random filters find
// in those.
func TestPast(t *testing.T) {
	t.Parallel()
	past, recorded, blocks := heliconPast(t)
	call := func(method, params string) string {
		t.Helper()
		result, err := past.Call(t.Context(), method, []byte(params))
		if err != nil {
			t.Fatalf("%s %s: %v", method, params, err)
		}
		return string(result)
	}
	compared := 0
	same := func(got string, want json.RawMessage, of string) {
		t.Helper()
		var b bytes.Buffer
		if err := json.Compact(&b, want); err != nil {
			t.Fatal(err)
		}
		if compared++; got != b.String() {
			t.Errorf("%s:\n%s, the node said\n%s", of, got, b.String())
		}
	}
	logs := make([][]json.RawMessage, len(recorded))
	for n := range recorded {
		var block struct {
			Hash         string
			Transactions []json.RawMessage
		}
		var receipts []json.RawMessage
		if err := errors.Join(json.Unmarshal(recorded[n].Block, &block), json.Unmarshal(recorded[n].Receipts, &receipts)); err != nil {
			t.Fatal(err)
		}
		same(call("eth_getBlockByNumber", fmt.Sprintf(`["0x%x",true]`, n)), recorded[n].Block, fmt.Sprint("block ", n))
		same(call("eth_getBlockByHash", `["`+block.Hash+`",true]`), recorded[n].Block, fmt.Sprint("block ", n, " by hash"))
		same(call("eth_getBlockReceipts", fmt.Sprintf(`["0x%x"]`, n)), recorded[n].Receipts, fmt.Sprint("receipts of ", n))
		same(call("eth_getBlockReceipts", `["`+block.Hash+`"]`), recorded[n].Receipts, fmt.Sprint("receipts of ", n, " by hash"))
		same(call("eth_getBlockTransactionCountByHash", `["`+block.Hash+`"]`), json.RawMessage(fmt.Sprintf(`"0x%x"`, len(receipts))), fmt.Sprint("count of ", n))
		for i, want := range receipts {
			hash := blocks[n].Txs[i].Hash.String()
			same(call("eth_getTransactionReceipt", `["`+hash+`"]`), want, "receipt "+hash)
			same(call("eth_getTransactionByHash", `["`+hash+`"]`), block.Transactions[i], "transaction "+hash)
			same(call("eth_getTransactionByBlockNumberAndIndex", fmt.Sprintf(`["0x%x","0x%x"]`, n, i)), block.Transactions[i], "transaction by index "+hash)
			var r struct{ Logs []json.RawMessage }
			if err := json.Unmarshal(want, &r); err != nil {
				t.Fatal(err)
			}
			logs[n] = append(logs[n], r.Logs...)
		}
	}
	t.Logf("%d answers compared", compared)
	if compared < 1000 {
		t.Error("too few answers")
	}
	hits := randomFilters(t, logs, call)
	t.Logf("1000 filters found %d logs", hits)
}

// randomFilters compares the answers to 1,000 filters with what the logs of receipts say.
func randomFilters(t *testing.T, logs [][]json.RawMessage, call func(method, params string) string) (hits int) {
	type parsed struct {
		raw     string
		Address string
		Topics  []string
	}
	var all []parsed
	perBlock := make([][]parsed, len(logs))
	for n := range logs {
		for _, raw := range logs[n] {
			p := parsed{raw: string(raw)}
			if err := json.Unmarshal(raw, &p); err != nil {
				t.Fatal(err)
			}
			all, perBlock[n] = append(all, p), append(perBlock[n], p)
		}
	}
	rnd := rand.New(rand.NewPCG(29, 2))
	for range 1000 {
		from := rnd.IntN(len(logs))
		to := min(len(logs)-1, from+rnd.IntN(1<<rnd.UintN(9)))
		var address []string
		for range rnd.IntN(3) {
			address = append(address, all[rnd.IntN(len(all))].Address)
		}
		topics := make([][]string, rnd.IntN(4))
		for i := range topics {
			if l := all[rnd.IntN(len(all))]; rnd.IntN(2) == 0 && len(l.Topics) > i {
				topics[i] = append(topics[i], l.Topics[i])
			}
		}
		var want []string
		for n := from; n <= to; n++ {
			for _, l := range perBlock[n] {
				ok := (len(address) == 0 || slices.Contains(address, l.Address)) && len(topics) <= len(l.Topics)
				for i := range topics {
					ok = ok && (len(topics[i]) == 0 || slices.Contains(topics[i], l.Topics[i]))
				}
				if ok {
					want = append(want, l.raw)
				}
			}
		}
		filter, err := json.Marshal(map[string]any{"fromBlock": fmt.Sprintf("0x%x", from), "toBlock": fmt.Sprintf("0x%x", to), "address": address, "topics": topics})
		if err != nil {
			t.Fatal(err)
		}
		if got := call("eth_getLogs", "["+string(filter)+"]"); got != "["+strings.Join(want, ",")+"]" {
			t.Fatalf("%s: %.500s, want %d logs", filter, got, len(want))
		}
		hits += len(want)
	}
	return hits
}
