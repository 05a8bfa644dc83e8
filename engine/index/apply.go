package index

import (
	"crypto/sha256"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/chain/warp"
	store "quorate/engine/store/index"
)

// prior returns what was before a block. Heights above it do not show.
type prior interface {
	// token returns an ERC-20 balance, zero if there is none.
	token(holder, token *evm.Address) (balance, error)
	setToken(holder, token *evm.Address, b balance)
	// cell returns a cell's value, nil if there is none.
	cell(k key) ([]byte, error)
	setCell(k key, value []byte)
	// tokenSeen and the like report whether a token was noted before, and note it.
	tokenSeen(t SeenToken) bool
}

// row is a row to write.
type row struct{ key, value []byte }

// rows collects rows. Their bytes lie in chunks that never move.
type rows struct {
	list  []row
	chunk []byte
	bytes int
}

const chunkSize, firstChunk = 1 << 20, 16 << 10

// room returns a slice with length 0 and at least n bytes of capacity.
func (r *rows) room(n int) []byte {
	if cap(r.chunk)-len(r.chunk) < n {
		// As much as there is already: the rows of a block at the head fill no large one.
		r.chunk = make([]byte, 0, max(n, min(max(r.bytes, firstChunk), chunkSize)))
	}
	return r.chunk[len(r.chunk):len(r.chunk):cap(r.chunk)]
}

// add keeps a row whose key and value were both appended to what room gave,
// the key first with keyLen bytes.
func (r *rows) add(b []byte, keyLen int) {
	r.chunk = r.chunk[:len(r.chunk)+len(b)]
	r.list = append(r.list, row{key: b[:keyLen:keyLen], value: b[keyLen:len(b):len(b)]})
	r.bytes += len(b)
}

// put keeps a copy of a row.
func (r *rows) put(k key, value []byte) {
	b := append(append(r.room(len(k)+len(value)), k...), value...)
	r.add(b, len(k))
}

// builder makes the rows of blocks. It does no I/O but what prior does.
type builder struct {
	m     *maker
	prior prior
	roll  *roll // nil: no metrics are made of the block
	rows  rows
	// lenient: a block without its trace is a gap, which metrics pass over.
	lenient bool
	seen    []SeenToken
	nfts    []SeenNFT

	// Room that is used again and again.
	scratch   key
	value     []byte
	enc       txEncoder
	part      partEncoder
	grouped   partRows
	transfers []Transfer
	roles     map[evm.Address]Role
	balances  map[holding]struct{}
	cells     map[string]struct{}
	header    consensus.Header
	owners    map[NFT]evm.Address
	capitals  capitals
}

// holding names an ERC-20 balance.
type holding struct{ holder, token evm.Address }

// SeenNFT is an ERC-721 or ERC-1155 token that was minted.
type SeenNFT struct {
	NFT
	Kind TransferKind
}

// start begins a key in the scratch room.
func (b *builder) start(table byte) key { return b.m.at.appendKey(b.scratch[:0], table) }

// put keeps a row, if its table is one of those that are made.
func (b *builder) put(k key, value []byte) {
	b.scratch = k
	if b.m.only[k[0]] {
		b.rows.put(k, value)
	}
}

// apply appends the rows of a block, which is the one after the block before.
func (b *builder) apply(blk *evm.Block) error {
	if b.m.writes(store.TableBlocks) {
		fees := feesOf(blk)
		b.value = appendHeader(b.value[:0], blk, &fees, b.gasCost(blk))
		b.put(b.start(store.TableBlocks).u64(blk.Number), b.value)
	}
	b.put(b.start(store.TableBlockHashes).hash(&blk.Hash), key(b.value[:0]).u64(blk.Number))
	clear(b.balances)
	clear(b.cells)
	clear(b.owners)
	if b.roll != nil {
		b.roll.begin(blk.TimeMilli, blk.GasUsed, blk.Traced || b.lenient)
	}
	ref := BlockRef{Number: blk.Number, Hash: blk.Hash, TimeMilli: blk.TimeMilli, BaseFee: blk.BaseFee}
	for i := range blk.Txs {
		if err := b.tx(&ref, blk, &blk.Txs[i]); err != nil {
			return err
		}
	}
	b.groupedParts(&ref)
	b.heads(blk)
	for h := range b.balances {
		if err := b.balance(&h, blk.Number); err != nil {
			return err
		}
	}
	for nft, owner := range b.owners {
		k := b.start(store.TableNFTOwners).addr(&nft.Token).word(nft.ID.Bytes32()).u64(^blk.Number)
		b.put(k, owner[:])
	}
	if err := b.sums(blk); err != nil {
		return err
	}
	b.native(blk)
	if b.roll != nil {
		return b.roll.end(&b.rows)
	}
	return nil
}

