package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/metric"
	"quorate/engine/source"
)

// lie is an answer with one thing changed.
type lie struct {
	path            string
	block, receipts []byte
}

// eachLie calls f with each way to change one member of an answer, made from the
// answer itself: each value in several ways, each member and element left out.
func eachLie(t testing.TB, block, receipts []byte, f func(lie)) {
	t.Helper()
	name, tree := "", any(nil)
	// In short each fourth lie is told; which, is by chance, as is the order of members.
	told, step := 0, torture.Pick(4, 1)
	emit := func(path string) {
		if told++; told%step != 0 {
			return
		}
		l := lie{path, block, receipts}
		if text := must(json.Marshal(tree)); name == "block" {
			l.block = text
		} else {
			l.receipts = text
		}
		f(l)
	}
	var walk func(path string, v any, set func(any))
	walk = func(path string, v any, set func(any)) {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				walk(path+"."+name, value, func(x any) { v[name] = x })
				delete(v, name)
				emit(path + "." + name + " left out")
				v[name] = value
			}
		case []any:
			for i, value := range v {
				set(v) // one lie at a time
				walk(fmt.Sprintf("%s[%d]", path, i), value, func(x any) { v[i] = x })
				set(slices.Delete(slices.Clone(v), i, i+1))
				emit(fmt.Sprintf("%s[%d] left out", path, i))
				set(slices.Insert(slices.Clone(v), i, value))
				emit(fmt.Sprintf("%s[%d] twice", path, i))
				if i > 0 {
					swapped := slices.Clone(v)
					swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
					if !reflect.DeepEqual(swapped, v) {
						set(swapped)
						emit(fmt.Sprintf("%s[%d] swapped", path, i))
					}
				}
			}
			set(v)
		default:
			for _, other := range others(v) {
				set(other)
				emit(fmt.Sprintf("%s %v for %.70v", path, other, v))
			}
			set(v)
		}
	}
	for _, part := range []struct {
		name string
		text []byte
	}{{"block", block}, {"receipts", receipts}} {
		if err := json.Unmarshal(part.text, &tree); err != nil {
			t.Fatal(err)
		}
		name = part.name
		walk(name, tree, func(x any) { tree = x })
	}
}

// others returns values in place of v.
func others(v any) (list []any) {
	switch v := v.(type) {
	case bool:
		return []any{!v}
	case nil:
		return []any{"0x1", "0x" + strings.Repeat("11", evm.AddressLen), "0x" + strings.Repeat("11", evm.HashLen)}
	case string:
		list = append(list, nil)
		flip := func(i int) string {
			to := byte('1')
			if v[i] == '1' {
				to = '2'
			}
			return v[:i] + string(to) + v[i+1:]
		}
		if len(v) > 2 {
			list = append(list, flip(len(v)-1), flip(2), flip(2+(len(v)-2)/2))
		}
		list = append(list, v+"11", v[:max(2, len(v)-2)]+"1")
		return slices.DeleteFunc(list, func(x any) bool { return x == any(v) })
	}
	return nil
}

// decodeBoth reads an answer and checks it.
func decodeBoth(l lie, number uint64, c *checker) (*evm.Block, error) {
	b, err := decodeBlock(l.block, number, evm.Hash(slices.Repeat([]byte{0xaa}, 32)), c)
	if err == nil {
		err = decodeReceipts(b, l.receipts, c)
	}
	return b, err
}

func strict() *checker {
	return newChecker(VerifyFull, metric.NewSet(), slog.New(slog.DiscardHandler), nil)
}

// upgrades are headers of each upgrade, of the C-Chain and of L1s.
func upgrades() map[string]consensus.Header {
	list := map[string]consensus.Header{}
	for _, coin := range []bool{true, false} {
		last := newMade(evm.Hash{3}, 7).header
		name := "C-Chain"
		if last.HasExtData = coin; !coin {
			name, last.ExtDataGasUsed = "L1", nil
		}
		list[name+" now"] = last
		fortuna := last
		fortuna.TimeMilli, fortuna.MinDelayExcess = nil, nil
		list[name+" before milliseconds"] = fortuna
		durango := fortuna
		durango.BlobGasUsed, durango.ExcessBlobGas, durango.ParentBeaconRoot = nil, nil, nil
		list[name+" before Cancun"] = durango
		london := durango
		london.ExtDataGasUsed, london.BlockGasCost = nil, nil
		list[name+" with a base fee only"] = london
		first := london
		first.BaseFee = nil
		list[name+" first"] = first
	}
	return list
}

// unread are members of nodes' answers that nothing is made of: what is said there
// cannot do harm.
var unread = []string{".size", ".totalDifficulty", ".uncles"}

