package rollup_test

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"testing/quick"

	"github.com/holiman/uint256"

	"quorate/rollup"
)

func printed(num *big.Int, den uint64) string {
	v := rollup.Value{Num: *uint256.MustFromBig(num), Den: den}
	text := string(v.Append([]byte("x")))
	if text[0] != 'x' {
		return "what was there is lost: " + text
	}
	return text[1:]
}

// What a JavaScript engine prints for the quotients; integers have all digits.
func TestValueText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		num  string
		den  uint64
		want string
	}{
		{"0", 1, "0"},
		{"0", 7, "0"},
		{"42", 1, "42"},
		{"42", 6, "7"},
		{"18446744073709551615", 1, "18446744073709551615"},
		{"18446744073709551616", 1, "18446744073709551616"},
		{"36893488147419103230", 2, "18446744073709551615"},
		{most256.String(), 1, most256.String()},
		{most256.String(), 5, new(big.Int).Div(most256, big.NewInt(5)).String()},
		{"1", 3, "0.3333333333333333"},
		{"2", 3, "0.6666666666666666"},
		{"10", 4, "2.5"},
		{"1", 10, "0.1"},
		{"1", 1_000_000, "0.000001"},
		{"1", 1_000_001, "9.99999000001e-7"},
		{"1", 2_000_000, "5e-7"},
		{"9999999", 10_000_000_000_000, "9.999999e-7"},
		{"1", 3_000_000, "3.3333333333333335e-7"},
		{"1", 10_000_000, "1e-7"},
		{"123456789", 1_000_000_000_000_000, "1.23456789e-7"},
		{"1", 10_000_000_000, "1e-10"},
		{"1", 18446744073709551615, "5.421010862427522e-20"},
		{"1000", 18446744073709551615, "5.421010862427522e-17"},
		{"9007199254740991", 2, "4503599627370495.5"},
		{"9007199254740991", 4, "2251799813685247.8"},
		{"9007199254740991", 9007199254740990, "1.0000000000000002"},
		{"9007199254740993", 9007199254740992, "1"}, // 2^53+1 itself is no float64
		{"9007199254740995", 2, "4503599627370498"}, // a tie
		{"27021597764222979", 2, "13510798882111490"},
		{"55340232221128660992", 3, "18446744073709553664"}, // an integer between two float64s
		{"55340232221128660993", 3, "18446744073709556000"},
		{"55340232221128660991", 3, "18446744073709552000"},
		{"199999999999999999999", 2, "100000000000000000000"},
		{"1999999999999999999999", 2, "1e+21"},
		{"3000000000000000000001", 2, "1.5e+21"},
		{"24691357802469135780246913578025", 2, "1.2345678901234567e+31"},
		{most256.String(), 2, "5.78960446186581e+76"},
		{most256.String(), 1 << 63, "1.2554203470773362e+58"},
	} {
		num, ok := new(big.Int).SetString(c.num, 10)
		if !ok {
			t.Fatal(c.num)
		}
		if got := printed(num, c.den); got != c.want {
			t.Errorf("%s/%d: %s, want %s", c.num, c.den, got, c.want)
		}
	}
}

// random returns numbers of all lengths, many of them near powers of two and ten.
func random(words [4]uint64, how uint) *big.Int {
	u := uint256.Int(words)
	n := u.ToBig()
	n.Rsh(n, how%257)
	switch how / 257 % 4 {
	case 1:
		n.SetUint64(uint64(how%5)).Add(n, new(big.Int).Lsh(big.NewInt(1), how%255))
	case 2:
		n.Exp(big.NewInt(10), big.NewInt(int64(how%77)), nil).Add(n, big.NewInt(int64(how%3)))
	}
	return n
}

// A quotient is the float64 to which no other is nearer, and no shorter text is
// read as the same.
func TestValueNearest(t *testing.T) {
	t.Parallel()
	f := func(words [4]uint64, how uint, den uint64, shift uint8) bool {
		num := random(words, how)
		den = max(den>>(shift%64), 1)
		text := printed(num, den)
		exact := new(big.Rat).SetFrac(num, new(big.Int).SetUint64(den))
		if text != jsNumber(exact) {
			t.Errorf("%s/%d: %s, want %s", num, den, text, jsNumber(exact))
		}
		if exact.IsInt() {
			return text == exact.Num().String()
		}
		got, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Errorf("%s/%d: %s: %v", num, den, text, err)
		}
		return nearest(got, exact) && shortest(text, got)
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 10_000}); err != nil {
		t.Error(err)
	}
}

