package evmchain

import (
	"slices"
	"sort"

	"github.com/holiman/uint256"

	"quorate/devnet/secp"
	"quorate/engine/chain/evm"
)

// The first accounts are the same on every chain. The contracts of [contracts]
// follow them, then all that turn up later.
const (
	zeroAccount uint32 = iota // never holds anything
	coinbase                  // gets all fees
	warpPrecompile
	emitter
	treasury
	busy
	firstUser
	users          = 48
	firstContract  = firstUser + users
	firstOrdinary  = firstContract + uint32(numContracts)
	noAccount      = ^uint32(0)
	treasuryNonces = uint64(numContracts) // those that the contracts' creations take
	messenger      = firstOrdinary        // of interchain messages, where there are any
)

// kind says what code an account has.
type kind uint8

const (
	kindPlain    kind = iota // no code
	kindGhost                // no code either: where a creation failed
	kindMade                 // a contract that somebody made; it does nothing
	kindFactory              // a factory that a factory made
	kindPre                  // a precompile
	kindEmitter              // the one that sends warp messages
	kindContract             // the first of the contracts, in their order
)

// account is what never changes of an account.
type account struct {
	index                  uint32
	made                   uint32 // height at which it got its code
	kind                   kind
	address                evm.Address
	addressBits, topicBits [3]uint16
}

// word returns the address as a topic.
func (a *account) topic() topic {
	t := topic{bits: a.topicBits, known: true}
	copy(t.hash[wordLen-evm.AddressLen:], a.address[:])
	return t
}

// entry is the state of an account from a height on.
type entry struct {
	height uint32
	nonce  uint32
	lo, hi uint64 // balance in wei
}

func (e *entry) wei() uint256.Int { return uint256.Int{e.lo, e.hi, 0, 0} }

// tokenKey names a balance: of a token by an account.
type tokenKey struct {
	contract uint8
	id       uint32 // of an ERC-1155 token, else 0
	account  uint32
}

// tokenEntry is a token balance from a height on.
type tokenEntry struct {
	height uint32
	lo, hi uint64
}

// nftKey names an ERC-721 token.
type nftKey struct {
	contract uint8
	id       uint32
}

// ownerEntry is who owns an ERC-721 token from a height on.
type ownerEntry struct{ height, owner uint32 }

// ledger is the state of a chain at every height.
type ledger struct {
	keys     secp.Keyring // of the accounts without code
	accounts []account
	states   [][]entry // by account
	byAddr   map[evm.Address]uint32
	tokens   map[tokenKey][]tokenEntry
	nfts     map[nftKey][]ownerEntry
	minted   [numContracts]uint32 // ERC-721 tokens ever minted, IDs from 1 on
	// factors are what the shares of the rebasing token are worth, revisions the
	// versions of what contracts say of themselves.
	factors   []numberEntry
	revisions [numContracts][]numberEntry
	// dirty are the accounts that changed since the last block, touches how often
	// the storage of contracts has; nil unless the state is to be proven.
	dirty   map[uint32]struct{}
	touches map[uint32][]numberEntry
}

// numberEntry is a number from a height on.
type numberEntry struct{ height, number uint32 }

func numberAt(list []numberEntry, height, first uint32) uint32 {
	if i := after(list, height, func(e numberEntry) uint32 { return e.height }); i > 0 {
		return list[i-1].number
	}
	return first
}

// setNumber sets a number from a height on, which must not be below the last.
func setNumber(list []numberEntry, height, number uint32) []numberEntry {
	if n := len(list); n > 0 && list[n-1].height == height {
		list[n-1].number = number
		return list
	}
	return append(list, numberEntry{height, number})
}

func newLedger(seed []byte) *ledger {
	return &ledger{
		keys:   secp.NewKeyring(seed),
		byAddr: make(map[evm.Address]uint32), tokens: make(map[tokenKey][]tokenEntry), nfts: make(map[nftKey][]ownerEntry),
	}
}

// addAccount adds an account that has nothing yet.
func (l *ledger) addAccount(addr evm.Address, k kind, made uint32) uint32 {
	a := account{index: uint32(len(l.accounts)), made: made, kind: k, address: addr, addressBits: bloomBits(addr[:])} // bounded
	var padded evm.Hash
	copy(padded[wordLen-evm.AddressLen:], addr[:])
	a.topicBits = bloomBits(padded[:])
	l.accounts = append(l.accounts, a)
	l.states = append(l.states, nil)
	l.byAddr[addr] = a.index
	return a.index
}

