package rollup

import (
	"fmt"
	"math/bits"

	"github.com/holiman/uint256"
)

// Address is an account's.
type Address = [20]byte

// Stamps keeps the stamps of all addresses of a chain.
type Stamps interface {
	// Stamp returns the zero Stamp for an address that was never put.
	Stamp(a *Address) (Stamp, error)
	PutStamp(a *Address, s Stamp)
}

// Bucket is a record with its place.
type Bucket struct {
	Interval Interval
	Number   uint32
	Record
}

// Roller makes records of blocks. Between Begin and End it takes what is in one
// block. It is not safe for concurrent use.
type Roller struct {
	s      State
	stamps Stamps
	open   [Intervals]Bucket
	// full are the buckets that were closed since the last call of Changed.
	full []Bucket
	err  error

	// Of the block between Begin and End.
	hour     uint32             // of its time, as stamps have it
	starts   [Intervals]int64   // hours at which the open buckets begin
	all      [Intervals]*Record // the open ones
	second   uint64
	txs      uint64
	gas      uint64
	untraced bool
}

// NewRoller goes on from a state and its open buckets, those of State.Last; the
// zero State and none begin with the genesis block.
func NewRoller(s State, open []Bucket, stamps Stamps) (*Roller, error) {
	r := &Roller{s: s, stamps: stamps}
	for i := range r.open {
		r.open[i].Interval = Interval(i)
		r.all[i] = &r.open[i].Record
	}
	if !s.Begun {
		return r, nil
	}
	if len(open) != Intervals {
		return nil, fmt.Errorf("%d open buckets, not %d", len(open), Intervals)
	}
	for k := range open {
		i := Interval(k)
		if _, last, _ := s.Bounds(i); open[k].Interval != i || open[k].Number != last {
			return nil, fmt.Errorf("%s %d is not the open one", i, open[k].Number)
		}
		r.open[k] = open[k]
	}
	r.setStarts()
	return r, nil
}

// State returns the state after the last block.
func (r *Roller) State() State { return r.s }

func (r *Roller) setStarts() {
	for i := range r.open {
		r.starts[i] = Interval(i).Start(r.open[i].Number) / hourSeconds
	}
}

// Begin opens the block at State().Next. The time is in Unix milliseconds, of
// which only the whole seconds count; gas is what the block's header says was
// used; traced reports whether the calls of its transactions are known. A time
// below that of the block before counts as that one.
func (r *Roller) Begin(milli, gas uint64, traced bool) {
	r.txs, r.gas, r.untraced = 0, gas, !traced
	r.second = max(milli/1000, r.s.Last)
	if r.genesis() {
		return
	}
	hour := Hour.Number(r.second)
	fresh := !r.s.Begun
	start := r.s.Last
	if fresh {
		start = r.s.begin(r.second)
	}
	r.hour = hour + 1
	if !fresh && hour == r.open[Hour].Number {
		return
	}
	for k := range r.open {
		b := &r.open[k]
		number := b.Interval.Number(r.second)
		if !fresh && number == b.Number {
			continue
		}
		if !fresh {
			r.full = append(r.full, *b)
		}
		b.Number = number
		b.Record = b.Record.next()
		b.Prev, b.Last = start, r.s.Last
	}
	r.setStarts()
}

// genesis reports whether the block is the genesis block, which has no bucket.
func (r *Roller) genesis() bool { return r.s.Next == 0 }

// Tx takes a transaction of the block: its sender and receiver, nil for a
// creation, the gas used and its price in wei.
func (r *Roller) Tx(from, to *Address, gas uint64, price *uint256.Int) {
	if r.genesis() {
		return
	}
	r.txs++
	r.see(from, true)
	if to != nil {
		r.see(to, false)
	}
	g := uint256.Int{gas}
	var fee uint256.Int
	if _, over := fee.MulOverflow(price, &g); over {
		fee.SetAllOne()
	}
	for _, b := range r.all {
		b.Txs++
		b.TotalTxs++
		b.Gas.Add(&b.Gas, &g)
		addTo(&b.PriceSum, price)
		addTo(&b.Fees, &fee)
		if price.Gt(&b.MaxPrice) {
			b.MaxPrice = *price
		}
	}
}

