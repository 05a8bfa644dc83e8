package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"quorate/engine/actor"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/metric"
	evmsource "quorate/engine/source/evm"
)

const (
	// DefaultSecondShare is the part of the blocks whose calls are asked of a second node:
	// one of so many. A node that lies in each block is found within 1,000 blocks but for
	// one chance in seven million.
	DefaultSecondShare = 64
	// maxSamples bounds the blocks that wait for a second opinion. More are dropped: the
	// sample is smaller then.
	maxSamples = 256
	// calm is how many blocks below a false one are asked of another node: the lies of
	// a node that lies in each block, or now and then, have begun there.
	calm = 1024
	// settleBlocks bounds the blocks that are settled at once, settleBytes their size
	// in memory, and settleAsks the questions to nodes at one time.
	settleBlocks = 256
	settleBytes  = 32 << 20
	settleAsks   = 4
	// maxOpinions bounds the nodes that are asked about one block.
	maxOpinions = 5
)

// tellers are the nodes whose word is taken for calls and balances; a client of the
// source is one.
type tellers interface {
	Tracer(height uint64) (evmsource.Teller, bool)
	Tellers(height uint64) []evmsource.Teller
	Lies(evmsource.Teller) bool
	HasLiar() bool
	BlameTeller(evmsource.Teller)
	Retrace(ctx context.Context, n evmsource.Teller, b *evm.Block) (*evm.Block, error)
	Prove(ctx context.Context, doubts []evmsource.Doubt, judge func(*evmsource.Doubt, error)) error
}

// secondLane has a sample of the blocks traced by a second node too, beside the
// ingest and never in its way. Where the two differ, proofs of balances decide, else
// the majority; what a node told that has told something false is asked of others, and
// put right in index and archive. What cannot be decided is listed and asked again.
type secondLane struct {
	log   *slog.Logger
	nodes tellers
	// read calls f with blocks of the archive; ends returns its first and last block.
	read func(ctx context.Context, from, to uint64, f func(*evm.Block) error) error
	ends func() (first, last uint64, ok bool)
	// revise puts blocks in the place of those that are kept.
	revise func(ctx context.Context, list []index.Revision) error
	// correct puts results right that do not fit a header; why says why it cannot.
	correct func(ctx context.Context, s *suspect) (why string, err error)
	// remember keeps the list for the next start.
	remember func(ctx context.Context, list []suspect)
	share    uint32

	list    *suspects
	samples *actor.Mailbox[uint64]

	confirmed, disputed, unanswered, revised metric.Counter
}

func newSecondLane(log *slog.Logger, set *metric.Set, nodes tellers, kept []suspect) *secondLane {
	counter := func(name, help string) metric.Counter {
		return set.Counter("quorate_second_opinions_"+name+"_total", help)
	}
	l := &secondLane{
		log: log, nodes: nodes, share: DefaultSecondShare, list: newSuspects(kept), samples: actor.NewMailbox[uint64](maxSamples, actor.Shed),
		confirmed:  counter("confirmed", "Blocks whose calls and balances a second node told the same of."),
		disputed:   counter("disputed", "Blocks of which nodes told different calls or balances."),
		unanswered: counter("unanswered", "Blocks of the sample that no second node could be asked about."),
		revised:    set.Counter("quorate_revised_blocks_total", "Blocks whose calls or balances were false and were put right."),
	}
	set.GaugeFunc("quorate_doubtful_blocks", "Blocks whose calls and balances may be false, and are asked of other nodes.", l.list.blocks)
	return l
}

// take looks at a block that was committed.
func (l *secondLane) take(b *evm.Block) {
	if !b.Traced || len(b.Txs)+len(b.Atomic) == 0 {
		return
	}
	n, known := l.nodes.Tracer(b.Number)
	switch {
	case known && l.nodes.Lies(n):
		l.list.add(suspect{From: b.Number, To: b.Number, Accused: true, Reason: n.Endpoint().String() + " has told something false, and no other node could be asked"})
	case rand.Uint32N(l.share) == 0: //nolint:gosec // the node does not see the draw
		_ = l.samples.TrySend(b.Number) // the mailbox counts what it sheds
	}
}

// refuted takes note that a proof contradicts what is kept of one of some blocks.
func (l *secondLane) refuted(from, to uint64, why error) {
	l.list.add(suspect{From: from, To: to, Accused: true, Refuted: true, Reason: why.Error()})
	if n, ok := l.nodes.Tracer(to); ok {
		l.blame(n, to, why.Error())
		return
	}
	l.accuse(to, why.Error())
}

