package evmrpc

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-json"

	"quorate/devnet/evmchain"
	"quorate/engine/chain/evm"
)

// args are the arguments of a call; those left out at the end are nil.
type args []json.RawMessage

func invalid(format string, a ...any) error {
	return &callError{code: codeParams, text: fmt.Sprintf(format, a...)}
}

// arguments reads the params of a method that needs some of its arguments.
func arguments(raw json.RawMessage, required, most int) (args, error) {
	var list args
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case raw[0] != '[':
		return nil, invalid("non-array args")
	default:
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, invalid("%v", err)
		}
	}
	if len(list) > most {
		return nil, invalid("too many arguments, want at most %d", most)
	}
	for i := range most {
		if i >= len(list) {
			list = append(list, nil)
		}
		if len(list[i]) == 0 || string(list[i]) == "null" {
			if i < required {
				return nil, invalid("missing value for required argument %d", i)
			}
			list[i] = nil
		}
	}
	return list, nil
}

var (
	errNoPrefix = errors.New("hex string without 0x prefix")
	errEmpty    = errors.New("empty hex string")
	errZeros    = errors.New("hex number with leading zero digits")
	errRange    = errors.New("hex number > 64 bits")
	errDigits   = errors.New("invalid hex string")
	errOdd      = errors.New("hex string of odd length")
	// errUnfinalized is what nodes say of heights above their tip.
	errUnfinalized = errors.New("cannot query unfinalized data")
	errNoHeader    = errors.New("header for hash not found")
	errNoHeaderAt  = errors.New("header not found")
	errTimeout     = errors.New("execution timeout")
)

func (a args) text(i int, typ string) (string, error) {
	var s string
	if err := json.Unmarshal(a[i], &s); err != nil {
		return "", invalid("invalid argument %d: json: cannot unmarshal non-string into Go value of type %s", i, typ)
	}
	return s, nil
}

// bytes reads an argument of n bytes in hex.
func (a args) bytes(i int, dst []byte, typ string) error {
	s, err := a.text(i, typ)
	if err != nil {
		return err
	}
	if err := fixed(s, dst); err != nil {
		return invalid("invalid argument %d: json: cannot unmarshal %v into Go value of type %s", i, err, typ)
	}
	return nil
}

// fixed decodes hex with 0x of just as many bytes as dst has.
func fixed(s string, dst []byte) error {
	switch {
	case s == "":
		return errEmpty
	case !strings.HasPrefix(s, "0x") && !strings.HasPrefix(s, "0X"):
		return errNoPrefix
	case len(s)%2 == 1:
		return errOdd
	case len(s)-2 != 2*len(dst):
		return fmt.Errorf("hex string has length %d, want %d", len(s)-2, 2*len(dst))
	}
	if _, err := hex.Decode(dst, []byte(s[2:])); err != nil {
		return errDigits
	}
	return nil
}

func (a args) hash(i int) (h evm.Hash, err error) {
	return h, a.bytes(i, h[:], "common.Hash")
}

func (a args) address(i int) (addr evm.Address, err error) {
	return addr, a.bytes(i, addr[:], "common.Address")
}

func quantity(s string) (uint64, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	switch {
	case s == "":
		return 0, errEmpty
	case !ok:
		return 0, errNoPrefix
	case digits == "":
		return 0, errors.New(`hex string "0x"`)
	case len(digits) > 1 && digits[0] == '0':
		return 0, errZeros
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, errRange
	}
	if err != nil {
		return 0, errDigits
	}
	return v, nil
}

// number resolves a block number or tag. It may lie above the tip.
func (h *node) number(s string) (uint64, error) {
	switch s {
	case "latest", "pending":
		return h.latest, nil
	case "finalized", "safe":
		if h.traits.NoFinalized {
			return 0, errNoPrefix // it is taken for a number
		}
		return h.settled, nil
	case "accepted":
		return h.accepted, nil
	case "earliest":
		return 0, nil
	}
	n, err := quantity(s)
	if err == nil && n > 1<<63-1 {
		return 0, errors.New("block number larger than int64")
	}
	return n, err
}

// height reads a block number argument that must be there.
func (h *node) height(a args, i int) (uint64, error) {
	s, err := a.text(i, "rpc.BlockNumber")
	if err != nil {
		return 0, err
	}
	n, err := h.number(s)
	if err != nil {
		return 0, invalid("invalid argument %d: %v", i, err)
	}
	if n > h.tip {
		return 0, errUnfinalized
	}
	return n, nil
}

// at reads an argument that is a number, a tag, a hash, or an object with one
// of them. None means the last one that is executed.
func (h *node) at(a args, i int) (uint64, error) {
	if a[i] == nil {
		return h.latest, nil
	}
	if a[i][0] == '{' {
		var object struct{ BlockNumber, BlockHash *string }
		if err := json.Unmarshal(a[i], &object); err != nil {
			return 0, invalid("invalid argument %d: %v", i, err)
		}
		switch {
		case object.BlockNumber != nil && object.BlockHash != nil:
			return 0, invalid("invalid argument %d: cannot specify both BlockHash and BlockNumber, choose one or the other", i)
		case object.BlockHash != nil:
			return h.hashed(*object.BlockHash, i)
		case object.BlockNumber != nil:
			return h.numbered(*object.BlockNumber, i)
		}
		return 0, errors.New("invalid arguments; neither block nor hash specified")
	}
	s, err := a.text(i, "rpc.BlockNumberOrHash")
	if err != nil {
		return 0, err
	}
	if len(s) == 2+2*evm.HashLen {
		return h.hashed(s, i)
	}
	return h.numbered(s, i)
}

func (h *node) numbered(s string, i int) (uint64, error) {
	n, err := h.number(s)
	if err != nil {
		return 0, invalid("invalid argument %d: %v", i, err)
	}
	if n > h.tip {
		return 0, errUnfinalized
	}
	return n, nil
}

func (h *node) hashed(s string, i int) (uint64, error) {
	var hash evm.Hash
	if err := fixed(s, hash[:]); err != nil {
		return 0, invalid("invalid argument %d: %v", i, err)
	}
	n, ok := h.byHash(hash)
	if !ok {
		return 0, errNoHeader
	}
	return n, nil
}

func (a args) flag(i int) (v bool, err error) {
	if a[i] == nil {
		return false, nil
	}
	if err := json.Unmarshal(a[i], &v); err != nil {
		return false, invalid("invalid argument %d: %v", i, err)
	}
	return v, nil
}

// tracing reads a trace configuration.
func (a args) tracing(i int) (tc evmchain.TraceConfig, err error) {
	var object struct {
		Tracer       *string
		TracerConfig struct{ OnlyTopCall, WithLog, DiffMode bool }
	}
	if a[i] != nil {
		if err := json.Unmarshal(a[i], &object); err != nil {
			return tc, invalid("invalid argument %d: %v", i, err)
		}
	}
	switch {
	case object.Tracer == nil:
		return tc, errors.New("no tracer named: this node has callTracer and prestateTracer")
	case *object.Tracer == "callTracer":
		tc.OnlyTopCall, tc.WithLog = object.TracerConfig.OnlyTopCall, object.TracerConfig.WithLog
	case *object.Tracer == "prestateTracer" && object.TracerConfig.DiffMode:
		tc.Tracer = evmchain.PrestateDiff
	case *object.Tracer == "prestateTracer":
		tc.Tracer = evmchain.Prestate
	default:
		return tc, fmt.Errorf("ReferenceError: %.64q is not defined", *object.Tracer)
	}
	return tc, nil
}
