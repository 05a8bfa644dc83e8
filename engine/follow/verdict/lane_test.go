package verdict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/metric"
	"quorate/engine/source"
	evmsource "quorate/engine/source/evm"
)

// fakeTellers are three nodes that tell traces of a chain of one transaction a block.
type fakeTellers struct {
	nodes []evmsource.Teller

	mu     sync.Mutex // guards what follows
	tracer map[uint64]int
	liars  map[evmsource.Teller]bool
	down   map[int]bool
	// tells changes what a node says of a block; nil: it tells the truth.
	tells map[int]func(b *evm.Block)
	asked int
}

func newFakeTellers(t *testing.T) *fakeTellers {
	t.Helper()
	var at []source.Endpoint
	for i := range 3 {
		e, err := source.ParseEndpoint(fmt.Sprintf("http://node%d.test:9650", i))
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, e)
	}
	c, err := source.New(source.Config{Nodes: at})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &fakeTellers{nodes: c.Nodes(), tracer: map[uint64]int{}, liars: map[evmsource.Teller]bool{}, down: map[int]bool{}, tells: map[int]func(*evm.Block){}}
}

func (f *fakeTellers) Tracer(height uint64) (n evmsource.Teller, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, ok := f.tracer[height]
	if ok {
		n = f.nodes[i]
	}
	return n, ok
}

func (f *fakeTellers) Tellers(uint64) (list []evmsource.Teller) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, n := range f.nodes {
		if !f.liars[n] && !f.down[i] {
			list = append(list, n)
		}
	}
	return list
}

func (f *fakeTellers) Lies(n evmsource.Teller) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.liars[n]
}

func (f *fakeTellers) BlameTeller(n evmsource.Teller) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.liars[n] = true
}

// trueBlock is what a block of the chain truly is.
func trueBlock(height uint64) *evm.Block {
	return &evm.Block{
		Number: height, Hash: evm.Hash{1, byte(height >> 8), byte(height)}, Traced: true,
		Txs:      []evm.Tx{{Calls: []evm.Call{{Type: evm.CallStatic, GasUsed: height}}}},
		Balances: []evm.Balance{{Address: evm.Address{5}, Wei: *uint256.NewInt(height)}},
	}
}

func (f *fakeTellers) Retrace(_ context.Context, n evmsource.Teller, b *evm.Block) (*evm.Block, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.nodes, n)
	if f.asked++; f.down[i] {
		return nil, errors.New("down")
	}
	again := trueBlock(b.Number)
	if lie := f.tells[i]; lie != nil {
		lie(again)
	}
	return again, nil
}

// Prove proves nothing: Disputes has no headers to go by.
func (f *fakeTellers) Prove(context.Context, []evmsource.Doubt, func(*evmsource.Doubt, error)) error {
	return errors.New("not asked for")
}

// secondRig is a lane over blocks in memory.
type secondRig struct {
	*Lane
	tell   *fakeTellers
	blocks []*evm.Block
	kept   []Suspect
	set    *metric.Set

	corrections int
}

func lieAboutCall(b *evm.Block) { b.Txs[0].Calls[0].GasUsed += 1000 }

