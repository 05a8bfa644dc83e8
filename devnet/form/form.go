// Package form writes JSON in the form in which nodes of EVM chains do: numbers and bytes are
// hex in strings.
package form

import (
	"encoding/hex"
	"strconv"

	"github.com/holiman/uint256"
)

// AppendHex appends bytes.
func AppendHex(dst, b []byte) []byte {
	return append(hex.AppendEncode(append(dst, `"0x`...), b), '"')
}

// AppendUint appends a number, without leading zeros.
func AppendUint(dst []byte, v uint64) []byte {
	return append(strconv.AppendUint(append(dst, `"0x`...), v, 16), '"')
}

// AppendWide appends a wide number.
func AppendWide(dst []byte, v *uint256.Int) []byte {
	if v.IsUint64() {
		return AppendUint(dst, v.Uint64())
	}
	return append(append(append(dst, '"'), v.Hex()...), '"')
}

// Writer writes values one after the other, with the commas that belong between them.
type Writer []byte

// next writes the comma before a member or element that is not the first one.
func (w *Writer) next() {
	if n := len(*w); n > 0 && (*w)[n-1] != '{' && (*w)[n-1] != '[' && (*w)[n-1] != ':' {
		*w = append(*w, ',')
	}
}

// Open begins an object or an array.
func (w *Writer) Open(brace byte) {
	w.next()
	*w = append(*w, brace)
}

// Close ends an object or an array.
func (w *Writer) Close(brace byte) { *w = append(*w, brace) }

// Name writes the name of a member, whose value follows.
func (w *Writer) Name(name string) *Writer {
	w.next()
	*w = append(append(append(*w, '"'), name...), `":`...)
	return w
}

// Value writes what stands between a member's name, which was written as a value, and its
// value.
func (w *Writer) Value() *Writer {
	*w = append(*w, ':')
	return w
}

// JSON writes what is JSON already: a value, or members.
func (w *Writer) JSON(text string) {
	w.next()
	*w = append(*w, text...)
}

// Hex writes bytes.
func (w *Writer) Hex(b []byte) {
	w.next()
	*w = AppendHex(*w, b)
}

// Uint writes a number.
func (w *Writer) Uint(v uint64) {
	w.next()
	*w = AppendUint(*w, v)
}

// Wide writes a wide number.
func (w *Writer) Wide(v *uint256.Int) {
	w.next()
	*w = AppendWide(*w, v)
}

// Text writes a text that has no letters but those of ASCII.
func (w *Writer) Text(text string) {
	w.next()
	*w = strconv.AppendQuote(*w, text)
}
