package evmchain

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
)

// maxAccounts bounds the accounts that ever turn up besides made contracts.
const maxAccounts = 1 << 20

// planner decides what happens, and brings the ledger up to date with it.
type planner struct {
	cfg    *Config
	ledger *ledger
	rng    *rand.Rand
	height uint64
	warps  uint64 // messages sent
	// variant is not 0 for blocks that are never accepted, least how many
	// transactions each has at least.
	variant uint64
	least   int
	ops     []byte // the block's records so far
	build   builder
	out     *block
}

func newPlanner(cfg *Config, l *ledger) *planner {
	return &planner{cfg: cfg, ledger: l, build: builder{cfg: cfg, keys: &l.keys}}
}

// genesis makes the first accounts and gives them what they own.
func (p *planner) genesis() {
	l := p.ledger
	l.addAccount(evm.Address{}, kindPlain, 0)
	l.addAccount(coinbaseAt, kindPlain, 0)
	l.addAccount(warpAt, kindPre, 0)
	l.addAccount(p.cfg.Emitter, kindEmitter, 0)
	for len(l.accounts) < int(firstContract) { // small
		p.newAccount()
	}
	for i := range numContracts {
		addr := evm.CreateAddress(l.accounts[treasury].address, uint64(i)) // not negative
		l.addAccount(addr, kindContract+kind(i), 1)                        // small
	}
	if p.cfg.hasTraffic() {
		l.addAccount(icm.Messengers[0], kindEmitter, 0)
		l.change(messenger, 0).nonce = 1
	}
	million := scaled(1, 24)
	l.addWei(treasury, 0, scaled(1, 28)) // enough for any history
	for i := busy; i < firstContract; i++ {
		l.addWei(i, 0, million)
	}
	l.change(warpPrecompile, 0).nonce = 1
	l.change(emitter, 0).nonce = 1
}

// newAccount makes an ordinary account.
func (p *planner) newAccount() uint32 {
	l := p.ledger
	return l.addAccount(l.keys.Address(uint32(len(l.accounts))), kindPlain, 0) // bounded
}

// block plans the next block into b, and gives its record.
func (p *planner) block(b *block) []byte {
	p.height, p.out, p.ops = b.number, b, make([]byte, 0, 24*p.cfg.TxsPerBlock)
	p.build.late = b.late
	p.rng = rand.New(rand.NewPCG(mix(b.number)^binary.BigEndian.Uint64(p.cfg.Seed[:])^mix(p.variant)^mix(0), mix(binary.BigEndian.Uint64(p.cfg.Seed[8:])+b.number)))
	if b.number == 1 {
		for i := range uint8(numContracts) {
			p.add(&op{kind: opDeploy, contract: i, from: treasury, a: contractAccount(int(i))})
		}
		return p.ops
	}
	p.revise()
	for i := range p.count() {
		from := p.sender()
		if i == 0 && p.rng.IntN(100) < 85 {
			from = busy
		}
		// Whoever has little is given something instead of doing something, so that
		// what choose prepares always happens.
		state := p.ledger.state(from, uint32(p.height)) // bounded
		if have := state.wei(); have.Lt(scaled(1, 18)) {
			p.add(p.gift(from))
			continue
		}
		p.add(p.choose(from))
	}
	p.traffic()
	if p.cfg.Atomic {
		p.atomic()
	}
	return p.ops
}

// count is how many transactions the block has: often none, else about the
// average that makes up for it.
func (p *planner) count() int {
	const emptyOneIn = 12
	if l := p.out.late; l != nil && l.crowded {
		return 1
	}
	if p.rng.IntN(emptyOneIn) == 0 {
		return p.least
	}
	mean := p.cfg.TxsPerBlock
	return max(1, p.least, mean/2+p.rng.IntN(mean+mean/6+1))
}