// newSecondRig makes a chain that node 0 has traced from some height on, node 1 below.
func newSecondRig(t *testing.T, blocks, from int) *secondRig {
	t.Helper()
	r := &secondRig{tell: newFakeTellers(t), set: metric.NewSet()}
	for h := range uint64(blocks) {
		b := trueBlock(h)
		if r.tell.tracer[h] = 1; h >= uint64(from) {
			r.tell.tracer[h] = 0
		}
		r.blocks = append(r.blocks, b)
	}
	r.Lane = New(slog.New(slog.DiscardHandler), r.set, r.tell, nil)
	r.Read = func(_ context.Context, from, to uint64, f func(*evm.Block) error) error {
		for _, b := range r.blocks[from : to+1] {
			if err := f(b); err != nil {
				return err
			}
		}
		return nil
	}
	r.Ends = func() (uint64, uint64, bool) { return 0, uint64(len(r.blocks)) - 1, true }
	r.Correct = func(_ context.Context, right []*evm.Block) error {
		if !slices.IsSortedFunc(right, func(a, b *evm.Block) int { return cmp.Compare(a.Number, b.Number) }) {
			t.Error("not by height")
		}
		for _, b := range right {
			if evmsource.Difference(r.blocks[b.Number], b) == "" {
				t.Errorf("block %d is the same", b.Number)
			}
			r.blocks[b.Number] = b
		}
		r.corrections++
		return nil
	}
	r.Remember = func(_ context.Context, list []Suspect) { r.kept = list }
	return r
}

// lied makes what is kept of blocks what a node would have told.
func (r *secondRig) lied(from, to uint64, lie func(*evm.Block)) {
	for h := from; h < to; h++ {
		b := trueBlock(h)
		lie(b)
		r.blocks[h] = b
	}
}

// ask has a second node asked about a block, and all of them if it differs.
func (r *secondRig) ask(t *testing.T, height uint64) {
	t.Helper()
	r.sample(t.Context(), height)
	if next, _, ok := r.list.due(time.Now()); ok {
		r.settle(t.Context(), &next)
	}
}

// work settles all that is due.
func (r *secondRig) work(t *testing.T) {
	t.Helper()
	for range 1000 {
		next, _, ok := r.list.due(time.Time{})
		if !ok {
			return
		}
		r.settle(t.Context(), &next)
	}
	t.Fatalf("it does not end: %+v", r.list.all())
}

func (r *secondRig) mustBeTrue(t *testing.T) {
	t.Helper()
	for h, b := range r.blocks {
		if d := evmsource.Difference(b, trueBlock(uint64(h))); d != "" {
			t.Fatalf("block %d is not true: %s", h, d)
		}
	}
	if all := r.list.all(); len(all) > 0 || r.list.err() != nil {
		t.Errorf("left: %+v, %v", all, r.list.err())
	}
}

// A node that lies in each block, about what no proof shows, is found out by a second
// node and a third: all that it told is put right at once, as far back as its lies go, and
// little is asked about further below.
func TestSecondMajority(t *testing.T) {
	t.Parallel()
	r := newSecondRig(t, 4000, 700)
	r.lied(700, 4000, lieAboutCall)
	r.tell.tells[0] = lieAboutCall
	r.ask(t, 3500)
	if !r.tell.Lies(r.tell.nodes[0]) || r.tell.Lies(r.tell.nodes[1]) || r.tell.Lies(r.tell.nodes[2]) {
		t.Fatal("the wrong node is blamed")
	}
	if err := r.list.err(); err == nil || !strings.Contains(err.Error(), "node0") || !strings.Contains(err.Error(), "call 0") {
		t.Error(err)
	}
	if list := r.Suspects(); len(list) == 0 || !list[0].Accused || list[0].From > 3500 || list[0].To < 3500 {
		t.Error(list)
	}
	before := r.tell.asked
	r.work(t)
	r.mustBeTrue(t)
	if n := r.set.Value("quorate_revised_blocks_total"); n != 3300 {
		t.Errorf("%v blocks were revised", n)
	}
	if asked := r.tell.asked - before; asked > 2*3300+calm {
		t.Errorf("%d questions", asked)
	}
	if r.corrections > 2 {
		t.Errorf("the chain went back %d times", r.corrections)
	}
}

