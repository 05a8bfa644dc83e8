package settle

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// The recorded network: the last synchronous block, the first of the new kind, the
// last one, and the last one that is settled. See testdata/README.md.
const (
	transition = 69
	tip        = 236
	lastEnd    = 233
)

// world is the recorded chain from the transition block on.
type world []*evm.Block

func (w world) block(n uint64) *evm.Block { return w[n-transition] }

func (w world) header(t testing.TB, n uint64) *consensus.Header {
	t.Helper()
	return parse(t, w.block(n))
}

func parse(t testing.TB, b *evm.Block) *consensus.Header {
	t.Helper()
	h := new(consensus.Header)
	if err := h.Parse(b.Header); err != nil {
		t.Fatal(err)
	}
	return h
}

// settles returns the blocks that block n settles.
func (w world) settles(t testing.TB, n uint64) []*evm.Block {
	t.Helper()
	return w[Height(w.header(t, n-1))-transition+1 : Height(w.header(t, n))-transition+1]
}

// clock returns the clock after block n, as a header states it; nil if none does.
func (w world) clock(t testing.TB, n uint64) *Clock {
	t.Helper()
	for m := n + 1; m <= tip; m++ {
		if h := w.header(t, m); Height(h) == n {
			c := After(w.header(t, n), h)
			return &c
		}
	}
	return nil
}

func fromHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fromNumber(t testing.TB, s string) *uint256.Int {
	t.Helper()
	v, err := uint256.FromHex(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func recorded(t testing.TB) (w world) {
	t.Helper()
	f, err := os.Open("testdata/recorded.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		w = append(w, recordedBlock(t, lines.Bytes()))
	}
	if err := lines.Err(); err != nil || len(w) != tip-transition+1 {
		t.Fatalf("%d blocks, %v", len(w), err)
	}
	return w
}

func recordedBlock(t testing.TB, line []byte) *evm.Block {
	t.Helper()
	var r struct {
		Hash, Header, ExtData string
		Transactions          []string
		Receipts              []struct {
			Status, GasUsed, EffectiveGasPrice string
			Logs                               []struct {
				Address, Data string
				Topics        []string
			}
		}
	}
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	b := &evm.Block{ExtData: fromHex(t, r.ExtData), Txs: make([]evm.Tx, len(r.Transactions))}
	if err := consensus.DecodeHeader(fromHex(t, r.Header), b); err != nil || b.Hash.String() != r.Hash {
		t.Fatalf("block %d has hash %s, not %s, %v", b.Number, b.Hash, r.Hash, err)
	}
	for i := range b.Txs {
		tx, receipt := &b.Txs[i], &r.Receipts[i]
		if err := consensus.DecodeTx(fromHex(t, r.Transactions[i]), tx); err != nil {
			t.Fatal(err)
		}
		tx.Failed, tx.GasUsed = receipt.Status == "0x0", fromNumber(t, receipt.GasUsed).Uint64()
		tx.GasPrice = *fromNumber(t, receipt.EffectiveGasPrice)
		for _, l := range receipt.Logs {
			entry := evm.Log{Address: evm.Address(fromHex(t, l.Address)), Data: fromHex(t, l.Data)}
			for _, topic := range l.Topics {
				entry.Topics = append(entry.Topics, evm.Hash(fromHex(t, topic)))
			}
			tx.Logs = append(tx.Logs, entry)
		}
	}
	return b
}

// Every recorded block fits: by itself, its range the header that settles it, and
// the clock each header's.
func TestRecorded(t *testing.T) {
	t.Parallel()
	w := recorded(t)
	if !Synchronous(w.header(t, transition)) || Synchronous(w.header(t, transition+1)) {
		t.Error("the transition block is the last synchronous one")
	}
	clock := Start(w.header(t, transition))
	if stated := w.clock(t, transition); clock != *stated {
		t.Errorf("starts with %+v, not %+v", clock, stated)
	}
	ranges := map[int]int{}
	for n := uint64(transition + 1); n <= tip; n++ {
		h := w.header(t, n)
		if err := h.CheckTxs(w.block(n), true); err != nil {
			t.Error(err)
		}
		if err := CheckExecuted(h, w.block(n)); err != nil {
			t.Error(err)
		}
		settled := w.settles(t, n)
		ranges[len(settled)]++
		if err := CheckSettled(w.header(t, n-1), h, settled, &clock); err != nil {
			t.Fatal(err)
		}
		if err := CheckSettled(w.header(t, n-1), h, settled, nil); err != nil {
			t.Error(err)
		}
		if end := w.clock(t, Height(h)); clock != *end {
			t.Errorf("block %d: clock %+v, stated %+v", n, clock, end)
		}
	}
	if ranges[0] == 0 || ranges[1] == 0 || ranges[5] == 0 {
		t.Errorf("ranges by length: %v", ranges)
	}
}

// One clock runs from the transition block to the tip, past the blocks that nothing
// settles, and its base fee is what the transactions paid.
func TestRecordedBaseFees(t *testing.T) {
	t.Parallel()
	w := recorded(t)
	clock := Start(w.header(t, transition))
	below, shown := 0, 0
	for n := uint64(transition + 1); n <= tip; n++ {
		h, b := w.header(t, n), w.block(n)
		least, most, err := BaseFees(h, b)
		if err != nil {
			t.Fatal(err)
		}
		fee, err := clock.Execute(h, b)
		if err != nil {
			t.Fatal(err)
		}
		got := uint256.NewInt(fee)
		if got.Lt(&least) || got.Gt(&most) {
			t.Errorf("block %d: base fee %d, the receipts allow %s to %s", n, fee, least.Dec(), most.Dec())
		}
		if least == most {
			shown++
		}
		if got.Lt(h.BaseFee) {
			below++
		}
	}
	if below < 20 || shown < 100 {
		t.Errorf("%d blocks below their headers' base fee, %d that show theirs", below, shown)
	}
}

// What headers reserve is the clock of the last settled block run with the gas that
// the blocks since then reserve: their own base fees, to the wei.
func TestRecordedReserves(t *testing.T) {
	t.Parallel()
	w := recorded(t)
	for n := uint64(transition + 1); n <= tip; n++ {
		h := w.header(t, n)
		clock := *w.clock(t, Height(h))
		for m := Height(h) + 1; m < n; m++ {
			before := w.header(t, m)
			clock.Begin(before)
			clock.End(before, before.GasUsed)
		}
		clock.Begin(h)
		if fee := clock.BaseFee(); h.BaseFee.Uint64() != fee {
			t.Errorf("block %d has base fee %s, reserved is %d", n, h.BaseFee, fee)
		}
	}
}
