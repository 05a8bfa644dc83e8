package evmchain

import (
	"slices"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// Sample names things that a chain's history holds, so that a client needs no
// guessing. It says nothing of blocks after the history.
type Sample struct {
	// Busy is in most blocks; Owner owns ERC-721 tokens of NFT, if anybody does.
	Busy, Owner         evm.Address
	Token, NFT, Items   evm.Address
	Spam, Hostile       evm.Address
	Odd                 OddTokens
	Creator, Contract   evm.Address // a contract made from another by CREATE2
	Block               uint64      // with transactions
	BlockHash           evm.Hash
	Tx                  evm.Hash    // in Block
	Failed, Warp        evm.Hash    // zero if there is none
	First, Last         uint64      // all blocks but the first
	Threshold           uint256.Int // of Token: the middle of what its holders have
	FirstTime, LastTime time.Time
}

// OddTokens are the contracts of tokens that careless readers get wrong.
type OddTokens struct {
	// Wrapped is the native coin as a token: its Deposit and Withdrawal events change
	// balances without a transfer.
	Wrapped evm.Address
	// Rebasing changes all balances by a factor, Taxed keeps a part of what is
	// transferred, both without a transfer; Phantom emits transfers of nothing.
	Rebasing, Taxed, Phantom evm.Address
	// Renamed changes its name, symbol and decimals; Wide has 300 decimals, and Old
	// none, name and symbol as single words.
	Renamed, Wide, Old evm.Address
	// Revealed has NFTs whose URIs change.
	Revealed evm.Address
}

// Sample looks for what a client may ask about. The last block of each kind
// is given.
func (c *Chain) Sample() Sample {
	defer c.read()()
	l, height := c.ledger, uint32(c.cfg.Blocks) // bounded
	at := func(i int) evm.Address { return l.accounts[contractAccount(i)].address }
	s := Sample{
		Busy: l.accounts[busy].address, Token: at(cToken), NFT: at(cApes), Items: at(cItems), Spam: at(cSpam), Hostile: at(cHostile),
		Odd: OddTokens{
			Wrapped: at(cWrapped), Rebasing: at(cRebase), Taxed: at(cTaxed), Phantom: at(cPhantom), Renamed: at(cRenamed),
			Wide: at(cWide), Old: at(cOld), Revealed: at(cReveal),
		},
		First: 1, Last: c.cfg.Blocks,
		FirstTime: time.UnixMilli(int64(c.cfg.timeOf(0))).UTC(), LastTime: time.UnixMilli(int64(c.cfg.timeOf(c.cfg.Blocks))).UTC(), // bounded
	}
	for id := uint32(1); id <= l.minted[cApes]; id++ {
		if owner := l.owner(nftKey{cApes, id}, height); owner != zeroAccount {
			s.Owner = l.accounts[owner].address
			if owner == busy {
				break
			}
		}
	}
	s.Threshold = l.median(cToken, height)
	const enough = 2000 // blocks to look at
	for n := c.cfg.Blocks; n > 0 && n+enough > c.cfg.Blocks; n-- {
		if s.look(c.block(n)) {
			break
		}
	}
	if s.Tx.IsZero() { // a short history
		b := c.block(1)
		s.Tx, s.Block, s.BlockHash = b.txs[0].hash, 1, b.hash
	}
	return s
}

// median returns what the holder in the middle has of a token.
func (l *ledger) median(contract uint8, height uint32) uint256.Int {
	var all []uint256.Int
	for i := range l.accounts {
		if i == int(zeroAccount) {
			continue // its entry is the supply
		}
		if v := l.token(tokenKey{contract: contract, account: uint32(i)}, height); !v.IsZero() { // bounded
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return uint256.Int{}
	}
	slices.SortFunc(all, func(a, b uint256.Int) int { return a.Cmp(&b) })
	return all[(len(all)-1)/2]
}

// look notes what a block holds, and tells whether everything is found.
func (s *Sample) look(b *block) bool {
	for _, t := range b.txs {
		switch {
		case t.failed && s.Failed.IsZero():
			s.Failed = t.hash
		case t.op.kind == opWarp && s.Warp.IsZero():
			s.Warp = t.hash
		case t.op.kind == opFactoryNested && s.Contract == (evm.Address{}):
			s.Creator, s.Contract = *b.address(t.op.a), *b.address(t.op.b)
		case t.op.kind == opSwap && s.Tx.IsZero():
			s.Tx, s.Block, s.BlockHash = t.hash, b.number, b.hash
		}
	}
	return !s.Failed.IsZero() && !s.Warp.IsZero() && !s.Contract.IsZero() && !s.Tx.IsZero()
}
