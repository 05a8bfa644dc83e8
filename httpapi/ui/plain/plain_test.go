package plain

import (
	"math/big"
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Wrapped AVAX", "Wrapped AVAX"},
		{"markup is left to the template", "<script>alert('x')</script>", "<script>alert('x')</script>"},
		{"control characters", "a\x00b\x1b[2Jc\x7f\u0085", "a�b�[2Jc��"},
		{"line ends", "a\r\nb\tc\u2028d", "a  b c d"},
		{"directions", "\u202egnp.exe\u202c \u2066x\u2069\u200f\u061c", "�gnp.exe� �x���"},
		{"nothing to see", "A\u200bV\ufeffA\u2060X\u3164", "A�V�A�X�"},
		{"tags", "x\U000e0041\U000e0042", "x��"},
		{"joined emoji stay", "👩\u200d🚀", "👩\u200d🚀"},
		{"not UTF-8", "a\xffb", "a�b"},
		{"tower of accents", "z" + strings.Repeat("\u0301", 9) + "a", "z\u0301\u0301\u0301a"},
		{"private use", "\ue000", "�"},
		{"long", strings.Repeat("é", 30), strings.Repeat("é", 20) + "…"},
		{"as long as may be", strings.Repeat("é", 20), strings.Repeat("é", 20)},
		{"letters of other scripts", "アバランチ עברית", "アバランチ עברית"},
	} {
		if got := Text(c.in, 20); c.name[0] != 'm' && got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := Text(c.in, 40); c.name[0] == 'm' && got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestTextIsBounded: whatever a chain says, the text is valid, bounded, and cleaning it
// again changes nothing.
func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	check := func(s string) bool {
		got := Text(s, 12)
		return utf8.ValidString(got) && utf8.RuneCountInString(got) <= 13+12*maxMarks && Text(got, 13) == got
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
	if n := len(Text("a"+strings.Repeat("\u0301", 1<<20), 100)); n > 20 {
		t.Errorf("a tower of accents has %d bytes", n)
	}
}

// TestPage: of a page only what deceives is replaced.
func TestPage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "<p>\r\n\tplain…\u202f1</p>": "<p>\r\n\tplain…\u202f1</p>",
		"a\u202eb\x00c\u200bd": "a�b�c�d", "\u2066": "�", "x\xff": "x�", "�": "�", "\x1b[2J\x7f": "�[2J�",
	} {
		if got := string(Page([]byte(in))); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if clean := []byte("<p>nothing to do…</p>"); &Page(clean)[0] != &clean[0] {
		t.Error("a clean page is copied")
	}
}

func TestDigits(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0": "0", "12": "12", "999": "999", "1000": "1\u202f000", "123456": "123\u202f456", "1234567": "1\u202f234\u202f567",
		"-1234": "-1\u202f234", "": "", "x1234": "x1234", "1e9": "1e9",
		"115792089237316195423570985008687907853269984665640564039457584007913129639935": "115\u202f792\u202f089\u202f237\u202f316\u202f195\u202f423\u202f570\u202f985\u202f008\u202f687\u202f907\u202f853\u202f269\u202f984\u202f665\u202f640\u202f564\u202f039\u202f457\u202f584\u202f007\u202f913\u202f129\u202f639\u202f935",
	} {
		if got := Digits(in); got != want {
			t.Errorf("Digits(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestAmount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		units    string
		decimals int
		want     string
	}{
		{"0", 18, "0"}, {"1", 18, "0.000000000000000001"}, {"1000000000000000000", 18, "1"},
		{"999087656258602646560648", 18, "999\u202f087.656258602646560648"}, {"1500", 3, "1.5"}, {"15", 0, "15"},
		{"1500", -1, "1\u202f500"}, {"-1500", 3, "-1.5"}, {"12", 255, "0." + strings.Repeat("0", 253) + "12"},
		{"7", 256, "7"}, {"no number", 18, "no number"}, {"", 18, ""},
	} {
		if got := Amount(c.units, c.decimals); got != c.want {
			t.Errorf("%s with %d decimals is %q, want %q", c.units, c.decimals, got, c.want)
		}
	}
}

// TestUnits: an amount is read back to the units that it was made of.
func TestUnits(t *testing.T) {
	t.Parallel()
	check := func(b []byte, decimals uint8) bool {
		units := new(big.Int).SetBytes(b[:min(len(b), 32)]).String()
		got, ok := Units(Amount(units, int(decimals)), int(decimals))
		return ok && got == units
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
	for _, in := range []string{"", ".", "-1", "1.2345", "1e3", "x", "1 0", "0x10"} {
		if got, ok := Units(in, 3); ok {
			t.Errorf("%q is read as %s units", in, got)
		}
	}
	for in, want := range map[string]string{" 1,000 ": "1000000", "1\u202f000": "1000000", "1.50": "1500", ".5": "500", "0.000": "0", "007": "7000"} {
		if got, ok := Units(in, 3); !ok || got != want {
			t.Errorf("%q is %q, want %s", in, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "0x1234": "0x1234", "123456789012345": "123456789012345",
		"0xb90BD5d69Bd067686cC6FfB0CC8F0222e2003964": "0xb90BD5…003964",
	} {
		if got := Short(in); got != want {
			t.Errorf("Short(%q) is %q, want %q", in, got, want)
		}
	}
}
