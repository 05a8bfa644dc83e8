package evm

import (
	"context"
	"math"
	"slices"
	"strconv"

	"quorate/engine/chain/evm"
	events "quorate/engine/chain/icm"
	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/view"
)

// The bounds of pageSize.
var (
	pagesOf500 = door.PageSize{Min: 1, Max: 500, Def: 10}
	// pagesOfHolders is that of endpoint 18.
	pagesOfHolders = door.PageSize{Min: 1, Max: 5000, Def: 1000}
	// wholeBlock: 0, the default, gives the whole block in one page.
	wholeBlock = door.PageSize{Min: 0, Max: 100, Def: 0}
)

func (c *call) itemAddress(v []byte) *door.Failure {
	if !door.ParseAddress(v, &c.addr) {
		return door.BadRequest("address " + door.NotAddress(v))
	}
	return nil
}

func (c *call) itemTx(v []byte) *door.Failure {
	if !door.ParseHex(v, c.hash[:]) {
		return door.BadRequest("txHash must be 0x and 64 hex digits, not " + door.Excerpt(v))
	}
	return nil
}

func (c *call) itemBlock(v []byte) *door.Failure {
	var ok bool
	if c.number, ok = door.ParseUint(v); ok {
		return nil
	}
	if c.hasHash = door.ParseHex(v, c.hash[:]); !c.hasHash {
		return door.BadRequest("blockId must be a block number in decimal or a block hash, 0x and 64 hex digits, not " + door.Excerpt(v))
	}
	return nil
}

// only says that the answer shows nothing else of the chain than a list of the
// address; 0 is nothing that further blocks change.
func (c *call) only(l index.List) {
	c.Shows = reply.Shown{Still: still, List: uint8(l), Of: c.addr, Height: c.Tip}
}

// still opens the chain to see whether anything came to what is shown.
func still(s *reply.Shown, of reply.Marked) (tip evm.Hash, ok bool) {
	c, ok := of.(*Chain)
	if !ok {
		return tip, false
	}
	v, err := c.At(nil)
	if err != nil {
		return tip, false
	}
	defer v.Close()
	now := v.Tip()
	if now.Number < s.Height {
		return tip, false
	}
	if s.List != 0 {
		if height, found, err := v.Newest(index.List(s.List), s.Of); err != nil || found && height > s.Height {
			return tip, false
		}
	}
	return now.Hash, true
}

// addressTxs is endpoint 2.
func addressTxs(c *call) *door.Failure {
	c.only(index.ListTxs)
	c.List("transactions")
	next, err := c.V.AddressTxs(c.addr, c.page(), func(tx *index.Tx) bool {
		c.W.TxDetails(tx, &c.addr)
		return c.Room()
	})
	return c.End(next, err)
}

// addressNFTTransfers is endpoint 6.
func addressNFTTransfers(c *call) *door.Failure {
	c.List("transactions")
	next, err := c.V.AddressTransfers(c.addr, index.ERC721, c.page(), c.transfer)
	return c.End(next, err)
}

// tokenTransfers is endpoint 8.
func tokenTransfers(c *call) *door.Failure {
	c.only(index.ListTokenTransfers)
	c.List("transfers")
	next, err := c.V.TokenTransfers(c.addr, c.page(), c.transfer)
	return c.End(next, err)
}

func (c *call) transfer(t *index.AddressedTransfer) bool {
	c.W.BlockTransfer(t)
	return c.Room()
}

func (c *call) nativeTx(tx *index.Tx) bool {
	c.W.NativeTx(tx)
	return c.Room()
}

// spamRounds bounds how often a page of balances is filled up after spam was
// taken out of it; a page may then be short, but has a token.
const spamRounds = 10

// tokenBalances is endpoint 7.
func tokenBalances(c *call) *door.Failure {
	wei, f := c.native()
	if f != nil {
		return f
	}
	list, next, err := c.V.TokenBalances(c.addr, c.q.contracts, c.page())
	list = c.balances(list)
	for round := 0; err == nil; round++ {
		if next == nil || len(list) >= c.Q.PageSize || round == spamRounds {
			break
		}
		var more []index.TokenBalance
		p := c.page()
		p.After, p.Limit = next, c.Q.PageSize-len(list)
		more, next, err = c.V.TokenBalances(c.addr, c.q.contracts, p)
		list = append(list, c.balances(more)...)
	}
	if err != nil {
		return c.Unreadable(err)
	}
	c.W.Raw("{")
	c.W.NativeBalance(&wei)
	c.Rows("erc20TokenBalances")
	for i := range list {
		c.W.TokenBalance(&list[i])
	}
	return c.End(next, nil)
}

// balances makes balances fit to show.
func (c *call) balances(list []index.TokenBalance) []index.TokenBalance {
	list = c.settled(list)
	if !c.q.keepSpam {
		list = c.withoutSpam(list)
	}
	return list
}

