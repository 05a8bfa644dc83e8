package nodeapi

import (
	"encoding/hex"
	"errors"
	"math"
	"strconv"

	"quorate/engine/chain"
)

// chainID is an ID that reads and writes its text form in JSON.
type chainID chain.ID

// MarshalText returns the CB58 form.
func (id chainID) MarshalText() ([]byte, error) { return []byte(chain.ID(id).String()), nil }

// UnmarshalText reads the CB58 form.
func (id *chainID) UnmarshalText(b []byte) error {
	parsed, err := chain.ParseID(string(b))
	*id = chainID(parsed)
	return err
}

// nodeID is a node ID that reads and writes its text form in JSON.
type nodeID chain.NodeID

// MarshalText returns the form NodeID-...
func (id nodeID) MarshalText() ([]byte, error) { return []byte(chain.NodeID(id).String()), nil }

// UnmarshalText reads the form NodeID-...
func (id *nodeID) UnmarshalText(b []byte) error {
	parsed, err := chain.ParseNodeID(string(b))
	*id = nodeID(parsed)
	return err
}

// number is an integer that the node writes as a string.
type number uint64

// MarshalJSON writes a string of decimal digits.
func (n number) MarshalJSON() ([]byte, error) {
	return append(strconv.AppendUint([]byte{'"'}, uint64(n), 10), '"'), nil
}

// percent is a number that the node writes as a string with four decimals.
type percent float64

// MarshalJSON writes a string such as "6.2500".
func (p percent) MarshalJSON() ([]byte, error) {
	return append(strconv.AppendFloat([]byte{'"'}, float64(p), 'f', 4, 64), '"'), nil
}

// proposed stands for the proposed height in a height argument.
const proposed height = math.MaxUint64

var errHeight = errors.New("invalid height")

// height is a height argument: a number, a string of digits, or "proposed".
type height uint64

// UnmarshalJSON reads any of the three forms; null leaves the value.
func (h *height) UnmarshalJSON(b []byte) error {
	s := string(b)
	switch s {
	case "null":
		return nil
	case `"proposed"`:
		*h = proposed
		return nil
	}
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || height(n) == proposed {
		return errHeight
	}
	*h = height(n)
	return nil
}

// hexBytes is a byte string that the node writes in hex with 0x; nil is null.
type hexBytes []byte

// MarshalJSON writes a string such as "0x00ff".
func (b hexBytes) MarshalJSON() ([]byte, error) {
	if b == nil {
		return []byte("null"), nil
	}
	out := make([]byte, 0, 4+2*len(b))
	out = append(out, `"0x`...)
	out = hex.AppendEncode(out, b)
	return append(out, '"'), nil
}