// balance appends the rows of an ERC-20 balance after a block. What it was for a
// while within the block is no peak: no block ended with it.
func (b *builder) balance(h *holding, number uint64) error {
	bal, err := b.prior.token(&h.holder, &h.token)
	if err != nil {
		return err
	}
	if bal.peak.Lt(&bal.amount) {
		if n := bal.amount.ByteLen(); n > bal.peak.ByteLen() {
			k := append(b.start(store.TableTokenHolders).addr(&h.token), byte(n)).addr(&h.holder)
			b.put(k, key(b.value[:0]).u64(number))
		}
		bal.peak = bal.amount
		b.prior.setToken(&h.holder, &h.token, bal)
	}
	k := b.start(store.TableTokenBalances).addr(&h.holder).addr(&h.token).u64(^number)
	b.value = bal.append(key(b.value[:0]).u64(number))
	b.put(k, b.value[heightLen:])
	b.put(b.start(store.TableHoldings).addr(&h.holder).addr(&h.token), b.value)
	b.put(b.start(store.TableHolders).addr(&h.token).addr(&h.holder), b.value)
	return nil
}

// tx appends the rows of a transaction.
func (b *builder) tx(ref *BlockRef, blk *evm.Block, tx *evm.Tx) error {
	if err := b.logs(ref, tx); err != nil {
		return err
	}
	if b.roll != nil {
		b.roll.tx(tx, b.transfers)
	}
	if b.m.writes(store.TableTxs) {
		k := b.start(store.TableTxs).u64(ref.Number).u32(tx.Index)
		b.value = b.enc.append(b.value[:0], tx, b.transfers, blk.Traced)
		b.put(k, b.value)
	}
	b.put(b.start(store.TableTxHashes).hash(&tx.Hash), key(b.value[:0]).u64(ref.Number).u32(tx.Index))
	if tx.Failed {
		b.put(b.start(store.TableFailed).u64(^ref.Number).u32(^tx.Index), nil)
	}
	b.parts(ref, tx, blk.Traced)
	return nil
}

// logs appends the rows of a transaction's logs. It takes them in their order:
// who wraps coins and forwards them had them in between.
func (b *builder) logs(ref *BlockRef, tx *evm.Tx) error {
	b.transfers = b.transfers[:0]
	if tx.Failed {
		return nil
	}
	for i := range tx.Logs {
		log, first := &tx.Logs[i], len(b.transfers)
		b.transfers = AppendTransfers(b.transfers, log)
		for j := first; j < len(b.transfers); j++ {
			if err := b.transfer(ref, tx, &b.transfers[j]); err != nil {
				return err
			}
		}
		if holder, amount, less, ok := b.m.c.wraps(log); ok {
			if err := b.change(&holder, &log.Address, &amount, less); err != nil {
				return err
			}
		}
		b.warp(ref, tx, log)
		if err := b.icm(ref, tx, i); err != nil {
			return err
		}
	}
	return nil
}

// takeRoles takes the part that each address has in a transaction.
func (b *builder) takeRoles(tx *evm.Tx) {
	clear(b.roles)
	b.roles[tx.From] |= RoleSender
	switch {
	case !tx.Creation:
		b.roles[tx.To] |= RoleReceiver
	case !tx.Contract.IsZero():
		b.roles[tx.Contract] |= RoleCreated
	}
	for i := range b.transfers {
		t := &b.transfers[i]
		role := RoleERC20 << (t.Kind - ERC20)
		b.roles[t.From] |= role
		b.roles[t.To] |= role
	}
	for i := range tx.Calls {
		c := &tx.Calls[i]
		b.roles[c.From] |= RoleInternal
		if !c.Type.Creates() || !c.To.IsZero() {
			b.roles[c.To] |= RoleInternal
		}
	}
}

// creations yields the contracts that a transaction made, and who made them.
func creations(tx *evm.Tx, take func(made, creator *evm.Address, typ evm.CallType)) {
	if tx.Failed {
		return
	}
	if tx.Creation && !tx.Contract.IsZero() {
		take(&tx.Contract, &tx.From, evm.CallCreate)
	}
	for i := range tx.Calls {
		if c := &tx.Calls[i]; c.Type.Creates() && !c.Reverted && !c.To.IsZero() {
			take(&c.To, &c.From, c.Type)
		}
	}
}