// Two nodes that contradict each other leave it open which is right: that is listed,
// not held against either, and settled when a third can be asked.
func TestSecondTie(t *testing.T) {
	t.Parallel()
	r := newSecondRig(t, 50, 10)
	r.lied(30, 31, lieAboutCall)
	r.tell.tells[0], r.tell.down[2] = lieAboutCall, true
	r.ask(t, 30)
	all := r.list.all()
	if len(all) != 1 || all[0].Accused || all[0].From != 30 || all[0].To != 30 || !strings.Contains(all[0].Reason, "node1") || r.list.err() != nil {
		t.Fatalf("%+v", all)
	}
	if r.set.Value("quorate_doubtful_blocks") != 1 || len(r.tell.liars) > 0 {
		t.Error("not counted, or held against a node")
	}
	again := func() {
		t.Helper()
		next, _, ok := r.list.due(time.Now().Add(suspectMost))
		if !ok {
			t.Fatal("it is not asked again")
		}
		r.settle(t.Context(), &next)
	}
	again()
	if all := r.list.all(); len(all) != 1 || all[0].Tries != 2 {
		t.Fatalf("%+v", all)
	}
	r.tell.down[0] = true
	again() // one node alone settles nothing
	if all := r.list.all(); len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	r.tell.down = map[int]bool{}
	again()
	r.work(t)
	r.mustBeTrue(t)
}

// Of two nodes that contradict each other about several blocks one mends itself: with
// the first block that is settled so are the others, though that node is asked no more.
func TestSecondMends(t *testing.T) {
	t.Parallel()
	r := newSecondRig(t, 50, 10)
	r.lied(10, 50, lieAboutCall)
	r.tell.tells[0], r.tell.down[2] = lieAboutCall, true
	for _, h := range []uint64{20, 30, 40} {
		r.ask(t, h)
	}
	if all := r.list.all(); len(all) != 3 || r.list.err() != nil {
		t.Fatalf("%+v", all)
	}
	delete(r.tell.tells, 0)
	r.settleAll(t)
	r.mustBeTrue(t)
}

// settleAll asks until nothing is under suspicion any more.
func (r *secondRig) settleAll(t *testing.T) {
	t.Helper()
	for range 20 {
		if next, _, ok := r.list.due(time.Now().Add(suspectMost)); ok {
			r.settle(t.Context(), &next)
		}
	}
}

// A node that contradicted what is kept, and is right again, has told something false
// then: what it told elsewhere is asked of others.
func TestSecondRecants(t *testing.T) {
	t.Parallel()
	r := newSecondRig(t, 50, 10)
	r.lied(10, 50, lieAboutCall)
	r.tell.tells[0], r.tell.down[2] = lieAboutCall, true
	r.ask(t, 5) // node 1 told that
	if all := r.list.all(); len(all) != 1 || r.list.err() != nil {
		t.Fatalf("%+v", all)
	}
	delete(r.tell.tells, 0)
	r.settleAll(t)
	r.mustBeTrue(t)
}

// A second node that is outvoted is the liar: what is kept stays, and what that node
// told is asked of others.
func TestSecondLiar(t *testing.T) {
	t.Parallel()
	r := newSecondRig(t, 100, 50)
	r.lied(20, 40, func(b *evm.Block) { b.Balances[0].Wei.SetUint64(1) })
	r.tell.tells[1] = lieAboutCall
	for !r.tell.Lies(r.tell.nodes[1]) { // either of two nodes is asked
		r.ask(t, 80)
	}
	r.work(t)
	r.mustBeTrue(t)
	if n := r.set.Value("quorate_revised_blocks_total"); n != 20 {
		t.Errorf("%v blocks were revised", n)
	}
}

