package evmrpc

import (
	"math/big"
	"testing"
	"time"

	"quorate/devnet/evmchain"
	"quorate/engine/chain/evm"
)

// lateOracle works out by itself what must hold from Helicon on.
type lateOracle struct {
	blocks  map[uint64]*lateBlock
	settled uint64
	kinds   map[string]int
}

// lateBlock is what the oracle keeps of a block.
type lateBlock struct {
	milli    uint64
	receipts []jsonReceipt
	clock    slowClock // after it
	header   *jsonBlock
	worst    uint64
}

// slowClock is the gas clock of ACP-194 with ACP-176's price: gas since 1970 at the rate
// that holds, which does not change in these chains.
type slowClock struct {
	gas, excess, target, least *big.Int
}

func (c slowClock) to(milli uint64) slowClock {
	rate := new(big.Int).Lsh(c.target, 1)
	gas := new(big.Int).Mul(rate, new(big.Int).SetUint64(milli))
	gas.Add(gas, big.NewInt(999)).Div(gas, big.NewInt(1000))
	if gas.Cmp(c.gas) <= 0 {
		return c
	}
	skipped := new(big.Int).Sub(gas, c.gas)
	whole, part := new(big.Int).DivMod(skipped, rate, new(big.Int))
	whole.Mul(whole, c.target).Add(whole, part.Rsh(part, 1))
	excess := new(big.Int).Sub(c.excess, whole)
	if excess.Sign() < 0 {
		excess.SetInt64(0)
	}
	return slowClock{gas, excess, c.target, c.least}.bounded()
}

func (c slowClock) use(gas uint64, least *big.Int) slowClock {
	used := new(big.Int).SetUint64(gas)
	excess := new(big.Int).Rsh(used, 1)
	return slowClock{new(big.Int).Add(c.gas, used), excess.Add(excess, c.excess), c.target, least}.bounded()
}

func (c slowClock) bounded() slowClock {
	if c.at(c.excess).Cmp(c.least) < 0 {
		c.excess = c.excessOf(c.least)
	}
	return c
}

func (c slowClock) at(excess *big.Int) *big.Int {
	return slowExp(big.NewInt(1), excess, new(big.Int).Mul(c.target, big.NewInt(87)))
}

// excessOf is the least excess with a price, or the last one below it.
func (c slowClock) excessOf(price *big.Int) *big.Int {
	x, one := new(big.Int), big.NewInt(1)
	if price.Cmp(one) <= 0 {
		return x
	}
	// e^64 is more than any price.
	for step := new(big.Int).Lsh(one, uint(c.target.BitLen()+7+6)); step.Sign() > 0; step.Rsh(step, 1) {
		if next := new(big.Int).Add(x, step); next.Cmp(new(big.Int).Mul(c.target, big.NewInt(87*64))) < 0 && c.at(next).Cmp(price) < 0 {
			x = next // the last with a lower price
		}
	}
	if next := new(big.Int).Add(x, one); c.at(next).Cmp(price) == 0 {
		return next
	}
	return x
}

func (c slowClock) price() *big.Int {
	if p := c.at(c.excess); p.Cmp(c.least) > 0 {
		return p
	}
	return c.least
}

func slowExp(first, x, scale *big.Int) *big.Int {
	sum, term := new(big.Int), new(big.Int).Mul(first, scale)
	for i := int64(1); term.Sign() > 0; i++ {
		sum.Add(sum, term)
		term.Mul(term, x)
		term.Div(term, scale)
		term.Div(term, big.NewInt(i))
	}
	return sum.Div(sum, scale)
}