// addTo adds to a sum, which stays at its highest value.
func addTo(sum, n *uint256.Int) {
	if _, over := sum.AddOverflow(sum, n); over {
		sum.SetAllOne()
	}
}

// Transfer takes the log of a token transfer.
func (r *Roller) Transfer(from, to *Address) {
	if r.genesis() {
		return
	}
	r.see(from, true)
	r.see(to, false)
}

// Created takes a creation of a contract that succeeded.
func (r *Roller) Created(by *Address) {
	if r.genesis() {
		return
	}
	s, ok := r.stamp(by)
	if !ok {
		return
	}
	for i, b := range r.all {
		b.Contracts++
		b.TotalContracts++
		if r.unseen(s.Deployer, i) {
			b.Deployers++
		}
		if s.Deployer == 0 {
			b.TotalDeployers++
		}
	}
	if s.Deployer != r.hour {
		s.Deployer = r.hour
		r.stamps.PutStamp(by, s)
	}
}

func (r *Roller) stamp(a *Address) (Stamp, bool) {
	if r.err != nil {
		return Stamp{}, false
	}
	s, err := r.stamps.Stamp(a)
	r.err = err
	return s, err == nil
}

// unseen reports whether what a stamp marks was not seen in the open bucket of an
// interval yet.
func (r *Roller) unseen(stamp uint32, interval int) bool {
	return stamp == 0 || int64(stamp) <= r.starts[interval]
}

// see counts an address in the buckets in which it was not seen yet: those that
// began after its stamp.
func (r *Roller) see(a *Address, sender bool) {
	s, ok := r.stamp(a)
	if !ok || s.Active == r.hour && (!sender || s.Sender == r.hour) {
		return
	}
	for i, b := range r.all {
		if r.unseen(s.Active, i) {
			b.Addresses++
		}
		if sender && r.unseen(s.Sender, i) {
			b.Senders++
		}
		if s.Active == 0 {
			b.TotalAddresses++
		}
	}
	s.Active = r.hour
	if sender {
		s.Sender = r.hour
	}
	r.stamps.PutStamp(a, s)
}

// End closes the block. The error is the first one of Stamps since the Roller
// was made: it is of no use then.
func (r *Roller) End() error {
	if r.err != nil {
		return r.err
	}
	r.s.Next++
	if r.s.Next == 1 {
		r.s.Genesis = r.second
		return nil
	}
	r.s.Untraced = r.s.Untraced || r.untraced && r.txs > 0
	for _, b := range r.all {
		b.Blocks++
		b.BlockGas.Add(&b.BlockGas, &uint256.Int{r.gas})
		b.Untraced = r.s.Untraced
		b.Last = r.second
	}
	r.endRun()
	return nil
}

// endRun counts the block among those of the same second, whose rates only rise.
func (r *Roller) endRun() {
	run := &r.s.run
	if r.second != r.s.Last {
		run.hasBase, run.base = true, r.s.Last
		run.txs, run.gas = 0, 0
	}
	r.s.Last = r.second
	run.txs += r.txs
	var over uint64
	if run.gas, over = bits.Add64(run.gas, r.gas, 0); over > 0 {
		run.gas = ^uint64(0)
	}
	if !run.hasBase { // time starts with this second
		for _, b := range r.all {
			b.LeadTxs += r.txs
			b.LeadGas.Add(&b.LeadGas, &uint256.Int{r.gas})
		}
		return
	}
	txs, gas := Rate{run.txs, r.second - run.base}, Rate{run.gas, r.second - run.base}
	for _, b := range r.all {
		if txs.above(b.MaxTxs) {
			b.MaxTxs = txs
		}
		if gas.above(b.MaxGas) {
			b.MaxGas = gas
		}
	}
}

// Changed yields the buckets that have changed since the last call, and for
// certain the open ones: full ones in their order, then the open ones. It is for
// after End; what take gets is good until it returns. Full buckets are held in
// memory until then.
func (r *Roller) Changed(take func(b *Bucket)) {
	for i := range r.full {
		take(&r.full[i])
	}
	r.full = r.full[:0]
	if !r.s.Begun {
		return
	}
	for i := range r.open {
		take(&r.open[i])
	}
}
