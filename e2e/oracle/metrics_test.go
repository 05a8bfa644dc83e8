package oracle

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
)

var (
	alice, bob, carol, coin = common.Address{1}, common.Address{2}, common.Address{3}, common.Address{9}
	nobody                  common.Address
)

// handTx is a transaction of a chain made by hand. Without to it makes a contract.
func handTx(from common.Address, to *common.Address, gas uint64, price int64, failed bool) *Tx {
	r := &rawReceipt{GasUsed: hexutil.Uint64(gas), GasPrice: (*hexutil.Big)(big.NewInt(price)), Status: 1}
	if failed {
		r.Status = 0
	}
	return &Tx{rawTx: &rawTx{From: from, To: to}, receipt: r}
}

// handBlock adds a block; its gas is extra and that of its transactions.
func (c *Chain) handBlock(milli, extra uint64, txs ...*Tx) {
	at := hexutil.Uint64(milli)
	b := &Block{rawBlock: &rawBlock{Number: hexutil.Uint64(len(c.Blocks)), Time: at / 1000, TimeMilli: &at, GasUsed: hexutil.Uint64(extra)}}
	for i, tx := range txs {
		tx.Block, tx.Index = b, i
		b.GasUsed += tx.receipt.GasUsed
	}
	b.Txs = txs
	c.Blocks, c.Txs = append(c.Blocks, b), append(c.Txs, txs...)
}

// Milliseconds of the first moments of some days.
const (
	saturday = 1717200000_000 // 1 June 2024
	sunday   = 1717286400_000
	monday   = 1717372800_000
	noon     = 12 * 60 * 60 * 1000
)

// handChains are a chain whose metrics are easily worked out by hand, and one
// block of another that is not traced.
func handChains() (traced, untraced *Chain) {
	c := &Chain{Traced: true}
	c.handBlock(0, 0)
	c.handBlock(saturday-2000, 5, handTx(alice, &bob, 10, 3, false))
	c.Blocks[1].TimeMilli = nil
	c.handBlock(saturday-1000, 0, handTx(alice, nil, 20, 5, false))
	mint := handTx(carol, &coin, 8, 4, false)
	mint.Transfers = []*Transfer{{Kind: ERC20, Token: coin, To: alice, Value: big.NewInt(50)}}
	made := common.Address{7}
	mint.Calls = []*Call{{Type: "CREATE", From: coin, To: &made}, {Type: "CREATE2", From: bob, To: &made, Reverted: true},
		{Type: "CREATE2", From: bob}, {Type: "CALL", From: bob, To: &made}}
	c.handBlock(saturday, 0, handTx(bob, &carol, 7, 4, true), mint)
	c.handBlock(saturday-500, 0, handTx(alice, &bob, 1, 5, false)) // goes back, so it is at the time of the one before
	c.handBlock(saturday+500, 0)
	c.handBlock(monday+noon+250, 0, handTx(carol, nil, 9, 10, true))
	u := &Chain{}
	u.handBlock(0, 0)
	u.handBlock(sunday+noon, 0, handTx(common.Address{4}, &alice, 100, 7, false))
	return c, u
}

// texts writes a series down, newest first.
func texts(points []Point) string {
	var list []string
	for _, p := range points {
		list = append(list, p.Value.RatString())
	}
	return strings.Join(list, " ")
}

func TestMetricsOfAChain(t *testing.T) {
	t.Parallel()
	c, u := handChains()
	one, both := NewMetrics(c), NewMetrics(c, u)
	f := func(m *Metrics, name, interval, want string) {
		t.Helper()
		points, known := m.Points(name, interval)
		if got := texts(points); !known || got != want {
			t.Errorf("%s by the %s: %s (known: %v), want %s", name, interval, got, known, want)
		}
	}
	f(one, "txCount", "day", "1 0 3 2")
	f(one, "txCount", "week", "1 5")
	f(one, "txCount", "month", "4 2")
	f(one, "txCount", "hour", "1"+strings.Repeat(" 0", 59)+" 3 2")
	f(one, "activeAddresses", "day", "1 0 5 2")
	f(one, "activeAddresses", "week", "1 5")
	f(one, "activeSenders", "day", "1 0 4 1")
	f(one, "cumulativeTxCount", "day", "6 5 5 2")
	f(one, "cumulativeAddresses", "day", "5 5 5 2")
	f(one, "contracts", "day", "0 0 1 1")
	f(one, "deployers", "day", "0 0 1 1")
	f(one, "cumulativeContracts", "day", "2 2 1 0")
	f(one, "cumulativeDeployers", "day", "2 2 2 1")
	f(one, "gasUsed", "day", "9 0 16 30")
	f(one, "feesPaid", "day", "90 0 65 130")
	f(one, "feesPaid", "month", "155 130")
	f(one, "avgGasPrice", "day", "10 0 13/3 4")
	f(one, "maxGasPrice", "day", "10 0 5 5")
	f(one, "avgTps", "day", "1/216000 0 3 1")
	f(one, "avgGps", "day", "1/24000 0 16 20")
	f(one, "maxTps", "day", "1/216000 0 3 1")
	f(one, "maxGps", "day", "1/24000 0 16 20")

	f(both, "txCount", "day", "1 1 3 2")
	f(both, "cumulativeTxCount", "day", "7 6 5 2")
	f(both, "cumulativeAddresses", "day", "7 7 5 2")
	f(both, "contracts", "day", "0 0 1 1")
	f(both, "avgGasPrice", "day", "10 7 13/3 4")
	f(both, "maxGasPrice", "day", "10 7 5 5")
	f(both, "avgTps", "day", "1/216000 0 3 1")
	f(NewMetrics(u), "txCount", "day", "1")
	f(NewMetrics(u), "maxTps", "day", "0")
	f(NewMetrics(), "txCount", "day", "")
	f(NewMetrics(), "contracts", "day", "")
	genesis := &Chain{Blocks: c.Blocks[:1]}
	f(NewMetrics(genesis), "txCount", "day", "")
	if points, known := NewMetrics(u).Points("contracts", "day"); known {
		t.Errorf("without traces: %v", points)
	}
}

