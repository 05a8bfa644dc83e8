package evmchain

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"quorate/engine/chain/evm"
)

// recordedBlock is a block of a real network that crosses Helicon.
type recordedBlock struct {
	Number    uint64
	RawHeader string
	Block     struct {
		Hash, ParentHash, StateRoot, TransactionsRoot, ReceiptsRoot, LogsBloom, ExtraData, ExtDataHash string
		GasLimit, GasUsed, BaseFeePerGas, TimestampMilliseconds, MinDelayExcess                        string
		ExtDataGasUsed, TargetExponent, MinPriceExponent                                               string
		SettledHeight, SettledGasUnix, SettledGasNumerator, SettledExcess                              string
		Transactions                                                                                   []struct{ Type, Gas, MaxPriorityFeePerGas, MaxFeePerGas string }
	}
	Receipts []struct{ GasUsed, EffectiveGasPrice string }
}

func recorded(t *testing.T) (all []recordedBlock) {
	t.Helper()
	f, err := os.Open("../../engine/source/evm/testdata/helicon/c-blocks.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var b recordedBlock
		if err := json.Unmarshal(lines.Bytes(), &b); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func unhex(t *testing.T, s string, to []byte) {
	t.Helper()
	if n, err := hex.Decode(to, []byte(strings.TrimPrefix(s, "0x"))); err != nil || n != len(to) {
		t.Fatalf("%q: %v", s, err)
	}
}

func quantityOf(t *testing.T, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// header is the recorded header in the form that the model has.
func (r *recordedBlock) header(t *testing.T) *header {
	b := &r.Block
	h := &header{
		number: r.Number, gasLimit: quantityOf(t, b.GasLimit), gasUsed: quantityOf(t, b.GasUsed), hasExtData: true,
		baseFee: quantityOf(t, b.BaseFeePerGas), timeMilli: quantityOf(t, b.TimestampMilliseconds),
		minDelay: quantityOf(t, b.MinDelayExcess), extDataGasUsed: quantityOf(t, b.ExtDataGasUsed),
		extra: make([]byte, len(b.ExtraData)/2-1),
	}
	for _, m := range []struct {
		text string
		to   []byte
	}{
		{b.ParentHash, h.parent[:]}, {b.StateRoot, h.root[:]}, {b.TransactionsRoot, h.txRoot[:]}, {b.ReceiptsRoot, h.receipts[:]},
		{b.LogsBloom, h.bloom[:]}, {b.ExtraData, h.extra}, {b.ExtDataHash, h.extDataHash[:]}, {b.Hash, h.hash[:]},
	} {
		unhex(t, m.text, m.to)
	}
	if b.SettledHeight != "" {
		h.late = &late{
			target: quantityOf(t, b.TargetExponent), least: quantityOf(t, b.MinPriceExponent), settled: quantityOf(t, b.SettledHeight),
			unix: quantityOf(t, b.SettledGasUnix), part: quantityOf(t, b.SettledGasNumerator), excess: quantityOf(t, b.SettledExcess),
		}
	}
	return h
}

// TestRecordedHeaders: the model encodes headers as a real network does.
func TestRecordedHeaders(t *testing.T) {
	t.Parallel()
	kinds := map[bool]int{}
	for _, r := range recorded(t)[1:] { // the genesis block's is of another form
		h := r.header(t)
		raw := h.encode()
		if got := evm.Keccak(raw); "0x"+hex.EncodeToString(raw) != r.RawHeader || got != h.hash {
			t.Errorf("block %d: hash %s, want %s", r.Number, got, h.hash)
		}
		kinds[h.late != nil]++
	}
	if kinds[false] != 69 || kinds[true] != 167 {
		t.Errorf("headers by kind: %v", kinds)
	}
}

// TestRecordedClock: the model's gas clock gives the base fees in a real network's
// headers, those that its transactions paid, and the clocks that headers settle.
func TestRecordedClock(t *testing.T) {
	t.Parallel()
	all := recorded(t)
	clocks := map[uint64]gasClock{}
	above, paid := 0, 0
	for n := 1; n < len(all); n++ {
		h := all[n].header(t)
		if h.late == nil {
			clocks[h.number] = clockAt(h.timeMilli, grown(leastTarget, 0, targetConversion), h.baseFee)
			continue
		}
		target, least := grown(leastTarget, h.late.target, targetConversion), grown(1, h.late.least, priceConversion)
		from := clocks[h.late.settled]
		if from.unix != h.late.unix || from.part != h.late.part || from.excess != h.late.excess {
			t.Fatalf("block %d: the clock after block %d is at %+v, want %+v", n, h.late.settled, from, *h.late)
		}
		for k := h.late.settled + 1; k < h.number; k++ {
			from.before(all[k].header(t).timeMilli)
			from.after(quantityOf(t, all[k].Block.GasUsed), target, least)
		}
		from.before(h.timeMilli)
		now := clocks[h.number-1]
		now.before(h.timeMilli)
		if from.price() != h.baseFee || now.price() > h.baseFee {
			t.Errorf("block %d: base fees %d and %d, the header has %d", n, from.price(), now.price(), h.baseFee)
		}
		if now.price() < h.baseFee {
			above++
		}
		paid += all[n].prices(t, now.price())
		now.after(all[n].used(t), target, least)
		clocks[h.number] = now
	}
	if above == 0 || paid == 0 {
		t.Errorf("%d headers above, %d transactions by the base fee", above, paid)
	}
}

// prices checks what transactions paid, and returns how many paid by the base fee.
func (r *recordedBlock) prices(t *testing.T, base uint64) (n int) {
	for i, x := range r.Block.Transactions {
		if x.Type != "0x2" {
			continue
		}
		n++
		want := min(quantityOf(t, x.MaxFeePerGas), base+quantityOf(t, x.MaxPriorityFeePerGas))
		if got := quantityOf(t, r.Receipts[i].EffectiveGasPrice); got != want {
			t.Errorf("block %d: transaction %d paid %d, want %d", r.Number, i, got, want)
		}
	}
	return n
}

// used is the gas of a block: what its header has beyond the limits of its transactions
// is that of atomic ones.
func (r *recordedBlock) used(t *testing.T) uint64 {
	used := quantityOf(t, r.Block.GasUsed)
	for i, x := range r.Block.Transactions {
		used -= quantityOf(t, x.Gas) - quantityOf(t, r.Receipts[i].GasUsed)
	}
	return used
}