// add makes the op's transaction and applies it. What the sender cannot pay for
// becomes a gift from the treasury.
func (p *planner) add(o *op) {
	l, height := p.ledger, uint32(p.height) // bounded
	p.build.accounts, p.build.height, p.build.index = l.accounts, p.height, len(p.out.txs)
	state := l.state(o.from, height)
	o.nonce = state.nonce
	t := p.build.build(o)
	have := state.wei()
	worst := new(uint256.Int).Mul(uint256.NewInt(t.gasLimit), uint256.NewInt(max(t.maxFee, t.price)))
	if have.Lt(worst.Add(worst, &t.value)) {
		o = p.gift(o.from)
		o.nonce = l.state(treasury, height).nonce
		t = p.build.build(o)
	}
	t.flows(func(f flow) {
		l.subWei(f.from, height, f.wei)
		l.addWei(f.to, height, f.wei)
	})
	t.nonces(func(account, by uint32) { l.change(account, height).nonce += by })
	for i := range t.moves {
		l.apply(&t.moves[i], height)
	}
	for _, i := range t.touched {
		l.touch(i, height)
	}
	if t.factor > 0 {
		l.factors = setNumber(l.factors, height, t.factor)
	}
	if c := t.op.contract; t.revises > 0 {
		l.revisions[c] = setNumber(l.revisions[c], height, t.revises)
	}
	p.out.txs = append(p.out.txs, t)
	p.ops = o.append(p.ops)
}

// gift lets the treasury give somebody AVAX.
func (p *planner) gift(to uint32) *op {
	return &op{kind: opTransfer, from: treasury, a: to, mantissa: 50 + p.rng.Uint32N(50), exp: 18}
}

// sender picks a user, the first ones most often, or now and then anybody.
func (p *planner) sender() uint32 {
	if p.rng.IntN(100) < 30 {
		if a := p.anybody(); a != zeroAccount {
			return a
		}
	}
	return p.user()
}

func (p *planner) user() uint32 {
	k := p.rng.IntN(users)
	return firstUser + uint32(k*p.rng.IntN(users)/users) // small
}

// anybody picks an ordinary account without code, or the zero account.
func (p *planner) anybody() uint32 {
	n := len(p.ledger.accounts) - int(firstOrdinary) // small
	if n <= 0 {
		return zeroAccount
	}
	a := &p.ledger.accounts[int(firstOrdinary)+p.rng.IntN(n)]
	if a.kind != kindPlain {
		return zeroAccount
	}
	return a.index
}

// receiver picks somebody to get something: often somebody new.
func (p *planner) receiver() uint32 {
	switch k := p.rng.IntN(100); {
	case k < 15 && len(p.ledger.accounts) < maxAccounts:
		return p.newAccount()
	case k < 35:
		return busy
	case k < 70:
		return p.user()
	default:
		if a := p.anybody(); a != zeroAccount {
			return a
		}
		return p.user()
	}
}

// group picks n accounts that follow each other.
func (p *planner) group(n int) uint32 {
	all := len(p.ledger.accounts)
	if first := int(firstOrdinary); all-first >= n && p.rng.IntN(3) > 0 {
		return uint32(first + p.rng.IntN(all-first-n+1)) // bounded
	}
	first := p.newAccount()
	for range n - 1 {
		p.newAccount()
	}
	return first
}

// amount sets a random amount with exponents from low on.
func (p *planner) amount(o *op, low, spread int) {
	o.mantissa, o.exp = 1+uint32(p.rng.IntN(9999)), uint8(low+p.rng.IntN(spread)) // small
}

// atomic lets AVAX come from other chains, and go there.
func (p *planner) atomic() {
	l, height := p.ledger, uint32(p.height) // bounded
	for range maxAtomicInBlock {
		// From Helicon on no block is empty.
		alone := p.out.late != nil && len(p.out.txs)+len(p.out.atomic) == 0
		a := transfer{account: p.user(), nAVAX: (1 + p.rng.Uint64N(5000)) * 1_000_000_000, export: p.rng.IntN(3) == 0}
		if p.rng.IntN(16) > 0 && !alone {
			continue
		}
		state := l.state(a.account, height)
		if have := state.wei(); a.export && have.Lt(a.wei()) {
			if !alone {
				continue
			}
			a.export = false
		}
		if a.export {
			a.nonce = uint64(state.nonce)
			l.subWei(a.account, height, a.wei())
			l.change(a.account, height).nonce++
		} else {
			if p.rng.IntN(2) == 0 && len(l.accounts) < maxAccounts {
				a.account = p.newAccount()
			}
			l.addWei(a.account, height, a.wei())
		}
		p.out.atomic = append(p.out.atomic, a)
		p.ops = a.append(p.ops)
	}
}