// Whatever a node changes in its answer about a block is refused, or changes
// nothing. Types and members that are not known make a block unverified: see
// TestUnknown.
func TestHostile(t *testing.T) {
	t.Parallel()
	total := 0
	for name, h := range upgrades() {
		t.Run(name, func(t *testing.T) {
			m := variety(h)
			if name != "C-Chain now" && torture.Pick(1, 0) == 1 { // all else is as there
				m = &made{header: h}
				m.seal()
			}
			block, receipts := m.json()
			honest := must(decodeBoth(lie{"", block, receipts}, 7, strict()))
			m.compare(t, must(decodeBoth(lie{"", block, receipts}, 7, strict())))
			refused := 0
			eachLie(t, block, receipts, func(l lie) {
				total++
				got, err := decodeBoth(l, 7, strict())
				switch {
				case err != nil:
					refused++
				case got.Unverified != "":
					t.Errorf("%s: unverified: %s", l.path, got.Unverified)
				case !reflect.DeepEqual(got, honest):
					t.Errorf("%s: believed: %+v", l.path, got)
				case strings.Contains(l.path, " for ") && !strings.Contains(l.path, "<nil> for ") && !harmless(l.path):
					t.Errorf("%s: not noticed", l.path)
				}
			})
			t.Logf("%d lies refused", refused)
		})
	}
	if total < torture.Pick(1_000, 4_000) {
		t.Errorf("%d lies only", total)
	}
}

func harmless(path string) bool {
	return slices.ContainsFunc(unread, func(s string) bool { return strings.Contains(path, "block"+s) })
}

// compare fails unless what was read is what was made.
func (m *made) compare(t *testing.T, got *evm.Block) {
	t.Helper()
	want := m.block
	want.Atomic = got.Atomic
	if len(want.Txs) != len(got.Txs) {
		t.Fatalf("%d transactions, want %d", len(got.Txs), len(want.Txs))
	}
	for i := range want.Txs {
		w, g := want.Txs[i], got.Txs[i]
		if len(w.Input)+len(g.Input) == 0 {
			w.Input, g.Input = nil, nil
		}
		for k := range w.Logs {
			if len(w.Logs[k].Data)+len(g.Logs[k].Data) == 0 {
				w.Logs[k].Data, g.Logs[k].Data = nil, nil
			}
			if len(w.Logs[k].Topics)+len(g.Logs[k].Topics) == 0 {
				w.Logs[k].Topics, g.Logs[k].Topics = nil, nil
			}
		}
		if !reflect.DeepEqual(w, g) {
			t.Errorf("transaction %d:\n got %+v\nwant %+v", i, g, w)
		}
	}
	if want.Unverified != got.Unverified || got.Foreign != nil {
		t.Errorf("unverified: %s", got.Unverified)
	}
	want.Txs, got = nil, &evm.Block{
		Number: got.Number, Hash: got.Hash, Parent: got.Parent, TimeMilli: got.TimeMilli, GasLimit: got.GasLimit, GasUsed: got.GasUsed,
		BaseFee: got.BaseFee, Miner: got.Miner, Size: got.Size, Atomic: got.Atomic, Header: got.Header, ExtData: got.ExtData,
	}
	if !reflect.DeepEqual(&want, got) {
		t.Errorf("block:\n got %+v\nwant %+v", got, want)
	}
}

// A node that lies about a block that another one knows is passed over and counted.
func TestLiarIsPassedOver(t *testing.T) {
	t.Parallel()
	liar, honest := newNode(t), newNode(t)
	liar.replace("eth_getBlockReceipts", `"data":"0x0000000000000000000000000000000000000000000000000000000000000`, `"data":"0x1000000000000000000000000000000000000000000000000000000000000`)
	metrics := metric.NewSet()
	both := func(cfg *Config, below *source.Config) {
		cfg.Metrics = metrics
		below.Nodes = append(below.Nodes, nodeAt(t, honest.URL))
	}
	if got, err := liar.client(t, both).Fetch(t.Context(), 0, 3); err != nil || len(got) != 4 {
		t.Errorf("%d blocks, %v", len(got), err)
	}
	if n := metrics.Value("quorate_evm_source_mismatches_total"); n != 1 {
		t.Errorf("%v mismatches", n)
	}
	got, err := liar.client(t, nil).Fetch(t.Context(), 0, 3)
	var which *consensus.Mismatch
	if len(got) != 3 || !errors.Is(err, ErrFalse) || !errors.Is(err, ErrBadAnswer) || !errors.As(err, &which) ||
		which.Field != "receiptsRoot" || which.Number != 3 || !strings.Contains(err.Error(), strings.TrimPrefix(liar.URL, "http://")) {
		t.Errorf("%d blocks, %v", len(got), err)
	}
}

