package etherscan

import (
	"math"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/httpapi/door"
)

// args are the parameters of a request.
type args struct{ ctx *fasthttp.RequestCtx }

// arg returns a parameter of the query or of the form, "" if there is none.
func (r args) arg(name string) string {
	v := r.ctx.QueryArgs().Peek(name)
	if len(v) == 0 && r.ctx.IsPost() {
		v = r.ctx.PostArgs().Peek(name)
	}
	return strings.TrimSpace(string(v))
}

// address reads an address that must be there.
func (r args) address(name string) (a evm.Address, err error) {
	if a, err = evm.ParseAddress(r.arg(name)); err != nil {
		return a, refusal("Invalid address format in " + name)
	}
	return a, nil
}

// optional reads an address, nil if there is none.
func (r args) optional(name string) (*evm.Address, error) {
	if r.arg(name) == "" {
		return nil, nil
	}
	a, err := r.address(name)
	return &a, err
}

// addresses reads a list of addresses.
func (r args) addresses(name string, most int) (list []evm.Address, err error) {
	items := strings.Split(r.arg(name), ",")
	if len(items) > most {
		return nil, refusal("Maximum of " + strconv.Itoa(most) + " addresses in " + name)
	}
	for _, item := range items {
		a, err := evm.ParseAddress(strings.TrimSpace(item))
		if err != nil {
			return nil, refusal("Invalid address format in " + name)
		}
		list = append(list, a)
	}
	return list, nil
}

// hash reads the hash of a transaction.
func (r args) hash(name string) (h evm.Hash, err error) {
	if !door.ParseHex([]byte(r.arg(name)), h[:]) {
		return h, refusal("Invalid transaction hash in " + name)
	}
	return h, nil
}

// number reads a whole number, def if it is not given.
func (r args) number(name string, def uint64) (uint64, error) {
	text := r.arg(name)
	if text == "" {
		return def, nil
	}
	n, ok := door.ParseUint([]byte(text))
	if !ok {
		return 0, refusal("Invalid number in " + name)
	}
	return n, nil
}

// block reads the number of a block, also in hex, or a word for the last one.
func (r args) block(name string, def uint64) (uint64, error) {
	text := r.arg(name)
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		n, err := strconv.ParseUint(digits, 16, 63)
		if err != nil {
			return 0, refusal("Invalid block number in " + name)
		}
		return n, nil
	}
	switch text {
	case "latest", "pending", "safe", "finalized", "accepted":
		return math.MaxInt64, nil
	case "earliest":
		return 0, nil
	}
	return r.number(name, def)
}
