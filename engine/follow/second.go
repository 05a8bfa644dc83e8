package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"quorate/engine/actor"
	"quorate/engine/chain/evm"
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
	// settleBlocks bounds the blocks that are read at once, and settleBytes the size in memory
	// of those that are put right together.
	settleBlocks = 64
	settleBytes  = 32 << 20
	// maxOpinions bounds the nodes that are asked about one block.
	maxOpinions = 5
)

// tellers are the nodes whose word is taken for calls and balances; a client of the
// source is one.
type tellers interface {
	Tracer(height uint64) (evmsource.Teller, bool)
	Tellers(height uint64) []evmsource.Teller
	Lies(evmsource.Teller) bool
	BlameTeller(evmsource.Teller)
	Retrace(ctx context.Context, n evmsource.Teller, b *evm.Block) (*evm.Block, error)
	Prove(ctx context.Context, doubts []evmsource.Doubt, judge func(*evmsource.Doubt, error)) error
}

// secondLane has a sample of the blocks traced by a second node too, beside the
// ingest and never in its way, and asks nodes about all blocks that are suspect. Where they
// differ, proofs of balances decide, else the majority; what is false is put right in index
// and archive, and so is what was told around it. What cannot be decided is asked again.
type secondLane struct {
	log   *slog.Logger
	nodes tellers
	// read calls f with blocks of the archive; ends returns its first and last block.
	read func(ctx context.Context, from, to uint64, f func(*evm.Block) error) error
	ends func() (first, last uint64, ok bool)
	// fitting returns the blocks that are others than those kept if the results of a range fit
	// the header by which it showed that they are false.
	fitting func(ctx context.Context, s *suspect) ([]*evm.Block, error)
	// correct puts blocks, by height, in the place of those that are kept.
	correct func(ctx context.Context, right []*evm.Block) error
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
		revised:    set.Counter("quorate_revised_blocks_total", "Blocks of which something false was kept and was put right."),
	}
	set.GaugeFunc("quorate_doubtful_blocks", "Blocks of which something false may be served, and other nodes are asked.", l.list.blocks)
	return l
}

func suspectsKey(id [32]byte) []byte { return append([]byte("suspects/"), id[:]...) }

// newSecond returns the lane that asks second nodes. It works once the archive is open.
func (c *EVM) newSecond(set *metric.Set) *secondLane {
	var kept []suspect
	if !c.cfg.Memory.Recall(suspectsKey(c.cfg.ID), &kept) {
		kept = nil
	}
	l := newSecondLane(c.log, set, c.node, kept)
	l.share = cmp.Or(c.cfg.SecondShare, l.share)
	l.read = func(ctx context.Context, from, to uint64, f func(*evm.Block) error) error {
		return c.keeper.Load().sink.reader.Read(ctx, from, to, f)
	}
	l.ends = func() (first, last uint64, ok bool) {
		if k := c.keeper.Load(); k != nil {
			first, _, ok = k.sink.archive.First()
			last, _, _ = k.sink.archive.Last()
		}
		return first, last, ok
	}
	l.fitting, l.correct = c.fitting, c.correct
	l.remember = func(ctx context.Context, list []suspect) { c.cfg.Memory.Remember(ctx, suspectsKey(c.cfg.ID), list) }
	return l
}

