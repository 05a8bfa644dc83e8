package view

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	f := func(m Mode, s Signs, want Dialect) {
		t.Helper()
		if got := Choose(m, s); got != want {
			t.Errorf("mode %d, agent %q, %+v: %d, want %d", m, s.UserAgent, s, got, want)
		}
	}
	sdk := []byte("speakeasy-sdk/typescript 0.13.0 2.1.0 1.0 @avalabs/avacloud-sdk")
	curl := []byte("curl/8")
	f(Auto, Signs{}, Contract)
	f(Auto, Signs{UserAgent: curl}, Contract)
	f(Auto, Signs{UserAgent: []byte("x speakeasy-sdk")}, Contract)
	f(Auto, Signs{UserAgent: sdk}, SDK)
	f(Auto, Signs{UserAgent: curl, GlacierKey: true}, SDK)
	f(Auto, Signs{AppComponent: true, Page: true}, SDK)
	f(Auto, Signs{GlacierKey: true, Page: true}, SDK)
	f(Auto, Signs{UserAgent: []byte("Mozilla/5.0"), Page: true}, Either)
	f(AlwaysContract, Signs{UserAgent: sdk, GlacierKey: true, AppComponent: true, Page: true}, Contract)
	f(AlwaysSDK, Signs{UserAgent: curl, Page: true}, SDK)

	for s, want := range map[string]Mode{"": Auto, "auto": Auto, "contract": AlwaysContract, "sdk": AlwaysSDK} {
		if got, err := ParseMode(s); err != nil || got != want {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
	if _, err := ParseMode("SDK"); err == nil {
		t.Error("a wrong mode is taken")
	}
}

func TestAppendAmount(t *testing.T) {
	t.Parallel()
	for shift := range 257 {
		one := new(big.Int).Lsh(big.NewInt(1), uint(shift))
		for _, d := range []int64{-1, 0, 1} {
			n := new(big.Int).Add(one, big.NewInt(d))
			v, over := uint256.FromBig(n)
			if over {
				continue
			}
			if got := string(AppendAmount([]byte("x"), v)); got != "x"+n.String() {
				t.Errorf("got %s, want x%s", got, n)
			}
		}
	}
}

func FuzzAppendAmount(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte(strings.Repeat("\xff", 32)))
	f.Add([]byte{0x8a, 0xc7, 0x23, 0x04, 0x89, 0xe8, 0, 0}) // 10^19
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 32 {
			b = b[:32]
		}
		if got, want := string(AppendAmount(nil, new(uint256.Int).SetBytes(b))), new(big.Int).SetBytes(b).String(); got != want {
			t.Errorf("%x: got %s, want %s", b, got, want)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "Wrapped AVAX", `a"b\c`, "\x00\x1f\x7f", "\xff\xfe", "ü€😀", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendString(nil, s)
		var got string
		if err := json.Unmarshal(b, &got); err != nil || !utf8.Valid(b) {
			t.Fatalf("%q is written as %q: %v", s, b, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && got != want {
			t.Errorf("%q is read as %q", s, got)
		}
	})
}

func TestAppendValue(t *testing.T) {
	t.Parallel()
	f := func(amount string, decimals uint8, price, want string) {
		t.Helper()
		if got := string(AppendValue([]byte("="), uint256.MustFromDecimal(amount), decimals, price)); got != "="+want {
			t.Errorf("%s e-%d at %s: %s, want =%s", amount, decimals, price, got, want)
		}
	}
	f("0", 18, "25.31", "0")
	f("1000000000000000000", 18, "25.31", "25.31")
	f("1500000000000000000", 18, "25.31", "37.965")
	f("1", 18, "25.31", "0")
	f("1", 6, "0.5", "0.0000005")
	f("5", 9, "1", "0.00000001") // half up
	f("4", 9, "1", "0")
	f("123456789", 0, "2", "246913578")
	f("123", 2, "10", "12.3")
	f("100", 0, "0.10", "10")
	f("115792089237316195423570985008687907853269984665640564039457584007913129639935", 18, "1000000.5",
		"115792147133360814081668696794180412197223911300632896859739603736.7051336")
	f("1", 255, "1", "0")
}

func FuzzAppendValue(f *testing.F) {
	f.Add(uint64(123456789), uint8(18), "25.31")
	f.Add(uint64(1), uint8(0), "0")
	f.Fuzz(func(t *testing.T, amount uint64, decimals uint8, price string) {
		if CheckPrice(price) != nil {
			return
		}
		if !json.Valid([]byte(price)) {
			t.Fatalf("price %q is no JSON number", price)
		}
		b := AppendValue(nil, uint256.NewInt(amount), decimals, price)
		got, ok := new(big.Rat).SetString(string(b))
		if !ok || !json.Valid(b) {
			t.Fatalf("%q is no number", b)
		}
		want, _ := new(big.Rat).SetString(price)
		want.Mul(want, new(big.Rat).SetFrac(new(big.Int).SetUint64(amount), pow10(int(decimals))))
		// Within half of the last digit.
		diff := new(big.Rat).Sub(got, want)
		if diff.Abs(diff).Cmp(big.NewRat(1, 200_000_000)) > 0 {
			t.Errorf("%d e-%d at %s: %s", amount, decimals, price, b)
		}
	})
}

// TestAddresses uses the vectors of EIP-55, from several goroutines at once.
func TestAddresses(t *testing.T) {
	t.Parallel()
	table := new(addresses)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				for _, want := range []string{
					"0x52908400098527886E0F7030069857D2E4169EE7", "0xde709f2102306220921060314715629080e2fb77",
					"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
					"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
				} {
					a, err := evm.ParseAddress(strings.ToLower(want))
					if err != nil {
						t.Error(err)
					}
					if got := string(table.append(nil, &a)); got != want {
						t.Errorf("got %s, want %s", got, want)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestAddressesCollide: addresses of one slot take turns.
func TestAddressesCollide(t *testing.T) {
	t.Parallel()
	table := new(addresses)
	bySlot := make(map[uint32]evm.Address)
	for i := range uint64(1 << 20) {
		a := evm.Address(uint256.NewInt(i).Bytes20())
		other, taken := bySlot[Slot(&a)&(sumSlots-1)]
		if !taken {
			bySlot[Slot(&a)&(sumSlots-1)] = a
			continue
		}
		for range 2 {
			for _, x := range []evm.Address{a, other} {
				if got := string(table.append(nil, &x)); got != x.String() {
					t.Fatalf("got %s, want %s", got, x)
				}
			}
		}
		return
	}
	t.Fatal("no two addresses in one slot")
}

// TestAppendUint: numbers of all lengths, and those beside the powers of ten and two.
func TestAppendUint(t *testing.T) {
	t.Parallel()
	check := func(v uint64) {
		if got := string(AppendUint([]byte("x"), v)); got != "x"+strconv.FormatUint(v, 10) {
			t.Errorf("%d is %s", v, got)
		}
	}
	for _, base := range []uint64{2, 10} {
		for p := uint64(1); ; p *= base {
			check(p - 1)
			check(p)
			check(p + 1)
			if p > math.MaxUint64/base {
				break
			}
		}
	}
	check(math.MaxUint64)
	for i := range uint64(20_000) {
		check(i)
		check(i * 0x9e3779b97f4a7c15 >> (i % 64))
	}
}