// settled asks contracts for the balances that transfers do not tell, and leaves out
// those that are nothing. Where no node answers they are what was said last, or what
// transfers tell.
func (c *call) settled(list []index.TokenBalance) []index.TokenBalance {
	var tokens []evm.Address
	var at []int
	for i := range list {
		if b := &list[i]; b.Doubtful && !(b.Said && b.SaidAt == c.Tip) {
			tokens, at = append(tokens, b.Token), append(at, i)
		}
	}
	if len(tokens) > 0 && c.Chain.Down() == nil {
		ctx, cancel := context.WithTimeout(c.Work, c.EVM.NodeTimeout)
		defer cancel()
		tip := c.V.Tip()
		amounts, err := c.Chain.TokenBalances(ctx, c.addr, tokens, &tip)
		if err != nil {
			c.Log.Debug("a chain's node does not give balances of tokens", "chain", c.Info.ChainID, "err", err)
		}
		for k := range amounts {
			b := &list[at[k]]
			b.Amount, b.Said, b.SaidAt = amounts[k], true, c.Tip
		}
	}
	return slices.DeleteFunc(list, func(b index.TokenBalance) bool { return b.Amount.IsZero() })
}

func (c *call) withoutSpam(list []index.TokenBalance) []index.TokenBalance {
	kept := list[:0]
	for i := range list {
		if c.Reputation(&list[i].Token) != view.Malicious {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// blockTxs is endpoint 10.
func blockTxs(c *call) *door.Failure {
	if f := c.findBlock(); f != nil {
		return f
	}
	p := index.Page{After: c.After, Limit: c.Q.PageSize, Ascending: true, To: math.MaxUint64}
	if p.Limit == 0 { // the whole block
		p.Limit = math.MaxInt
	}
	c.only(0)
	c.List("transactions")
	next, err := c.V.BlockTxs(c.number, p, c.nativeTx)
	return c.End(next, err)
}

// findBlock checks that the block exists and gives it a number.
func (c *call) findBlock() *door.Failure {
	if c.hasHash {
		number, found, err := c.V.BlockNumber(c.hash)
		if err != nil {
			return c.Unreadable(err)
		}
		if !found {
			return c.Absent("block " + c.hash.String() + " does not exist or is not indexed yet")
		}
		c.number = number
		return nil
	}
	if c.number > c.Tip {
		return c.Absent("block " + strconv.FormatUint(c.number, 10) + " does not exist or is not indexed yet; the latest is " +
			strconv.FormatUint(c.Tip, 10))
	}
	if c.number < c.V.First() {
		return c.below(c.number)
	}
	return nil
}

// ownedNFTs is endpoint 11.
func ownedNFTs(c *call) *door.Failure {
	wei, f := c.native()
	if f != nil {
		return f
	}
	list, next, err := c.V.NFTs(c.addr, c.q.contract, c.page())
	if err != nil {
		return c.Unreadable(err)
	}
	c.W.Raw("{")
	c.W.NativeBalance(&wei)
	c.Rows("erc721TokenBalances")
	for i := range list {
		c.W.OwnedNFT(&list[i], &c.addr)
		if i+1 < len(list) && !c.Room() { // names, addresses and metadata are of any length
			next = list[i].Position()
			break
		}
	}
	return c.End(next, nil)
}

// latestTxs is endpoint 12.
func latestTxs(c *call) *door.Failure {
	var failed *bool
	if c.q.status != anyStatus {
		only := c.q.status == onlyFailed
		failed = &only
	}
	c.List("transactions")
	next, err := c.V.LatestTxs(c.page(), failed, c.nativeTx)
	return c.End(next, err)
}

// nativeBalance is endpoint 15.
func nativeBalance(c *call) *door.Failure {
	wei, f := c.native()
	if f != nil {
		return f
	}
	c.W.Raw("{")
	c.W.NativeBalance(&wei)
	c.W.Raw("}")
	return nil
}

// singleTx is the complete view of one transaction.
func singleTx(c *call) *door.Failure {
	tx, found, err := c.V.Tx(c.hash)
	if err != nil {
		return c.Unreadable(err)
	}
	if !found {
		return c.Absent("transaction " + c.hash.String() + " does not exist or is not indexed yet")
	}
	c.only(0)
	info, f := c.icmOf(tx)
	if f != nil {
		return f
	}
	c.W.SingleTx(tx, info)
	return nil
}

// icmOf returns what a transaction's answer says of its interchain message, nil if it
// has none.
func (c *call) icmOf(tx *index.Tx) (*view.ICMInfo, *door.Failure) {
	if !c.V.HasICM() {
		return nil, nil
	}
	r, found, err := c.V.ICMInTx(tx.Block.Number, tx.Index)
	if err != nil || !found {
		if err != nil {
			return nil, c.Unreadable(err)
		}
		return nil, nil
	}
	info := &view.ICMInfo{ID: r.ID, Sent: r.Kind == events.Sent, Peer: r.Peer}
	if peer, ok := c.EVM.Chains.Chain(r.Peer.String()); ok {
		info.PeerInfo = peer.Info
	}
	return info, nil
}
