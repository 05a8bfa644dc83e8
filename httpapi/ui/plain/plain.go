// Package plain makes what chains say fit to be read on a page.
//
// Names, symbols, URIs and revert reasons are words of strangers. [Text] takes from them
// what would deceive a reader: control characters, characters that turn the direction of
// the text around, invisible ones, towers of accents, endless length. It does not escape
// for HTML; templates do that. [Digits] and [Amount] write whole numbers of any size, to
// the last digit.
//
// The package is pure and imports nothing of ours.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden stands for a character that is not shown.
const hidden = '\uFFFD'

// maxMarks is how many combining marks in a row are shown: languages need two or three.
const maxMarks = 3

// Text returns at most limit characters of s without what would deceive a reader. Each
// character that must not be shown is replaced by U+FFFD; line ends and tabs become
// spaces. An ellipsis stands for what is left out.
func Text(s string, limit int) string {
	var b strings.Builder
	n, marks := 0, 0
	for _, r := range s {
		if unicode.In(r, unicode.Mn, unicode.Me) {
			if marks++; marks > maxMarks {
				continue
			}
		} else {
			marks = 0
		}
		if n == limit {
			b.WriteRune('…')
			break
		}
		n++
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
			r = ' '
		case r == utf8.RuneError || deceives(r):
			r = hidden
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Page replaces in a whole page each character that [Text] would replace, but for line
// ends and tabs: the last line of defence, for what was shown without being cleaned. It
// returns the page itself if there is nothing to replace.
func Page(page []byte) []byte {
	out, done := page, 0
	for i := 0; i < len(page); {
		r, size := rune(page[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(page[i:])
		}
		i += size
		bad := r == utf8.RuneError && size == 1 || (r < ' ' || r >= 0x7f) && deceives(r) && r != '\n' && r != '\t' && r != '\r'
		if !bad {
			continue
		}
		if done == 0 {
			out = make([]byte, 0, len(page)+64)
		}
		out = utf8.AppendRune(append(out, page[done:i-size]...), hidden)
		done = i
	}
	if done == 0 {
		return page
	}
	return append(out, page[done:]...)
}

// deceives reports whether a character shows nothing of its own or changes how others
// are shown.
func deceives(r rune) bool {
	if unicode.IsControl(r) || unicode.In(r, unicode.Co, unicode.Cs) {
		return true
	}
	switch {
	case r == '\u200d': // joins emoji and letters of some scripts
		return false
	case unicode.Is(unicode.Cf, r): // directions, zero widths, tags
		return true
	case r == '\u3164' || r == '\u115f' || r == '\u1160' || r == '\uffa0' || r == '\u2800': // blanks that count as letters
		return true
	}
	return false
}

// space stands between thousands: it is narrow, and no line ends there.
const space = '\u202f'

// Digits writes a whole number with a narrow space between thousands. What is no whole
// number is returned as it is, through [Text].
func Digits(s string) string {
	digits, minus := strings.CutPrefix(s, "-")
	if !whole(digits) {
		return Text(s, 100)
	}
	first := len(digits) % 3
	if len(digits) <= 3 {
		return s
	}
	var b strings.Builder
	b.Grow(2 * len(s))
	if minus {
		b.WriteByte('-')
	}
	b.WriteString(digits[:first])
	for i := first; i < len(digits); i += 3 {
		if i > 0 {
			b.WriteRune(space)
		}
		b.WriteString(digits[i : i+3])
	}
	return b.String()
}

// Amount writes a whole number of base units as an amount with decimals, exactly,
// without zeros at its end: Amount("1500", 3) is "1.5".
func Amount(units string, decimals int) string {
	digits, minus := strings.CutPrefix(units, "-")
	if !whole(digits) || decimals <= 0 || decimals > 255 {
		return Digits(units)
	}
	if pad := decimals + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	point := len(digits) - decimals
	out := Digits(strings.TrimLeft(digits[:point-1], "0") + digits[point-1:point])
	if fraction := strings.TrimRight(digits[point:], "0"); fraction != "" {
		out += "." + fraction
	}
	if minus && out != "0" {
		out = "-" + out
	}
	return out
}

// separators are what people write between thousands.
var separators = strings.NewReplacer(",", "", string(space), "", "\u00a0", "", "'", "")

// Units returns the number of base units that an amount such as "1 234.5" is, or false
// if it is none or is finer than decimals allow.
func Units(amount string, decimals int) (string, bool) {
	whole1, fraction, _ := strings.Cut(separators.Replace(strings.TrimSpace(amount)), ".")
	decimals = max(decimals, 0)
	if fraction = strings.TrimRight(fraction, "0"); len(fraction) > decimals || len(whole1) > 100 {
		return "", false
	}
	digits := whole1 + fraction
	if !whole(digits) {
		return "", false
	}
	digits = strings.TrimLeft(digits+strings.Repeat("0", decimals-len(fraction)), "0")
	if digits == "" {
		digits = "0"
	}
	return digits, true
}

// whole reports whether s is decimal digits and nothing else.
func whole(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Short returns the beginning and the end of a hash or an address, with an ellipsis for
// what is between.
func Short(s string) string {
	const head, tail = 8, 6
	if len(s) <= head+tail+1 {
		return s
	}
	return s[:head] + "…" + s[len(s)-tail:]
}