// after returns the index of the first entry above a height.
func after[E any](list []E, height uint32, of func(E) uint32) int {
	if n := len(list); n == 0 || of(list[n-1]) <= height { // mostly asked about the tip
		return n
	}
	return sort.Search(len(list), func(i int) bool { return of(list[i]) > height })
}

func (l *ledger) state(index uint32, height uint32) entry {
	list := l.states[index]
	if i := after(list, height, func(e entry) uint32 { return e.height }); i > 0 {
		return list[i-1]
	}
	return entry{}
}

// change returns the account's state at a height to be changed, which must not
// be below the last change.
func (l *ledger) change(index uint32, height uint32) *entry {
	if l.dirty != nil {
		l.dirty[index] = struct{}{}
	}
	list := l.states[index]
	if n := len(list); n == 0 || list[n-1].height != height {
		next := entry{height: height}
		if n > 0 {
			next = list[n-1]
			next.height = height
		}
		list = append(list, next)
		l.states[index] = list
	}
	return &list[len(list)-1]
}

func (l *ledger) addWei(index uint32, height uint32, wei *uint256.Int) {
	e := l.change(index, height)
	sum := e.wei()
	sum.Add(&sum, wei)
	e.lo, e.hi = sum[0], sum[1]
}

func (l *ledger) subWei(index uint32, height uint32, wei *uint256.Int) {
	e := l.change(index, height)
	rest := e.wei()
	if rest.Lt(wei) { // the plan checks every payer
		panic("evmchain: an account pays what it does not have")
	}
	rest.Sub(&rest, wei)
	e.lo, e.hi = rest[0], rest[1]
}

func (l *ledger) token(key tokenKey, height uint32) uint256.Int {
	list := l.tokens[key]
	if i := after(list, height, func(e tokenEntry) uint32 { return e.height }); i > 0 {
		return uint256.Int{list[i-1].lo, list[i-1].hi, 0, 0}
	}
	return uint256.Int{}
}

func (l *ledger) setToken(key tokenKey, height uint32, amount *uint256.Int) {
	list := l.tokens[key]
	e := tokenEntry{height, amount[0], amount[1]}
	if n := len(list); n > 0 && list[n-1].height == height {
		list[n-1] = e
		return
	}
	l.tokens[key] = append(slices.Grow(list, 1), e)
}

func (l *ledger) owner(key nftKey, height uint32) uint32 {
	list := l.nfts[key]
	if i := after(list, height, func(e ownerEntry) uint32 { return e.height }); i > 0 {
		return list[i-1].owner
	}
	return zeroAccount
}

func (l *ledger) setOwner(key nftKey, height, owner uint32) {
	list := l.nfts[key]
	if n := len(list); n > 0 && list[n-1].height == height {
		list[n-1].owner = owner
		return
	}
	l.nfts[key] = append(list, ownerEntry{height, owner})
}

// move is tokens that change hands. The zero account stands for nobody: minting
// and burning.
type move struct {
	contract uint8
	id       uint32
	from, to uint32
	amount   uint256.Int
}

// apply moves tokens. The supply is kept as the zero account's balance.
func (l *ledger) apply(m *move, height uint32) {
	std := contracts[m.contract].standard
	if std == erc721 {
		l.setOwner(nftKey{m.contract, m.id}, height, m.to)
		if m.from == zeroAccount {
			l.minted[m.contract] = max(l.minted[m.contract], m.id)
		}
	}
	id := m.id
	if std != erc1155 {
		id = 0
	}
	amount := m.amount
	if std == erc721 {
		amount.SetOne()
	}
	from, to := tokenKey{m.contract, id, m.from}, tokenKey{m.contract, id, m.to}
	have := l.token(from, height)
	if m.from == zeroAccount {
		have.Add(&have, &amount) // the supply grows
	} else {
		if have.Lt(&amount) { // the plan checks every holder
			panic("evmchain: tokens move that are not there")
		}
		have.Sub(&have, &amount)
	}
	l.setToken(from, height, &have)
	got := l.token(to, height)
	if m.to == zeroAccount {
		got.Sub(&got, &amount) // the supply shrinks
	} else {
		got.Add(&got, &amount)
	}
	l.setToken(to, height, &got)
}