// suspect lists blocks of which something false is kept, durably.
func (c *EVM) suspect(ctx context.Context, s suspect) {
	c.second.list.add(s)
	c.second.save(context.WithoutCancel(ctx))
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

// blame holds something false against a node: others go first, and what was told around it is
// asked of them.
func (l *secondLane) blame(n evmsource.Teller, height uint64, why string) {
	if l.nodes.Lies(n) {
		return
	}
	l.nodes.BlameTeller(n) // first: what is committed from here on is seen by take
	l.list.hasten()
	l.log.Error("a node told something false: what was told around it is asked of other nodes", "node", n.Endpoint().String(), "height", height, "err", why)
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
		changed := l.list.changed.Wait()
		next, wait, ok := l.list.due(time.Now())
		if ok && ctx.Err() == nil {
			l.settle(ctx, &next)
			continue
		}
		select {
		case <-l.samples.Ready():
			batch = l.samples.Drain(batch)
			for _, height := range batch {
				l.sample(ctx, height)
			}
		case <-changed:
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
	tracer, known := l.nodes.Tracer(height)
	others := slices.DeleteFunc(l.nodes.Tellers(height), func(n evmsource.Teller) bool { return n == tracer })
	if !known || len(others) == 0 || ctx.Err() != nil {
		return // there is no second node
	}
	blocks, err := l.blocks(ctx, height, height)
	if err != nil {
		return
	}
	told, err := l.nodes.Retrace(ctx, others[rand.IntN(len(others))], blocks[1]) //nolint:gosec // the node does not see the draw
	switch {
	case ctx.Err() != nil:
	case err != nil:
		l.unanswered.Inc()
		l.log.Debug("no second opinion of a block", "height", height, "err", err)
	case evmsource.Difference(blocks[1], told) == "":
		l.confirmed.Inc()
	default:
		l.disputed.Inc()
		why := evmsource.Difference(blocks[1], told)
		l.log.Warn("nodes say different things of a block: all are asked", "height", height, "err", why)
		l.list.add(suspect{From: height, To: height, Reason: why})
	}
}

// finding is what was found out about a suspect range.
type finding struct {
	low   uint64       // the first block that was asked about
	from  uint64       // where the range begins, now that more is known
	right []*evm.Block // what is true where something else is kept
	open  []suspect    // blocks of which it is not certain
}

// settle asks nodes about a range, from its end down, and puts right what is false.
func (l *secondLane) settle(ctx context.Context, s *suspect) {
	first, last, ok := l.ends()
	if ok && (s.From > last || min(s.To, last) < first) { // blocks that were given up, or are not kept
		l.list.settled(s.id, s.From, s.To, s.From)
		return
	}
	found := &finding{low: s.From, from: s.From}
	var err error
	if s.By > 0 {
		found.right, err = l.fitting(ctx, s)
	} else {
		found, err = l.judgeRange(ctx, s, max(s.From, first), min(s.To, last))
	}
	if err == nil && len(found.right) > 0 {
		err = l.putRight(ctx, found.right)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		l.list.postpone(s.id, err.Error())
	default:
		l.list.settled(s.id, found.low, s.To, found.from)
		for _, open := range found.open {
			l.list.add(open)
		}
		if s.By > 0 {
			l.list.hasten() // others may stand on it
		}
	}
}

// putRight puts blocks in the place of those of which something false is kept.
func (l *secondLane) putRight(ctx context.Context, right []*evm.Block) error {
	slices.SortFunc(right, func(a, b *evm.Block) int { return cmp.Compare(a.Number, b.Number) })
	if err := l.correct(ctx, right); err != nil {
		return fmt.Errorf("it could not be put right: %w", err)
	}
	l.revised.Add(float64(len(right)))
	l.log.Info("what was false of some blocks was put right", "blocks", len(right), "first", right[0].Number, "last", right[len(right)-1].Number)
	return nil
}

// judgeRange judges the blocks of a range from the highest down, as many as are put right
// together, as long as nodes answer. The error says why nothing came of the highest one.
func (l *secondLane) judgeRange(ctx context.Context, s *suspect, from, high uint64) (*finding, error) {
	first, _, _ := l.ends()
	found, size := &finding{low: high + 1, from: from}, 0
	for found.low > found.from && size < settleBytes {
		blocks, err := l.blocks(ctx, max(found.from, found.low-min(found.low, settleBlocks)), found.low-1)
		if err != nil {
			return found, fmt.Errorf("the archive cannot be read: %w", err)
		}
		for i := len(blocks) - 1; i > 0; i-- {
			b := blocks[i]
			if !b.Traced || len(b.Txs)+len(b.Atomic) == 0 {
				continue // there is nothing to ask
			}
			is, err := l.judge(ctx, s, blocks[i-1], b)
			switch {
			case err != nil && (s.From == s.To || ctx.Err() != nil):
				return found, err
			case errors.Is(err, errNobody):
				if found.low > high {
					return found, err
				}
				return found, nil
			case err != nil:
				found.open = append(found.open, suspect{
					From: b.Number, To: b.Number, Accused: s.Accused, Refuted: s.Refuted, Reason: err.Error(), Tries: 1, Next: time.Now().Add(suspectFirst),
				})
			case is != b:
				found.right, size = append(found.right, is), size+b.Memory()
				if s.Accused && !s.Refuted {
					found.from = max(first, min(found.from, b.Number-min(b.Number, calm)))
				}
			}
			found.low = b.Number
		}
		found.low = blocks[1].Number
	}
	return found, nil
}

// blocks reads blocks, behind the one before them, an empty one if it is not there.
func (l *secondLane) blocks(ctx context.Context, low, high uint64) (list []*evm.Block, err error) {
	if first, _, _ := l.ends(); low <= first {
		list = append(list, new(evm.Block))
	}
	err = l.read(ctx, low-min(low, uint64(1-len(list))), high, func(b *evm.Block) error {
		list = append(list, b)
		return nil
	})
	return list, err
}
