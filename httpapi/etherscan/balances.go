package etherscan

import (
	"context"
	"math"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/view"
)

const (
	// maxBalances is how many addresses one call may ask about.
	maxBalances = 20
	// maxTokens bounds the tokens of a page of balances, of which a node may be asked.
	maxTokens = 500
)

// balance writes the balance of an address.
func balance(c *call) error {
	a, err := c.address("address")
	if err != nil {
		return err
	}
	if err := c.at(); err != nil {
		return err
	}
	wei, err := c.native(a)
	c.value(&wei)
	return err
}

// balancemulti lists the balances of several addresses.
func balancemulti(c *call) error {
	list, err := c.addresses("address", maxBalances)
	if err != nil {
		return err
	}
	if err := c.at(); err != nil {
		return err
	}
	c.w.Raw("[")
	for i := range list {
		wei, err := c.native(list[i])
		if err != nil {
			return err
		}
		c.passed += rowsPerUnit // each costs a unit
		c.w.open()
		c.w.address("account", &list[i])
		c.w.amount("balance", &wei)
		c.w.Raw("}")
	}
	c.w.Raw("]")
	return nil
}

// value writes an amount as the whole result.
func (c *call) value(v *uint256.Int) { c.w.B = append(view.AppendAmount(append(c.w.B, '"'), v), '"') }

// native returns the balance of an address at the view's height, from the index or else
// from the node.
func (c *call) native(a evm.Address) (wei uint256.Int, err error) {
	wei, known, err := c.v.NativeBalance(a)
	if err != nil || known {
		return wei, err
	}
	if c.chain.Down() != nil {
		return wei, refusal("The balance is not indexed, and the chain's node does not answer")
	}
	ctx, cancel := context.WithTimeout(c.work, c.x.NodeTimeout)
	defer cancel()
	height := c.v.Tip().Number
	got, err := c.chain.Balance(ctx, a, &height)
	if err != nil && c.arg("tag") == "" || c.arg("tag") == "latest" && err != nil {
		// A node that keeps no old states may have dropped that of the view's height.
		got, err = c.chain.Balance(ctx, a, nil)
	}
	if err != nil {
		return wei, refusal("The balance is not indexed, and the chain's node does not have it")
	}
	return *got, nil
}

// tokenbalance writes what an address has of an ERC-20 token.
func tokenbalance(c *call) error {
	token, err := c.address("contractaddress")
	if err != nil {
		return err
	}
	a, err := c.address("address")
	if err != nil {
		return err
	}
	if err := c.at(); err != nil {
		return err
	}
	list, _, err := c.v.TokenBalances(a, []evm.Address{token}, index.Page{Limit: 1})
	if err != nil {
		return err
	}
	var amount uint256.Int
	for _, b := range c.settled(a, list) {
		amount = b.Amount
	}
	c.value(&amount)
	return nil
}

// settled asks contracts for the balances that transfers do not tell. Where no node
// answers they are what was said last, or what transfers tell.
func (c *call) settled(holder evm.Address, list []index.TokenBalance) []index.TokenBalance {
	var tokens []evm.Address
	var at []int
	tip := c.v.Tip()
	for i := range list {
		if b := &list[i]; b.Doubtful && !(b.Said && b.SaidAt == tip.Number) {
			tokens, at = append(tokens, b.Token), append(at, i)
		}
	}
	if len(tokens) == 0 || c.chain.Down() != nil {
		return list
	}
	ctx, cancel := context.WithTimeout(c.work, c.x.NodeTimeout)
	defer cancel()
	amounts, err := c.chain.TokenBalances(ctx, holder, tokens, &tip)
	if err != nil {
		c.x.Desk.Log.Debug("a chain's node does not give balances of tokens", "chain", c.chain.Info.ChainID, "err", err)
	}
	for k := range amounts {
		list[at[k]].Amount = amounts[k]
	}
	return list
}

// addresstokenbalance lists the ERC-20 tokens of an address.
func addresstokenbalance(c *call) error {
	return c.held(func(b *index.TokenBalance, meta *index.TokenMeta) {
		c.w.address("TokenAddress", &b.Token)
		c.w.text("TokenName", meta.Name)
		c.w.text("TokenSymbol", meta.Symbol)
		c.w.amount("TokenQuantity", &b.Amount)
		c.w.count("TokenDivisor", uint64(meta.Decimals))
	})
}

// tokenlist is the same in the form of another explorer.
func tokenlist(c *call) error {
	return c.held(func(b *index.TokenBalance, meta *index.TokenMeta) {
		c.w.amount("balance", &b.Amount)
		c.w.address("contractAddress", &b.Token)
		c.w.count("decimals", uint64(meta.Decimals))
		c.w.text("name", meta.Name)
		c.w.text("symbol", meta.Symbol)
		c.w.text("type", index.ERC20.String())
	})
}

// held writes the tokens of an address, which lie in the order of their addresses.
func (c *call) held(write func(b *index.TokenBalance, meta *index.TokenMeta)) error {
	a, err := c.address("address")
	if err != nil {
		return err
	}
	w, err := c.window()
	if err != nil {
		return err
	}
	if w.skip+w.size > maxTokens {
		w.size = max(maxTokens-w.skip, 0)
	}
	p := index.Page{Limit: w.skip + w.size, To: math.MaxUint64}
	list, _, err := c.v.TokenBalances(a, nil, p)
	if err != nil {
		return err
	}
	c.passed += len(list)
	c.w.Raw("[")
	for i, b := range c.settled(a, list) {
		if i < w.skip || b.Amount.IsZero() {
			continue
		}
		meta, err := c.token(&b.Token)
		if err != nil {
			return err
		}
		c.w.open()
		write(&b, &meta)
		c.w.Raw("}")
	}
	c.w.Raw("]")
	return nil
}