// before checks what a header says that is known before its block is executed.
func (l *lateOracle) before(o *oracle, n uint64, b *jsonBlock, receipts []jsonReceipt) {
	t := o.t
	if l.blocks == nil {
		l.blocks, l.kinds = map[uint64]*lateBlock{}, o.kinds
	}
	own := &lateBlock{milli: number(t, b.TimestampMilliseconds), receipts: receipts, header: b}
	l.blocks[n] = own
	if b.SettledHeight == "" {
		if len(l.blocks) < int(n) || l.settled != 0 {
			t.Fatalf("block %d is of the old kind after one of the new", n)
		}
		return
	}
	target := slowExp(big.NewInt(1_000_000), wide(t, b.TargetExponent), big.NewInt(1<<25))
	least := slowExp(big.NewInt(1), wide(t, b.MinPriceExponent), big.NewInt(415_828_534_307_635_077))
	if l.settled == 0 {
		p := l.blocks[n-1]
		p.clock = slowClock{new(big.Int), new(big.Int), target, big.NewInt(1)}.to(p.milli)
		p.clock.excess = p.clock.excessOf(wide(t, p.header.BaseFeePerGas))
		l.settled = n - 1
		o.kinds["transition"]++
	}
	was := l.settled
	l.settle(o, n, own.milli)
	l.header(o, n, b, was)
	worst := l.blocks[l.settled].clock
	for k := l.settled + 1; k < n; k++ {
		worst = worst.to(l.blocks[k].milli).use(l.blocks[k].worst, least)
	}
	if got := worst.to(own.milli).price(); got.Cmp(wide(t, b.BaseFeePerGas)) != 0 {
		t.Errorf("block %d: base fee %s, worst case is %d", n, b.BaseFeePerGas, got)
	}
	own.worst = number(t, b.GasUsed)
	own.clock = l.blocks[n-1].clock.to(own.milli)
	own.clock.least = least
	if limit := target.Uint64() * 20; number(t, b.GasLimit) != limit || own.worst > limit {
		t.Errorf("block %d: gas %d of %s, want at most %d", n, own.worst, b.GasLimit, limit)
	}
	if len(receipts) == 0 {
		o.kinds["atomic only"]++
		if number(t, b.GasUsed) < 11_000 {
			t.Errorf("block %d: empty", n)
		}
	}
}

// settle brings the last settled block forward to what was executed 5 s before.
func (l *lateOracle) settle(o *oracle, n, milli uint64) {
	was := l.settled
	for k := l.settled + 1; k < n; k++ {
		c := l.blocks[k].clock
		at := new(big.Int).Mul(new(big.Int).Lsh(c.target, 1), new(big.Int).SetUint64(milli-5000))
		if new(big.Int).Mul(c.gas, big.NewInt(1000)).Cmp(at) > 0 {
			break
		}
		l.settled = k
	}
	switch l.settled - was {
	case 0:
		o.kinds["settles none"]++
	case 1:
		o.kinds["settles one"]++
	default:
		o.kinds["settles many"]++
	}
}

// header checks what the header says of the blocks that it settles.
func (l *lateOracle) header(o *oracle, n uint64, b *jsonBlock, was uint64) {
	t := o.t
	if got := number(t, b.SettledHeight); got != l.settled {
		t.Fatalf("block %d settles up to %d, want %d", n, got, l.settled)
	}
	clock := l.blocks[l.settled].clock
	seconds, part := new(big.Int).DivMod(clock.gas, new(big.Int).Lsh(clock.target, 1), new(big.Int))
	if seconds.Cmp(wide(t, b.SettledGasUnix)) != 0 || part.Cmp(wide(t, b.SettledGasNumerator)) != 0 || clock.excess.Cmp(wide(t, b.SettledExcess)) != 0 {
		t.Errorf("block %d: the clock is at %s %s with the excess %s, want %d %d %d",
			n, b.SettledGasUnix, b.SettledGasNumerator, b.SettledExcess, seconds, part, clock.excess)
	}
	var all [][]byte
	var logs []jsonLog
	for k := was + 1; k <= l.settled; k++ {
		for i := range l.blocks[k].receipts {
			r := &l.blocks[k].receipts[i]
			all, logs = append(all, receiptOf(t, r)), append(logs, r.Logs...)
		}
	}
	if got := rootOf(t, all); got != b.ReceiptsRoot {
		t.Errorf("block %d: receipts root %s, that of blocks %d to %d is %s", n, b.ReceiptsRoot, was+1, l.settled, got)
	}
	if bloomOf(t, logs).Cmp(new(big.Int).SetBytes(bytesOf(t, b.LogsBloom))) != 0 {
		t.Errorf("block %d: bloom", n)
	}
	if o.h.chain.Config().StateProofs {
		p := get[struct{ AccountProof []string }](t, o.h, "eth_getProof", zeroAddr, []string{}, b.SettledHeight)
		if got := evm.Keccak(bytesOf(t, p.AccountProof[0])).String(); got != b.StateRoot {
			t.Errorf("block %d: state root %s, after block %d it is %s", n, b.StateRoot, l.settled, got)
		}
	}
	if b.ExtDataGasUsed != "0x0" || b.ExtraData != "0x000000000000" {
		t.Errorf("block %d: %s gas, extra data %s", n, b.ExtDataGasUsed, b.ExtraData)
	}
}