// TestPointTimes: points begin at their hour, day, Monday or month.
func TestPointTimes(t *testing.T) {
	t.Parallel()
	c, _ := handChains()
	for interval, want := range map[string]string{
		"hour": "1717416000 1717196400", "day": "1717372800 1717113600", "week": "1717372800 1716768000", "month": "1717200000 1714521600",
	} {
		points, _ := NewMetrics(c).Points("txCount", interval)
		if got := fmt.Sprint(points[0].Time, " ", points[len(points)-1].Time); got != want {
			t.Errorf("%s: %s, want %s", interval, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	f := func(text, v string, ok bool) {
		t.Helper()
		r, _ := new(big.Rat).SetString(v)
		if isNumber(text, r) != ok {
			t.Errorf("%s for %s: not %v, it is written %s", text, v, ok, numberText(r))
		}
	}
	const long = "123456789012345678901234567890"
	f(long, long, true)
	f("123456789012345680000000000000", long, false)
	f("1.2345678901234568e+29", long, false)
	f("2", "2", true)
	f("2.0", "2", false)
	f("0.3333333333333333", "1/3", true)
	f("3.333333333333333e-1", "1/3", true)
	f("0.33333333333333331", "1/3", false) // the same float64, but not its shortest text
	f("0.333333333333333", "1/3", false)
	f("4.62963498e-06", "4/863999", false)
	f("25000000000.333332", "75000000001/3", true)
	f("0", "1/3", false)
}

// TestAbove: who held more than a threshold in a frame, and before it.
func TestAbove(t *testing.T) {
	t.Parallel()
	history := []had{{1, 100, big.NewInt(5)}, {4, 200, big.NewInt(50)}, {9, 300, new(big.Int)}}
	f := func(threshold, start, end int64, want bool) {
		t.Helper()
		if got := above(history, big.NewInt(threshold), frame{start, end}); got != want {
			t.Errorf("more than %d from %d to %d: %v", threshold, start, end, got)
		}
	}
	f(0, -1, -1, true)
	f(49, -1, -1, true)
	f(50, -1, -1, false)
	f(4, 101, 102, true) // held from before
	f(5, -1, 200, false)
	f(5, -1, 201, true)
	f(5, 300, -1, true) // held until then
	f(0, 301, -1, false)
	f(0, -1, 100, false)
	f(0, 200, 200, false)
	f(0, 250, 150, false)
}

// TestHolders: what somebody had within a block does not count, nobody holds nothing.
func TestHolders(t *testing.T) {
	t.Parallel()
	c := &Chain{}
	c.handBlock(0, 0)
	tx := handTx(alice, &coin, 1, 1, false)
	move := func(from, to common.Address, v int64) *Transfer {
		return &Transfer{Kind: ERC20, Token: coin, From: from, To: to, Value: big.NewInt(v)}
	}
	tx.Transfers = []*Transfer{move(nobody, alice, 100), move(alice, bob, 60), move(bob, carol, 60), {Kind: ERC721, Token: coin, To: bob, Value: big.NewInt(1)}}
	c.handBlock(1500, 0, tx)
	next := handTx(alice, &coin, 1, 1, false)
	next.Transfers = []*Transfer{move(alice, alice, 40), move(alice, nobody, 40), {Kind: ERC20, Token: bob, To: bob, Value: big.NewInt(1)}}
	c.handBlock(2500, 0, next)
	for a, want := range map[common.Address]string{alice: "1@1:40 2@2:0", bob: "1@1:0", carol: "1@1:60", nobody: ""} {
		var got []string
		for _, h := range c.holders(coin)[a] {
			got = append(got, fmt.Sprintf("%d@%d:%s", h.height, h.since, h.amount))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%x: %v, want %s", a[0], got, want)
		}
	}
}
