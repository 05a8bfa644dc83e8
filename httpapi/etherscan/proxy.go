package etherscan

import (
	"strings"

	"github.com/goccy/go-json"
	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/httpapi/door"
)

// passed makes an action of a method of the chain's RPC, whose parameters are those of the
// query that are named. A name behind a colon has a default; that of a member of a call
// has a dot before it.
func passed(method string, names ...string) func(c *call) error {
	return func(c *call) error { return c.forward(method, c.rpcParams(names)) }
}

// rpcParams returns the parameters of a method.
func (c *call) rpcParams(names []string) []any {
	list := []any{}
	object := map[string]string{}
	for _, name := range names {
		name, def, _ := strings.Cut(name, ":")
		if member, ok := strings.CutPrefix(name, "."); ok {
			if len(object) == 0 && len(list) == 0 {
				list = append(list, object)
			}
			if v := c.arg(member); v != "" {
				object[member] = v
			}
			continue
		}
		v := c.arg(name)
		if v == "" {
			v = def
		}
		switch {
		case name == "boolean":
			list = append(list, v == "true")
		case v != "":
			list = append(list, v)
		}
	}
	return list
}

// forward has the chain's RPC answer.
func (c *call) forward(method string, params []any) error {
	if c.x.Forward == nil {
		return refusal("Chain RPC is not served here")
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	if f := c.x.Forward(c.ctx, c.params, c.chain.ID(), body); f != nil {
		return f
	}
	return errAnswered
}

// The selector of totalSupply(), and that of an answer of one word.
const (
	selectSupply = "0x18160ddd"
	wordDigits   = 2 + 64
)

// tokensupply asks a token's contract how much of it there is.
func tokensupply(c *call) error {
	token, err := c.address("contractaddress")
	if err != nil {
		return err
	}
	err = c.forward("eth_call", []any{map[string]string{"to": token.String(), "data": selectSupply}, "latest"})
	if err != errAnswered { //nolint:errorlint // it is that very value
		return err
	}
	var said struct{ Result string }
	body := c.ctx.Response.Body()
	if c.ctx.Response.StatusCode() != fasthttp.StatusOK || json.Unmarshal(body, &said) != nil || len(said.Result) != wordDigits {
		return refusal("The contract does not say how much of the token there is")
	}
	var word evm.Hash
	if !door.ParseHex([]byte(said.Result), word[:]) {
		return refusal("The contract does not say how much of the token there is")
	}
	c.ctx.Response.ResetBody()
	c.value(new(uint256.Int).SetBytes32(word[:]))
	return nil
}