func nearest(f float64, exact *big.Rat) bool {
	off := func(f float64) *big.Rat {
		d := new(big.Rat).SetFloat64(f)
		return d.Abs(d.Sub(d, exact))
	}
	for _, other := range []float64{math.Nextafter(f, 0), math.Nextafter(f, math.Inf(1))} {
		if n := off(f).Cmp(off(other)); n > 0 || n == 0 && math.Float64bits(f)%2 == 1 {
			return false
		}
	}
	return true
}

func shortest(text string, f float64) bool {
	mantissa, _, _ := strings.Cut(text, "e")
	digits := strings.Trim(strings.Replace(mantissa, ".", "", 1), "0")
	short, err := strconv.ParseFloat(strconv.FormatFloat(f, 'e', len(digits)-2, 64), 64)
	return len(digits) == 1 || err == nil && short != f
}

// Rates are compared exactly, however near to each other.
func TestHighestRate(t *testing.T) {
	t.Parallel()
	f := func(gas [6]uint64, shift, waits [6]uint8) bool {
		chain := []block{{}, {time: 5000}}
		for i := range gas {
			b := block{time: chain[len(chain)-1].time + 1000*uint64(waits[i]%9), gas: gas[i] >> (shift[i] % 64)}
			chain = append(chain, b, block{time: b.time + 1000})
		}
		_, r := rolled(t, chain).fill(t, rollup.Day, 0, 0)
		v := rollup.MaxGps.Of(&r[0])
		_, want := newOracle(chain).highestRates(0, len(chain)-1)
		return string(v.Append(nil)) == jsNumber(want)
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
}

// Over several chains rates and means are rounded once, and maxima are compared
// exactly, in whatever order they come.
func TestTotalText(t *testing.T) {
	t.Parallel()
	rate := func(txs, seconds uint64) rollup.Record {
		return rollup.Record{Txs: txs, Last: seconds, MaxTxs: rollup.Rate{Amount: txs, Seconds: seconds}}
	}
	priced := func(sum, txs uint64) rollup.Record {
		return rollup.Record{Txs: txs, PriceSum: *uint256.NewInt(sum), MaxPrice: *uint256.NewInt(sum)}
	}
	const most = math.MaxUint64
	for _, c := range []struct {
		metric rollup.Metric
		of     []rollup.Record
		want   string
	}{
		{rollup.TxCount, nil, "0"},
		{rollup.AvgTps, nil, "0"},
		{rollup.AvgGasPrice, nil, "0"},
		{rollup.MaxTps, nil, "0"},
		{rollup.MaxTps, []rollup.Record{{}}, "0"},
		{rollup.AvgTps, []rollup.Record{{}, {}}, "0"},
		{rollup.AvgTps, []rollup.Record{rate(1, 10), rate(1, 5)}, "0.3"}, // 0.1+0.2 as float64s is above
		{rollup.AvgTps, []rollup.Record{rate(1, 3), rate(1, 3), rate(1, 3)}, "1"},
		{rollup.AvgTps, []rollup.Record{rate(1, 1), rate(most, 1)}, "18446744073709551616"},
		{rollup.MaxTps, []rollup.Record{rate(1, 3), {}, rate(1, 2)}, "0.5"},
		{rollup.MaxTps, []rollup.Record{rate(most-1, 1), rate(most, 1), rate(most-1, 1)}, "18446744073709551615"},
		{rollup.MaxTps, []rollup.Record{rate(1, 1), rate(7, 2)}, "3.5"},
		{rollup.AvgGasPrice, []rollup.Record{priced(10, 1), priced(1, 2), {}}, "3.6666666666666665"},
		{rollup.AvgGasPrice, []rollup.Record{{}, {}}, "0"},
		{rollup.MaxGasPrice, []rollup.Record{priced(10, 1), priced(most, 1), priced(1, 2)}, "18446744073709551615"},
		{rollup.ActiveAddresses, []rollup.Record{{Addresses: most}, {Addresses: most}}, "36893488147419103230"},
		{rollup.CumulativeContracts, []rollup.Record{{TotalContracts: 9, Contracts: 2}, {TotalContracts: 5}}, "12"},
	} {
		permute(c.of, func(of []rollup.Record) {
			var sum rollup.Total
			for i := range of {
				sum.Add(c.metric, &of[i])
			}
			if got := string(sum.Append(c.metric, []byte("x"))); got != "x"+c.want {
				t.Errorf("%s of %d: %s, want %s", c.metric, len(of), got, c.want)
			}
		})
	}
}

// permute calls f with all orders of the records.
func permute(of []rollup.Record, f func([]rollup.Record)) {
	var from func(k int)
	from = func(k int) {
		if k >= len(of) {
			f(of)
			return
		}
		for i := k; i < len(of); i++ {
			of[k], of[i] = of[i], of[k]
			from(k + 1)
			of[k], of[i] = of[i], of[k]
		}
	}
	from(0)
}