// blame holds something false against a node: all that it has told is asked of others.
func (l *secondLane) blame(n evmsource.Teller, height uint64, why string) {
	if l.nodes.Lies(n) {
		return
	}
	l.nodes.BlameTeller(n) // first: what is committed from here on is seen by take
	l.list.hasten()
	l.log.Error("a node told something false: what it told is asked of other nodes", "node", n.Endpoint().String(), "height", height, "err", why)
	l.accuse(height, n.Endpoint().String()+": "+why)
}

// accuse lists the blocks from some below a false one up to the last.
func (l *secondLane) accuse(height uint64, why string) {
	_, last, _ := l.ends()
	l.list.add(suspect{From: height - min(height, calm), To: max(height, last), Accused: true, Reason: why})
}

// run works until ctx ends.
func (l *secondLane) run(ctx context.Context) error {
	var batch []uint64
	defer l.save(context.WithoutCancel(ctx))
	for {
		l.save(ctx)
		next, wait, ok := l.list.due(time.Now())
		if ok {
			l.settle(ctx, &next)
			if ctx.Err() != nil {
				return nil
			}
			continue
		}
		select {
		case <-l.samples.Ready():
			batch = l.samples.Drain(batch)
			for _, height := range batch {
				l.sample(ctx, height)
			}
		case <-l.list.wake:
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// save keeps the list if it has changed.
func (l *secondLane) save(ctx context.Context) {
	if list, ok := l.list.unsaved(); ok {
		l.remember(ctx, list)
	}
}

// sample asks a second node about a block.
func (l *secondLane) sample(ctx context.Context, height uint64) {
	s := suspect{From: height, To: height}
	tracer, known := l.nodes.Tracer(height)
	others := slices.DeleteFunc(l.nodes.Tellers(height), func(n evmsource.Teller) bool { return n == tracer })
	if !known || len(others) == 0 || ctx.Err() != nil {
		return // there is no second node
	}
	parent, blocks, err := l.blocks(ctx, height, height)
	if err != nil || len(blocks) == 0 {
		return
	}
	told, err := l.askAny(ctx, others, blocks[0])
	switch {
	case ctx.Err() != nil:
	case err != nil:
		l.unanswered.Inc()
		l.log.Debug("no second opinion of a block", "height", height, "err", err)
	case evmsource.Difference(blocks[0], told) == "":
		l.confirmed.Inc()
	default:
		l.disputed.Inc()
		l.apply(ctx, &s, []outcome{l.judge(ctx, &s, parent, blocks[0])})
	}
}

// askAny returns what the first of some nodes that answers says of a block. They are
// asked in any order, so that none is never asked.
func (l *secondLane) askAny(ctx context.Context, nodes []evmsource.Teller, b *evm.Block) (told *evm.Block, err error) {
	rand.Shuffle(len(nodes), func(i, k int) { nodes[i], nodes[k] = nodes[k], nodes[i] })
	for _, n := range nodes {
		if told, err = l.nodes.Retrace(ctx, n, b); err == nil || ctx.Err() != nil {
			break
		}
	}
	return told, err
}

// settle settles the highest blocks of a range.
func (l *secondLane) settle(ctx context.Context, s *suspect) {
	first, last, ok := l.ends()
	high := min(s.To, last)
	if ok && (s.From > last || high < first) { // blocks that were given up, or are not kept
		l.list.settled(s.id, s.From, s.To, s.From)
		return
	}
	if s.By > 0 {
		why, err := l.correct(ctx, s)
		switch {
		case ctx.Err() != nil:
		case why == "":
			l.list.settled(s.id, s.From, s.To, s.From)
			l.list.hasten() // others may stand on it
		default:
			l.list.postpone(s.id, cmp.Or(err, errors.New(why)).Error(), nil, nil)
		}
		return
	}
	low := max(s.From, first, high-min(high, settleBlocks-1))
	parent, blocks, err := l.blocks(ctx, low, high)
	if err != nil || len(blocks) == 0 {
		l.list.postpone(s.id, fmt.Sprintf("the archive cannot be read: %v", err), nil, nil)
		return
	}
	low = blocks[0].Number
	outcomes := l.judgeAll(ctx, s, parent, blocks)
	if ctx.Err() != nil || !l.apply(ctx, s, outcomes) {
		return
	}
	from := s.From
	if i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.is != nil }); i >= 0 && s.Accused && !s.Refuted {
		from = min(from, blocks[i].Number-min(blocks[i].Number, calm))
	}
	l.list.settled(s.id, low, s.To, max(from, first))
}

// judgeAll judges the blocks of a range that are suspicious, a few at one time.
func (l *secondLane) judgeAll(ctx context.Context, s *suspect, parent *evm.Block, blocks []*evm.Block) []outcome {
	outcomes := make([]outcome, len(blocks))
	gate := make(chan struct{}, settleAsks)
	var asking sync.WaitGroup
	for i, b := range blocks {
		before := parent
		if parent = b; !l.suspicious(s, b) {
			continue
		}
		gate <- struct{}{}
		asking.Go(func() {
			outcomes[i] = l.judge(ctx, s, before, b)
			<-gate
		})
	}
	asking.Wait()
	return outcomes
}

// suspicious reports whether nodes are to be asked about a block of a range.
func (l *secondLane) suspicious(s *suspect, b *evm.Block) bool {
	if !b.Traced || len(b.Txs)+len(b.Atomic) == 0 {
		return false
	}
	if !s.Accused || s.Refuted {
		return true
	}
	n, known := l.nodes.Tracer(b.Number)
	return !known || l.nodes.Lies(n)
}

// blocks reads blocks up to high, and the one before them, an empty one if it is not
// there. The lowest are left out if all are too large.
func (l *secondLane) blocks(ctx context.Context, low, high uint64) (parent *evm.Block, blocks []*evm.Block, err error) {
	first, _, _ := l.ends()
	parent = new(evm.Block)
	from, size := max(first, low-min(low, 1)), 0
	err = l.read(ctx, from, high, func(b *evm.Block) error {
		if b.Number < low {
			parent = b
			return nil
		}
		blocks, size = append(blocks, b), size+b.Memory()
		for size > settleBytes && len(blocks) > 1 {
			parent = blocks[0]
			blocks, size = blocks[1:], size-parent.Memory()
		}
		return nil
	})
	return parent, blocks, err
}

// apply does what follows from outcomes, and reports whether the range is settled but
// for the blocks that it has listed for themselves.
func (l *secondLane) apply(ctx context.Context, s *suspect, outcomes []outcome) bool {
	var wrong []index.Revision
	for _, o := range outcomes {
		if o.is != nil {
			wrong = append(wrong, index.Revision{Was: o.was, Is: o.is})
		}
	}
	if len(wrong) > 0 {
		if err := l.revise(ctx, wrong); err != nil {
			if ctx.Err() == nil {
				l.log.Warn("blocks whose calls or balances are false could not be put right yet", "err", err)
			}
			l.retry(s, fmt.Sprintf("it could not be put right: %v", err), outcome{})
			return false
		}
		l.revised.Add(float64(len(wrong)))
		l.log.Info("false calls or balances were put right", "blocks", len(wrong),
			"first", wrong[0].Is.Number, "last", wrong[len(wrong)-1].Is.Number, "was", evmsource.Difference(wrong[0].Was, wrong[0].Is))
	}
	decided := slices.ContainsFunc(outcomes, func(o outcome) bool { return o.was != nil && !o.silent })
	for _, o := range outcomes {
		switch {
		case o.open == "":
		case s.From == s.To || !decided: // alone, or nobody answers now
			l.retry(s, o.open, o)
			return false
		default:
			l.list.add(suspect{
				From: o.was.Number, To: o.was.Number, Accused: s.Accused, Refuted: s.Refuted, Reason: o.open, Against: o.against, Kept: digestOf(o.was),
				Tries: 1, Next: time.Now().Add(suspectFirst),
			})
		}
	}
	return true
}

// retry has a range settled later.
func (l *secondLane) retry(s *suspect, why string, o outcome) {
	var kept []byte
	if len(o.against) > 0 {
		kept = digestOf(o.was)
	}
	if s.id != 0 {
		l.list.postpone(s.id, why, o.against, kept)
		return
	}
	l.log.Warn("nodes say different things of a block, and it is not certain which are true: they are asked again", "height", s.From, "err", why)
	s.Reason, s.Against, s.Kept = why, o.against, kept
	s.Tries, s.Next = 1, time.Now().Add(suspectFirst)
	l.list.add(*s)
}