// transfer appends the rows of a transfer and moves balances and owners.
func (b *builder) transfer(ref *BlockRef, tx *evm.Tx, t *Transfer) error {
	index := key(b.value[:0]).u32(tx.Index)
	at := func(table byte, a *evm.Address) {
		b.put(b.start(table).addr(a).u64(^ref.Number).u32(^t.LogIndex).u16(^t.Item), index)
	}
	at(store.TableTokenTransfers, &t.Token)
	if seen := (SeenToken{Token: t.Token, Kind: t.Kind}); !b.prior.tokenSeen(seen) {
		b.seen = append(b.seen, seen)
		b.put(append(b.start(store.TableSeenTokens).addr(&t.Token), byte(t.Kind)), nil)
	}
	switch t.Kind {
	case ERC20:
		return b.move(&t.Token, &t.From, &t.To, &t.Value)
	case ERC721:
		at(store.TableAddressNFTs, &t.From)
		if t.To != t.From {
			at(store.TableAddressNFTs, &t.To)
		}
		b.owners[NFT{Token: t.Token, ID: t.ID}] = t.To
		if !t.To.IsZero() {
			b.put(b.start(store.TableOwnedNFTs).addr(&t.To).addr(&t.Token).word(t.ID.Bytes32()), nil)
		}
	}
	if err := b.collect(t); err != nil {
		return err
	}
	if t.From.IsZero() {
		b.nfts = append(b.nfts, SeenNFT{NFT: NFT{Token: t.Token, ID: t.ID}, Kind: t.Kind})
		b.put(b.start(store.TableSeenNFTs).addr(&t.Token).word(t.ID.Bytes32()), append(b.value[:0], byte(t.Kind)))
	}
	return nil
}

// move takes amount from one balance and adds it to another; minting and burning use the zero address.
func (b *builder) move(token, from, to *evm.Address, amount *uint256.Int) error {
	if err := b.change(from, token, amount, true); err != nil {
		return err
	}
	return b.change(to, token, amount, false)
}

func (b *builder) change(holder, token *evm.Address, amount *uint256.Int, less bool) error {
	if holder.IsZero() || !b.m.writes(store.TableTokenBalances) {
		return nil
	}
	bal, err := b.prior.token(holder, token)
	if err != nil {
		return err
	}
	var bad bool
	if less {
		if _, bad = bal.amount.SubOverflow(&bal.amount, amount); bad {
			bal.amount.Clear()
		}
	} else if _, bad = bal.amount.AddOverflow(&bal.amount, amount); bad {
		bal.amount.SetAllOne()
	}
	bal.doubtful = bal.doubtful || bad
	b.prior.setToken(holder, token, bal)
	b.balances[holding{*holder, *token}] = struct{}{}
	return nil
}

// wraps reads a log of a wrapped native coin: wrapping is no transfer, but changes
// a balance.
func (c *Chain) wraps(log *evm.Log) (holder evm.Address, amount uint256.Int, less, ok bool) {
	if !c.wrapped[log.Address] || len(log.Topics) != 2 || len(log.Data) != word ||
		log.Topics[0] != topicDeposit && log.Topics[0] != topicWithdrawal || !topicAddress(&holder, &log.Topics[1]) {
		return holder, amount, false, false
	}
	amount.SetBytes32(log.Data)
	return holder, amount, log.Topics[0] == topicWithdrawal, true
}

// warp appends the rows of a warp message.
func (b *builder) warp(ref *BlockRef, tx *evm.Tx, log *evm.Log) {
	if msg, ok := WarpMessage(log); ok {
		b.put(b.start(store.TableWarp).u64(ref.Number).u32(tx.Index).u32(log.Index), msg)
		id := sha256.Sum256(msg)
		b.put(b.start(store.TableWarpIDs).hash((*evm.Hash)(&id)).u64(ref.Number).u32(tx.Index).u32(log.Index), nil)
	}
}

// WarpMessage returns the unsigned message that a log of the warp precompile
// carries. It refers to the log's data.
func WarpMessage(log *evm.Log) ([]byte, bool) {
	if log.Address != warpPrecompile || len(log.Topics) != 3 || log.Topics[0] != topicWarp {
		return nil, false
	}
	return warp.UnwrapABI(log.Data)
}

// native appends the native balances after a block, and those before it: what an
// account has until its first change is known then.
func (b *builder) native(blk *evm.Block) {
	for i := range blk.Balances {
		bal := &blk.Balances[i]
		k := b.start(store.TableNativeBalances).addr(&bal.Address).u64(^blk.Number)
		b.put(k, appendAmount(appendU256(b.value[:0], &bal.Wei), &bal.Before))
	}
}