// What a proof contradicts is asked of other nodes as soon as there are any, over a
// restart and failures too; meanwhile health is red.
func TestSecondRefuted(t *testing.T) {
	t.Parallel()
	r := newSecondRig(t, 100, 10)
	r.lied(40, 80, lieAboutCall)
	r.tell.tells[0] = lieAboutCall
	r.tell.down[1], r.tell.down[2] = true, true
	r.Refuted(60, 60, evmsource.ErrFalse)
	r.work(t)
	if err := r.list.err(); err == nil || !strings.Contains(err.Error(), "may be false") {
		t.Fatal(err)
	}
	r.Take(trueBlock(99)) // told by the liar meanwhile
	r.save(t.Context())

	// As after a restart: it is not known who told what.
	r.list, r.tell.tracer = newSuspects(r.kept), map[uint64]int{}
	r.tell.down = map[int]bool{}
	good := r.Correct
	r.Correct = func(context.Context, []*evm.Block) error { return errors.New("disk full") }
	r.work(t)
	if all := r.list.all(); len(all) == 0 {
		t.Fatal("it is forgotten")
	}
	r.Correct = good
	for range 100 {
		if next, _, ok := r.list.due(time.Now().Add(suspectMost)); ok {
			r.settle(t.Context(), &next)
		}
	}
	r.mustBeTrue(t)
	if r.save(t.Context()); len(r.kept) > 0 {
		t.Errorf("%+v is kept", r.kept)
	}
}

// A block of an accused range about which nodes contradict each other stays listed when the
// rest is put right, and so does what is below when nobody answers any more.
func TestSecondOpen(t *testing.T) {
	t.Parallel()
	r := newSecondRig(t, 400, 0)
	r.lied(0, 400, lieAboutCall)
	r.tell.liars[r.tell.nodes[0]] = true
	r.tell.tells[2] = func(b *evm.Block) {
		if b.Number == 300 {
			b.Balances[0].Wei.SetUint64(1)
		}
	}
	r.tell.tells[1] = func(b *evm.Block) {
		if b.Number == 200 { // the last answer for now
			r.tell.down[1], r.tell.down[2] = true, true
		}
	}
	r.accuse(390, "told by a liar")
	if next, _, ok := r.list.due(time.Now()); ok {
		r.settle(t.Context(), &next)
	}
	var left []string
	for _, e := range r.list.all() {
		left = append(left, fmt.Sprint(e.From, "-", e.To, e.Accused))
	}
	if !slices.Equal(left, []string{"0-199 true", "300-300 true"}) {
		t.Errorf("left: %v", left)
	}
	if evmsource.Difference(r.blocks[399], trueBlock(399)) != "" || evmsource.Difference(r.blocks[100], trueBlock(100)) == "" {
		t.Error("other blocks are put right")
	}
	r.tell.tells, r.tell.down = map[int]func(*evm.Block){}, map[int]bool{}
	r.settleAll(t)
	r.mustBeTrue(t)
}

// The list stays bounded, and a range that grows while it is settled loses nothing.
func TestSuspects(t *testing.T) {
	t.Parallel()
	s := newSuspects(nil)
	s.add(Suspect{From: 10, To: 20, Accused: true})
	e, _, _ := s.due(time.Now())
	s.add(Suspect{From: 21, To: 25, Accused: true})
	s.settled(e.id, 15, 20, 5)
	var got []string
	for _, e := range s.all() {
		got = append(got, fmt.Sprintf("%d-%d", e.From, e.To))
	}
	if fmt.Sprint(got) != "[5-14 21-25]" {
		t.Error(got)
	}
	for range helpless {
		if err := s.err(); err == nil || strings.Contains(err.Error(), "name a further node") {
			t.Error(err)
		}
		s.postpone(s.all()[0].id, "nobody")
	}
	if err := s.err(); err == nil || !strings.Contains(err.Error(), "name a further node") {
		t.Error(err)
	}
	for h := range uint64(3 * maxSuspects) {
		s.add(Suspect{From: 100 + 2*h, To: 100 + 2*h})
	}
	if n := len(s.all()); n > maxSuspects {
		t.Errorf("%d entries", n)
	}
	for _, h := range []uint64{7, 22, 100, 400, 100 + 2*(3*maxSuspects-1)} {
		if !slices.ContainsFunc(s.all(), func(e Suspect) bool { return e.From <= h && h <= e.To }) {
			t.Errorf("%d is lost", h)
		}
	}
}
