package etherscan

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
)

const (
	// callTime bounds the time for an answer.
	callTime = 10 * time.Second
	// rowsPerUnit is how many rows that are passed over cost a unit, as elsewhere. Those of
	// the answer cost what their bytes do.
	rowsPerUnit = 40
	// maxAnswer bounds a body, in bytes: transactions have inputs of any length.
	maxAnswer = 16 << 20
)

// The messages of answers without rows, which libraries know.
const (
	noTxs     = "No transactions found"
	noRecords = "No records found"
)

// none is an answer without rows.
type none string

func (n none) Error() string { return string(n) }

// refusal says what is wrong with a request.
type refusal string

func (r refusal) Error() string { return string(r) }

// errAnswered ends a call whose answer is complete.
var errAnswered = errors.New("answered")

// call is one request.
type call struct {
	args
	x      *Room
	params *door.Params
	work   context.Context

	chain *evmapi.Chain
	v     *index.View // nil for actions that read no rows
	w     writer
	// passed counts what was read beyond the rows of the answer.
	passed int

	last   *index.Tx // that was read last
	totals gasTotals
	tokens map[evm.Address]index.TokenMeta
}

// serve answers a request.
func (x *Room) serve(ctx *fasthttp.RequestCtx, p door.Params) {
	work, cancel := context.WithTimeout(x.Desk.Work, callTime)
	defer cancel()
	c := &call{x: x, args: args{ctx}, params: &p, work: work}
	c.w.B = append(ctx.Response.SwapBody(nil)[:0], `{"status":"1","message":"OK","result":`...)
	err := c.run()
	var f *door.Failure
	var empty none
	switch {
	case errors.Is(err, errAnswered):
		return
	case err == nil:
		c.w.Raw("}")
	case errors.As(err, &f):
		door.Fail(ctx, f)
		return
	case errors.As(err, &empty):
		c.w.B = append(c.w.B[:0], `{"status":"0","message":"`+string(empty)+`","result":[]}`...)
	default:
		c.w.B = AppendError(c.w.B[:0], c.words(err))
	}
	ctx.Response.Header.SetContentType(door.ContentJSON)
	x.Desk.Owe(ctx, &p, c.passed/rowsPerUnit)
	x.Desk.Packers.Pack(ctx, c.w.B, nil)
}

// run finds the action and writes its result.
func (c *call) run() error {
	a, err := find(c.arg("module"), c.arg("action"))
	if err != nil {
		return err
	}
	name := c.arg("chainid")
	var ok bool
	if c.chain, ok = c.x.Chain(c.ctx, name); !ok {
		return refusal("Missing or unsupported chainid parameter: " + door.Excerpt([]byte(name)))
	}
	if number := c.chain.Info.ChainID; !c.params.Client.Permits(number) {
		return &door.Failure{Status: fasthttp.StatusForbidden, Message: "the API key does not permit chain " + number}
	}
	if a.rowless {
		return a.run(c)
	}
	if err := c.open(nil); err != nil {
		return err
	}
	defer func() { c.v.Close() }()
	return a.run(c)
}

// open has the call read the chain at a height, or as it is now.
func (c *call) open(at *uint64) error {
	v, err := c.chain.At(at)
	if err == nil {
		c.v = v
	}
	return err
}

// words says in the words of an answer why there is none.
func (c *call) words(err error) string {
	var r refusal
	switch {
	case errors.Is(err, errUnverified):
		return unverified
	case errors.As(err, &r):
		return "Error! " + string(r)
	case errors.Is(err, index.ErrAbove), errors.Is(err, index.ErrBelow):
		return "Error! The block is not indexed here"
	case errors.Is(err, index.ErrEmpty):
		return "Error! The chain is not indexed yet: its first block is awaited"
	case errors.Is(err, context.DeadlineExceeded):
		return "Error! The answer takes too long: ask for fewer blocks"
	}
	c.x.Desk.Log.Error("a chain's rows cannot be read", "chain", c.chain.Info.ChainID, "path", Path, "action", c.arg("action"), "err", err)
	return "Error! Internal error"
}

// at has the call read the chain after the block of the parameter tag, if that names one.
func (c *call) at() error {
	n, err := c.block("tag", math.MaxInt64)
	if err != nil || n == math.MaxInt64 {
		return err
	}
	before := c.v
	if err = c.open(&n); err == nil {
		before.Close()
	}
	return err
}

// whole returns a transaction with all that happened in it.
func (c *call) whole(hash *evm.Hash) (*index.Tx, error) {
	if c.last != nil && c.last.Hash == *hash {
		return c.last, nil
	}
	tx, found, err := c.v.Tx(*hash)
	if err == nil && !found {
		err = errors.New("etherscan: a listed transaction is missing")
	}
	c.last = tx
	return tx, err
}

// token returns what a token says of itself.
func (c *call) token(a *evm.Address) (index.TokenMeta, error) {
	if meta, ok := c.tokens[*a]; ok {
		return meta, nil
	}
	meta, _, err := c.v.Token(*a)
	if c.tokens == nil {
		c.tokens = make(map[evm.Address]index.TokenMeta)
	}
	c.tokens[*a] = meta
	return meta, err
}

// gasTotals are the sums of the gas of a block's transactions, up to each.
type gasTotals struct {
	block evm.Hash
	sums  []uint64
}

// cumulative returns the gas of a block up to a transaction.
func (c *call) cumulative(ref *index.TxRef) (uint64, error) {
	t := &c.totals
	if t.block != ref.Block.Hash || len(t.sums) == 0 {
		t.block, t.sums = ref.Block.Hash, t.sums[:0]
		sum := uint64(0)
		_, err := c.v.BlockTxs(ref.Block.Number, index.Page{Limit: math.MaxInt, Ascending: true, To: math.MaxUint64}, func(tx *index.Tx) bool {
			sum += tx.GasUsed
			t.sums = append(t.sums, sum)
			return true
		})
		if err != nil {
			return 0, err
		}
		c.passed += len(t.sums)
	}
	if int(ref.Index) >= len(t.sums) {
		return 0, errors.New("etherscan: a block has fewer transactions than it lists")
	}
	return t.sums[ref.Index], nil
}

// room reports whether the answer may grow, and that there is time for it.
func (c *call) room() error {
	if len(c.w.B) > maxAnswer {
		return refusal("The answer is too large, please select a smaller offset")
	}
	return c.work.Err()
}
