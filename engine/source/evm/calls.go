package evm

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-json"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// maxDepth bounds the nesting of calls: the EVM allows 1024.
const maxDepth = 1100

// errGivenUp: the node's answer says that it did not trace a transaction.
var errGivenUp = errors.New("node gave up on a transaction")

// Precompiles that move native coins to an account of which the tracers see nothing.
var (
	nativeMinter    = evm.Address{0: 0x02, 19: 0x01}
	nativeAssetCall = evm.Address{0: 0x01, 19: 0x02}
)

// frame is one call of a trace.
type frame struct {
	evm.Call
	hasTo  bool
	failed bool
	input  []byte // as written

	// Of the transaction's own call, as written.
	errText, output []byte
}

// errContradicted means that a trace and a receipt cannot both be true.
var errContradicted = errors.New("trace and receipt contradict each other")

// callReader reads the results of the callTracer.
type callReader struct {
	fields
	calls  []evm.Call
	unsure []evm.Address // accounts whose balance the tracers may not know
}

// result reads the trace of t: its own call is checked, those below are kept.
func (r *callReader) result(t *evm.Tx) error {
	start := len(r.calls)
	top := r.frame(0)
	if r.Err() != nil {
		return r.Err()
	}
	want, hasTo := t.To, true
	if t.Creation {
		want, hasTo = t.Contract, !t.Failed
	}
	switch {
	case top.From != t.From || top.Type.Creates() != t.Creation:
		return errors.New("the trace is of another transaction")
	case hasTo && top.To != want:
		return fmt.Errorf("the trace is of a call of %s, the transaction of %s", top.To, want)
	case top.failed != t.Failed:
		return fmt.Errorf("%w: the trace says failed=%v, the receipt %v", errContradicted, top.failed, t.Failed)
	}
	if end := len(r.calls); end > start {
		t.Calls = r.calls[start:end:end]
	}
	var err error
	t.Failure, err = top.failure()
	return err
}

// failure returns what is kept of a call's failure, nil if it did not fail.
func (f *frame) failure() (why *evm.Failure, err error) {
	if !f.failed {
		return nil, nil
	}
	why = &evm.Failure{}
	if err = json.Unmarshal(fmt.Appendf(nil, `"%s"`, f.errText), &why.Error); err != nil {
		return nil, fmt.Errorf("error: %w", err)
	}
	if len(why.Error) > evm.MaxError {
		why.Error = strings.ToValidUTF8(why.Error[:evm.MaxError], "")
	}
	if len(f.output) > 0 {
		var memory arena
		if why.Revert, err = memory.hexBytes(f.output[:min(len(f.output), len("0x")+2*evm.MaxRevert)]); err != nil {
			return nil, fmt.Errorf("output: %w", err)
		}
	}
	return why, nil
}

// frame reads a call and appends those below it.
func (r *callReader) frame(depth int) (f frame) {
	if depth > maxDepth {
		r.Fail(fmt.Errorf("calls nested deeper than %d", maxDepth))
		return f
	}
	const kind, from, gas, used, all = 1, 2, 4, 8, 15
	seen := 0
	start := len(r.calls)
	r.Members(func(name []byte) {
		switch string(name) {
		case "type":
			f.Type = callType(r.Text())
			seen |= kind
		case "from":
			f.From = r.address("from")
			seen |= from
		case "to":
			if !r.Null() {
				f.To, f.hasTo = r.address("to"), true
			}
		case "value":
			if !r.Null() {
				r.uint256("value", &f.Value)
			}
		case "gas":
			f.Gas = r.uint("gas")
			seen |= gas
		case "gasUsed":
			f.GasUsed = r.uint("gasUsed")
			seen |= used
		case "input":
			f.input = r.Text()
		case "error":
			if !r.Null() {
				f.errText = r.Text()
				f.failed = len(f.errText) > 0
			}
		case "output":
			if depth > 0 {
				r.Skip()
			} else if !r.Null() {
				f.output = r.Text()
			}
		case "calls":
			if !r.Null() {
				r.below(depth + 1)
			}
		default:
			r.Skip()
		}
	})
	if r.Err() == nil && seen != all {
		r.Fail(fmt.Errorf("call without all of its members: %b", seen^all))
	}
	if f.failed {
		for i := start; i < len(r.calls); i++ {
			r.calls[i].Reverted = true
		}
	}
	r.note(&f)
	return f
}