// alone asks one node for a block that it makes up.
func alone(t *testing.T, block, receipts []byte) *Client {
	t.Helper()
	c, err := New(Config{Path: "/", AVAXAssetID: evm.Hash(slices.Repeat([]byte{0xaa}, 32)), Node: nodeFunc(func(calls []source.BatchCall) error {
		for i, text := range [][]byte{block, receipts} {
			if err := calls[i].Decode(text); err != nil {
				return fmt.Errorf("%w: %w", source.ErrBadAnswer, err)
			}
		}
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type nodeFunc func(calls []source.BatchCall) error

func (f nodeFunc) Call(context.Context, string, string, any, any) error { return errors.ErrUnsupported }
func (f nodeFunc) CallBatch(_ context.Context, _ string, calls []source.BatchCall) error {
	return f(calls)
}
func (f nodeFunc) Nodes() []source.Node                   { return make([]source.Node, 1) }
func (f nodeFunc) Fit(choice source.Choice) []source.Node { return f.Nodes() }
func (f nodeFunc) CallBatchOf(_ context.Context, _ string, calls []source.BatchCall, choice source.Choice) error {
	if err := f(calls); err != nil || choice.Check == nil {
		return err
	}
	return choice.Check(source.Node{}, calls)
}

// Members that an upgrade appended to headers are found to be just that.
func TestLaterUpgrade(t *testing.T) {
	t.Parallel()
	m := variety(newMade(evm.Hash{3}, 7).header)
	m.header.Further = [][]byte{consensus.AppendString(nil, []byte{1, 2}), consensus.AppendString(nil, make([]byte, 32)), {0x80}}
	m.extra = map[string]any{"aRoot": "0x" + strings.Repeat("00", 32), "zNumber": "0x102", "flags": "0x0"}
	block, receipts := m.seal().json()
	got, err := alone(t, block, receipts).Fetch(t.Context(), 7, 7)
	if err != nil || got[0].Unverified != "" || got[0].Foreign != nil {
		t.Fatal(got, err)
	}
	m.compare(t, got[0])
}

// An upgrade may give the roots of its headers another meaning, as Helicon did, and what
// receipts say of gas and prices. Blocks of such a one cannot be checked, and are no lies,
// while nodes speak of an upgrade that is unknown here, or where headers have members that
// are.
func TestOtherRules(t *testing.T) {
	t.Parallel()
	needs := ""
	for name, change := range map[string]func(m *made){
		"receipts root": func(m *made) { m.header.ReceiptsRoot[0]++ },
		"filter":        func(m *made) { m.header.Bloom[0]++ },
		"gas":           func(m *made) { m.header.GasUsed++ },
	} {
		for _, further := range []bool{false, true} {
			m := variety(newMade(evm.Hash{3}, 7).header)
			m.seal()
			if further {
				m.header.Further = [][]byte{{0x80}}
				m.extra = map[string]any{"flags": "0x0"}
			}
			change(m)
			m.block.Header = m.header.Append(nil)
			m.block.Hash = evm.Keccak(m.block.Header)
			block, receipts := m.json()
			client := alone(t, block, receipts)
			client.check.needs = func() string { return needs }
			if needs = ""; !further {
				if got, err := client.Fetch(t.Context(), 7, 7); !errors.Is(err, ErrBadAnswer) {
					t.Errorf("%s: %v, %v", name, got, err)
				}
				needs = "upgrade avogadro"
			}
			got, err := client.Fetch(t.Context(), 7, 7)
			if err != nil { // a reason is believed when the same was answered twice
				got, err = client.Fetch(t.Context(), 7, 7)
			}
			if err != nil || got[0].Unverified == "" || got[0].Foreign == nil || len(got[0].Txs) != len(m.block.Txs) {
				t.Errorf("%s, further members %v: %+v, %v", name, further, got, err)
			}
		}
	}
}

// What is not known stops no chain: it is kept as it came and served as unverified.
func TestUnknown(t *testing.T) {
	t.Parallel()
	odd := variety(newMade(evm.Hash{3}, 7).header)
	odd.header.Further = [][]byte{{0xc1, 1}} // a list
	odd.extra = map[string]any{"requests": []any{"0x1"}}
	block, receipts := odd.seal().json()
	kind := variety(newMade(evm.Hash{3}, 7).header)
	kind.block.Txs[4].Type = 0x7e // its root is of another encoding: only the receipts show it
	kind.header.ReceiptsRoot, kind.header.Bloom = consensus.Receipts(kind.block.Txs, nil)
	kind.block.Header = kind.header.Append(nil)
	kind.block.Hash = evm.Keccak(kind.block.Header)
	kindBlock, kindReceipts := kind.json()
	for name, c := range map[string]struct {
		block, receipts []byte
		reason          string
		doubted         bool
		header          bool
	}{
		"member": {block, receipts, "requests", true, false},
		"type":   {kindBlock, kindReceipts, "type 126", false, true},
		"lie": {
			[]byte(strings.ReplaceAll(string(kindBlock), `"type":"0x7e"`, `"type":"0x7d"`)),
			[]byte(strings.ReplaceAll(string(kindReceipts), `"type":"0x7e"`, `"type":"0x7d"`)), "type 125", true, true,
		},
	} {
		client := alone(t, c.block, c.receipts)
		if c.doubted {
			if got, err := client.Fetch(t.Context(), 7, 7); err == nil || !errors.Is(err, ErrFalse) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%s: believed at once: %v, %v", name, got, err)
			}
		}
		got, err := client.Fetch(t.Context(), 7, 7)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b := got[0]
		if !strings.Contains(b.Unverified, c.reason) || (b.Header != nil) != c.header || len(b.Txs) != 11 {
			t.Errorf("%s: %+v", name, b)
		}
		var kept struct{ Block, Receipts json.RawMessage }
		if err := json.Unmarshal(b.Foreign, &kept); err != nil || string(kept.Block) != string(c.block) || string(kept.Receipts) != string(c.receipts) {
			t.Errorf("%s: kept %s, %v", name, b.Foreign, err)
		}
		b.Txs[3].Calls, b.Txs[3].Failure = []evm.Call{{Depth: 1}}, &evm.Failure{Error: "out of gas"} // as if it was traced
		if again, err := client.Reread(b); err != nil || again.Unverified != b.Unverified || again.Hash != b.Hash ||
			len(again.Txs[3].Calls) != 1 || again.Txs[3].Failure != b.Txs[3].Failure {
			t.Errorf("%s: read again it is %+v, %v", name, again, err)
		}
	}
}

// An unknown member hides no lie about a part of the block.
func TestUnknownHidesNothing(t *testing.T) {
	t.Parallel()
	m := variety(newMade(evm.Hash{3}, 7).header)
	m.block.Txs[3].Value = *uint256.NewInt(12345) // not what was signed
	m.extra = map[string]any{"requests": []any{"0x1"}}
	block, receipts := m.json()
	c := alone(t, block, receipts)
	for range 3 {
		if got, err := c.Fetch(t.Context(), 7, 7); err == nil {
			t.Fatalf("believed: %+v", got)
		}
	}
}

// A false sender is found by the sample too, soon.
func TestFalseSender(t *testing.T) {
	t.Parallel()
	m := bigAfter(evm.Hash{3}, 7, 20)
	for i := range m.block.Txs {
		m.block.Txs[i].From[0] ^= 1
	}
	block, receipts := m.json()
	c := newChecker(VerifySample, metric.NewSet(), slog.New(slog.DiscardHandler), nil)
	if _, err := decodeBoth(lie{"", block, receipts}, 7, c); !errors.Is(err, ErrFalse) || !strings.Contains(err.Error(), "from is") {
		t.Errorf("a chain's head: %v", err)
	}
	found := false
	for i := 0; i < 1000 && !found; i++ {
		c.mu.Lock()
		c.saved, c.last = 0, time.Now() // as when there is no time left
		c.mu.Unlock()
		_, err := decodeBoth(lie{"", block, receipts}, 7, c)
		found = errors.Is(err, ErrFalse)
	}
	if !found {
		t.Error("not found in 1000 blocks")
	}
}

// The sample follows the time: all senders of a usual head, few while catching up.
func TestSample(t *testing.T) {
	t.Parallel()
	c := newChecker(VerifySample, metric.NewSet(), slog.New(slog.DiscardHandler), nil)
	now := time.Unix(1, 0)
	sampled := func(n int, every time.Duration, blocks int) float64 {
		total := 0.0
		for range blocks {
			now = now.Add(every)
			part := 1 / float64(c.oneOf(n, now))
			total += part
			c.saved -= time.Duration(part * float64(n) * float64(senderCost))
		}
		return total / float64(blocks)
	}
	if part := sampled(300, 500*time.Millisecond, 1000); part < 0.99 {
		t.Errorf("600 transactions a second: %v of the senders", part)
	}
	part := sampled(100, 5*time.Millisecond, 10_000)
	if cost := part * 20_000 * senderCost.Seconds(); part < 1.0/leastSample || cost > 1.5*senderShare {
		t.Errorf("20,000 transactions a second: %v of the senders, %v of a processor", part, cost)
	}
}
