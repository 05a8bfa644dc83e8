package evm

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// checksummed are the examples of EIP-55 and addresses of Avalanche.
var checksummed = []string{
	"0x52908400098527886E0F7030069857D2E4169EE7",
	"0x8617E340B3D01FA5F11F306F4090FD50E238070D",
	"0xde709f2102306220921060314715629080e2fb77",
	"0x27b1fdb04752bbc536007a920d24acb045561c26",
	"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
	"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
	"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
	"0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
	"0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC",
	"0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7",
	"0x0000000000000000000000000000000000000000",
}

func TestAddressText(t *testing.T) {
	t.Parallel()
	for _, want := range checksummed {
		digits := want[2:]
		for _, form := range []string{want, "0x" + strings.ToLower(digits), "0x" + strings.ToUpper(digits), "0X" + digits} {
			a, err := ParseAddress(form)
			if err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			if a.String() != want {
				t.Errorf("%s: got %s", form, a)
			}
			if got := string(a.Append([]byte("x"))); got != "x"+want {
				t.Errorf("appended: %s", got)
			}
			if a.IsZero() != (digits == strings.Repeat("0", 40)) {
				t.Errorf("%s: IsZero is wrong", form)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	good := checksummed[0]
	for _, s := range []string{"", "0x", good[2:], good[:41], good + "0", "1x" + good[2:], good[:41] + "g", good[:41] + " ", " " + good[:41], "0x" + strings.Repeat("é", 20)} {
		if a, err := ParseAddress(s); !errors.Is(err, ErrForm) || !strings.Contains(err.Error(), "address") {
			t.Errorf("%q: got %s, %v", s, a, err)
		}
	}
}

func TestKeccak(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":    "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
		"abc": "0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
	} {
		h := Keccak([]byte(text))
		if h.String() != want {
			t.Errorf("%q: got %s", text, h)
		}
	}
	if Keccak([]byte("a"), nil, []byte("bc")) != Keccak([]byte("abc")) {
		t.Error("pieces hash differently")
	}
	if !(Hash{}).IsZero() {
		t.Error("the zero hash is not zero")
	}
}

// The addresses were computed with geth's code.
func TestCreateAddress(t *testing.T) {
	t.Parallel()
	from, err := ParseAddress("0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0")
	if err != nil {
		t.Fatal(err)
	}
	for nonce, want := range map[uint64]string{
		0:              "0xcd234A471b72ba2F1Ccf0A70FCABA648a5eeCD8d",
		1:              "0x343c43A37D37dfF08AE8C4A11544c718AbB4fCF8",
		2:              "0xf778B86FA74E846c4f0a1fBd1335FE81c00a0C91",
		3:              "0xffFd933A0bC612844eaF0C6Fe3E5b8E9B6C1d19c",
		0x7f:           "0x06d9a77f5E4b311Bae8D559DB9CDB4dF94104aA0",
		0x80:           "0x08e190dcB7b73F5fcDAbb43e102215c83659A76D",
		0xff:           "0x3eF7c1a519E4b4431E317d7839340E3139B03c65",
		0x100:          "0x3837C1Ae70354f670550C746580199Ac6a73Cb0a",
		0xffff:         "0x65260EECFf4eDeBaBE134f76F1F39a91Defde56C",
		0x10000:        "0xf666A819b370D38F44F2573464Da3FbA8479b917",
		1 << 32:        "0xf4bf328880432064068338F915C49f817dC4Ce18",
		1 << 56:        "0xc581fCF5BF78CCA5E1EC09f3720829B28F4EbdD8",
		math.MaxUint64: "0x9bc924993b60399DF164c3763a964301D3dB95Ca",
	} {
		if got := CreateAddress(from, nonce); got.String() != want {
			t.Errorf("nonce %d: got %s, want %s", nonce, got, want)
		}
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	b := Block{Number: 7, Hash: Hash{1}, TimeMilli: 1999}
	if b.Time() != 1 || b.Head() != (Head{Number: 7, Hash: Hash{1}, TimeMilli: 1999}) {
		t.Errorf("time %d, head %+v", b.Time(), b.Head())
	}
	for kind, want := range map[CallType]string{
		CallUnknown: "UNKNOWN", CallPlain: "CALL", CallCode: "CALLCODE", CallDelegate: "DELEGATECALL", CallStatic: "STATICCALL",
		CallCreate: "CREATE", CallCreate2: "CREATE2", CallSelfDestruct: "SELFDESTRUCT", 99: "UNKNOWN",
	} {
		if kind.String() != want || kind.Creates() != strings.HasPrefix(want, "CREATE") {
			t.Errorf("%d: %s, creates %v", kind, kind, kind.Creates())
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range checksummed {
		f.Add(s)
	}
	f.Add("0xf91bb99cb222bf5325dd40bf384061cb5470615a0f51da35734941d8a5da94ae")
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := ParseAddress(s); err == nil {
			if again, err := ParseAddress(a.String()); err != nil || again != a || !strings.EqualFold(a.String(), s) {
				t.Errorf("%q: %s, %v", s, a, err)
			}
		} else if a != (Address{}) && len(s) != 42 {
			t.Errorf("%q: error and %s", s, a)
		}
	})
}

func BenchmarkAddressAppend(b *testing.B) {
	a, err := ParseAddress(checksummed[0])
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = a.Append(buf[:0])
	}
}

// TestCapitals: they tell the checksummed form from that in lower case, digit by digit.
func TestCapitals(t *testing.T) {
	t.Parallel()
	for i := range 1000 {
		h := Keccak([]byte{byte(i), byte(i >> 8)})
		a := Address(h[:])
		text, c := a.String()[2:], a.Capitals()
		for k := range text {
			if capital := text[k] >= 'A' && text[k] <= 'F'; capital != (c>>k&1 == 1) {
				t.Fatalf("%s: capitals %x", text, c)
			}
		}
		if c>>(8*CapitalsLen) != 0 {
			t.Fatalf("%x is too long", c)
		}
	}
}
