package oracle

import (
	"context"
	"math/big"

	"github.com/ava-labs/libevm/common"
)

// saidAt names what a contract says of a balance after a block.
type saidAt struct {
	holding
	height uint64
}

// movesOf returns the moves of ERC-20 tokens in a transaction. Wrapping moves coins
// from nobody, unwrapping to nobody.
func (c *Chain) movesOf(tx *Tx) (list []*Transfer) {
	if len(c.Wrapped) == 0 || tx.receipt == nil {
		for _, t := range tx.Transfers {
			if t.Kind == ERC20 {
				list = append(list, t)
			}
		}
		return list
	}
	if tx.moves != nil {
		return tx.moves
	}
	for _, l := range tx.receipt.Logs {
		for _, t := range tx.Transfers {
			if t.Kind == ERC20 && t.LogIndex == uint64(l.LogIndex) {
				list = append(list, t)
			}
		}
		if !c.Wrapped[l.Address] || len(l.Topics) != 2 || len(l.Data) != 32 {
			continue
		}
		m := &Transfer{Tx: tx, Kind: ERC20, Token: l.Address, Value: new(big.Int).SetBytes(l.Data)}
		switch l.Topics[0] {
		case topic("Deposit(address,uint256)"):
			m.To = address(l.Topics[1])
		case topic("Withdrawal(address,uint256)"):
			m.From = address(l.Topics[1])
		default:
			continue
		}
		list = append(list, m)
	}
	tx.moves = list
	return list
}

// FindUneven finds the ERC-20 tokens of which a balance at the tip is not the sum of
// events.
func (c *Chain) FindUneven(ctx context.Context, n *Node) error {
	c.Uneven = make(map[common.Address]bool)
	c.said = make(map[saidAt]*big.Int)
	var pairs []holding
	for h := range c.everHeld(c.Tip()) {
		pairs = append(pairs, h)
	}
	if err := c.ask(ctx, n, pairs, c.Tip()); err != nil {
		return err
	}
	for _, h := range pairs {
		sum := c.at(c.Tip()).coins[h]
		if sum == nil {
			sum = new(big.Int)
		}
		if c.said[saidAt{h, c.Tip()}].Cmp(sum) != 0 {
			c.Uneven[h.token] = true
		}
	}
	return nil
}

// Say asks what a holder has of the uneven tokens after a block.
func (c *Chain) Say(ctx context.Context, n *Node, holder common.Address, height uint64) error {
	var pairs []holding
	for h := range c.everHeld(height) {
		if h.holder == holder && c.Uneven[h.token] && c.said[saidAt{h, height}] == nil {
			pairs = append(pairs, h)
		}
	}
	return c.ask(ctx, n, pairs, height)
}

func (c *Chain) ask(ctx context.Context, n *Node, pairs []holding, height uint64) error {
	calls := make([]contractCall, len(pairs))
	for i, h := range pairs {
		calls[i] = contractCall{h.token, input("balanceOf(address)", common.BytesToHash(h.holder[:])), height}
	}
	got, err := n.read(ctx, calls)
	if err != nil {
		return err
	}
	for i, h := range pairs {
		c.said[saidAt{h, height}] = new(big.Int).SetBytes(got[i])
	}
	return nil
}

// coin returns what somebody has of a token after a block.
func (c *Chain) coin(a, token common.Address, height uint64) *big.Int {
	if c.Uneven[token] {
		return c.said[saidAt{holding{a, token}, height}]
	}
	return c.at(height).coins[holding{a, token}]
}
