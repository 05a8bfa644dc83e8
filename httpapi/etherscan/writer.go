package etherscan

import (
	"strconv"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/httpapi/view"
)

// writer appends a result, in which numbers are texts and addresses lower case.
type writer struct{ view.Writer }

func (w *writer) text(name, s string) {
	w.Member(name)
	w.B = view.AppendString(w.B, s)
}

func (w *writer) count(name string, n uint64) {
	w.Member(name)
	w.B = append(strconv.AppendUint(append(w.B, '"'), n, 10), '"')
}

// hexCount writes a number in hex, as lists of logs have it.
func (w *writer) hexCount(name string, n uint64) {
	w.Member(name)
	w.B = append(strconv.AppendUint(append(w.B, `"0x`...), n, 16), '"')
}

func (w *writer) amount(name string, v *uint256.Int) {
	w.Member(name)
	w.B = append(view.AppendAmount(append(w.B, '"'), v), '"')
}

func (w *writer) hex(name string, b []byte) {
	w.Member(name)
	w.B = append(view.AppendHex(append(w.B, '"'), b), '"')
}

func (w *writer) address(name string, a *evm.Address) { w.hex(name, a[:]) }

// flag writes 1 or 0.
func (w *writer) flag(name string, is bool) {
	n := uint64(0)
	if is {
		n = 1
	}
	w.count(name, n)
}

// open begins an object of a list.
func (w *writer) open() {
	w.Comma()
	w.Raw("{")
}