// after checks a block's results.
func (l *lateOracle) after(o *oracle, b *jsonBlock, receipts []jsonReceipt) {
	t, n := o.t, number(o.t, b.Number)
	own := l.blocks[n]
	price, bound := own.clock.price(), wide(t, b.BaseFeePerGas)
	if prior := l.blocks[n-1].clock.to(own.milli); true {
		price = prior.price()
	}
	limits, used := uint64(0), uint64(0)
	for i := range receipts {
		x, r := &b.Transactions[i], &receipts[i]
		limit, gas := number(t, x.Gas), number(t, r.GasUsed)
		limits, used = limits+limit, used+gas
		if gas < (limit+1)/2 {
			t.Errorf("block %d: %d gas of the limit %d", n, gas, limit)
		}
		if gas == (limit+1)/2 {
			o.kinds["half"]++
		}
		shown, paid := wide(t, x.GasPrice), wide(t, x.GasPrice)
		if x.Type == "0x2" {
			tip, most := wide(t, x.MaxPriorityFeePerGas), wide(t, x.MaxFeePerGas)
			shown, paid = lesser(new(big.Int).Add(bound, tip), most), lesser(new(big.Int).Add(price, tip), most)
		}
		if shown.Cmp(wide(t, x.GasPrice)) != 0 || paid.Cmp(wide(t, r.EffectiveGasPrice)) != 0 || shown.Cmp(bound) < 0 {
			t.Errorf("block %d: gas price %s and %s, want %d and %d", n, x.GasPrice, r.EffectiveGasPrice, shown, paid)
		}
	}
	atomic := own.worst - limits
	if extra := bytesOf(t, b.BlockExtraData); (len(extra) == 0) != (atomic == 0) {
		t.Errorf("block %d: %d gas of atomic transactions of %d bytes", n, atomic, len(extra))
	}
	if bound.Cmp(price) > 0 {
		o.kinds["bound above"]++
	}
	if bound.Cmp(price) < 0 {
		t.Errorf("block %d: base fee %d, the header has %d", n, price, bound)
	}
	least := own.clock.least
	own.clock = l.blocks[n-1].clock.to(own.milli).use(used+atomic, least)
}

func lesser(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// heliconConfig is testConfig with Helicon in the midst of its history.
func heliconConfig() evmchain.Config {
	cfg := testConfig()
	cfg.Helicon = cfg.End.Add(-16 * 24 * time.Hour)
	return cfg
}

// TestOracleLate: a chain that crosses Helicon holds together, by rules that the oracle
// works out by itself.
func TestOracleLate(t *testing.T) {
	t.Parallel()
	proven := heliconConfig()
	proven.StateProofs = true
	quick := heliconConfig()
	quick.HistoryInterval, quick.Blocks, quick.TxsPerBlock, quick.BlockInterval = 100*time.Millisecond, 600, 3, 100*time.Millisecond
	quick.Helicon = quick.End.Add(-45 * time.Second)
	large := heliconConfig()
	large.HistoryInterval, large.TxsPerBlock = 2*time.Second, 80
	large.Helicon = large.End.Add(-150 * time.Second)
	for name, c := range map[string]struct {
		cfg   evmchain.Config
		kinds []string
	}{
		"slow":   {heliconConfig(), []string{"settles none", "settles many", "half", "atomic only", "bound above"}},
		"proven": {proven, []string{"settles none", "settles many", "half", "bound above"}},
		"quick":  {quick, []string{"settles none", "settles one", "half", "bound above"}},
		"large":  {large, []string{"settles none", "settles one", "half", "bound above"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHandler(t, c.cfg)
			o := walkAll(t, h)
			for _, kind := range append(c.kinds, "transition") {
				if o.kinds[kind] == 0 {
					t.Errorf("no block that shows %q: %v", kind, o.kinds)
				}
			}
			t.Log(o.kinds)
		})
	}
}