// below reads the calls made by one. Each has its place before those it makes.
func (r *callReader) below(depth int) {
	r.Elements(func(int) {
		at := len(r.calls)
		r.calls = append(r.calls, evm.Call{})
		f := r.frame(depth)
		f.Depth, f.Reverted = uint16(depth), f.failed
		r.calls[at] = f.Call
	})
}

// note remembers accounts whose balance this call may change unseen.
func (r *callReader) note(f *frame) {
	switch {
	case f.failed || r.Err() != nil:
	case f.Type == evm.CallSelfDestruct:
		r.unsure = append(r.unsure, f.From, f.To)
	case f.To == nativeMinter:
		r.noteInput(f.input, 4+12) // selector, padding
	case f.To == nativeAssetCall:
		r.noteInput(f.input, 0)
	}
}

// noteInput remembers the address at a byte of the input.
func (r *callReader) noteInput(input []byte, at int) {
	var a evm.Address
	start := 2 + 2*at
	if end := start + 2*len(a); end <= len(input) {
		if _, err := hex.Decode(a[:], input[start:end]); err == nil {
			r.unsure = append(r.unsure, a)
		}
	}
}

func callType(name []byte) evm.CallType {
	switch string(name) {
	case "CALL":
		return evm.CallPlain
	case "CALLCODE":
		return evm.CallCode
	case "DELEGATECALL":
		return evm.CallDelegate
	case "STATICCALL":
		return evm.CallStatic
	case "CREATE":
		return evm.CallCreate
	case "CREATE2":
		return evm.CallCreate2
	case "SELFDESTRUCT":
		return evm.CallSelfDestruct
	}
	return evm.CallUnknown
}

// eachTrace reads the answer of debug_traceBlockByHash: one call reads each
// transaction's result.
func (f *fields) eachTrace(text []byte, txs []evm.Tx, read func(i int) error) error {
	f.Reset(text)
	count := 0
	f.Elements(func(i int) {
		if i >= len(txs) {
			f.Fail(fmt.Errorf("more than %d traces", len(txs)))
			return
		}
		count++
		got := false
		f.Members(func(name []byte) {
			switch string(name) {
			case "txHash":
				f.sameHash("txHash", &txs[i].Hash)
			case "result":
				if got = !f.Null(); got {
					if err := read(i); err != nil {
						f.Fail(fmt.Errorf("trace %d: %w", i, err))
					}
				}
			case "error":
				if !f.Null() && len(f.Text()) > 0 {
					f.Fail(errGivenUp)
				}
			default:
				f.Skip()
			}
		})
		if !got {
			f.Fail(fmt.Errorf("trace %d has no result", i))
		}
	})
	if f.End() && count != len(txs) {
		return fmt.Errorf("%d traces of %d transactions", count, len(txs))
	}
	return f.Err()
}

// diffReader reads the results of the prestateTracer in diffMode.
type diffReader struct {
	fields
	ledger    ledger
	pre, post map[evm.Address]amount
}

// amount is the balance of an account in one side of a diff.
type amount struct {
	wei   uint256.Int
	known bool // false: the diff has the account, but not its balance
}

func (r *diffReader) result() error {
	clear(r.pre)
	clear(r.post)
	const pre, post = 1, 2
	seen := 0
	r.Members(func(name []byte) {
		switch string(name) {
		case "pre":
			r.side(r.pre)
			seen |= pre
		case "post":
			r.side(r.post)
			seen |= post
		default:
			r.Skip()
		}
	})
	switch {
	case r.Err() != nil:
		return r.Err()
	case seen != pre|post:
		return errors.New("diff without pre or post")
	}
	r.ledger.apply(r.pre, r.post)
	return nil
}

func (r *diffReader) side(to map[evm.Address]amount) {
	r.Members(func(name []byte) {
		a, err := hexAddress(name)
		r.failAt("account", err)
		var v amount
		r.Members(func(name []byte) {
			switch {
			case string(name) != "balance":
				r.Skip()
			case !r.Null():
				r.uint256("balance", &v.wei)
				v.known = true
			}
		})
		to[a] = v
	})
}
