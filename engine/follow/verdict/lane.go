package verdict

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
	// DefaultShare is the part of the blocks whose calls are asked of a second node:
	// one of so many. A node that lies in each block is found within 1,000 blocks but for
	// one chance in seven million.
	DefaultShare = 64
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

// Nodes are the nodes whose word is taken for calls and balances; a client of the
// source is one.
type Nodes interface {
	Tracer(height uint64) (evmsource.Teller, bool)
	Tellers(height uint64) []evmsource.Teller
	Lies(evmsource.Teller) bool
	BlameTeller(evmsource.Teller)
	Retrace(ctx context.Context, n evmsource.Teller, b *evm.Block) (*evm.Block, error)
	Prove(ctx context.Context, doubts []evmsource.Doubt, judge func(*evmsource.Doubt, error)) error
}

// Lane has a sample of the blocks traced by a second node too, beside the
// ingest and never in its way, and asks nodes about all blocks that are suspect. Where they
// differ, proofs of balances decide, else the majority; what is false is put right in index
// and archive, and so is what was answered around it. What cannot be decided is asked again.
type Lane struct {
	log   *slog.Logger
	nodes Nodes
	// Read calls f with blocks of the archive; Ends returns its first and last block.
	Read func(ctx context.Context, from, to uint64, f func(*evm.Block) error) error
	Ends func() (first, last uint64, ok bool)
	// Fitting returns the blocks that are others than those kept if the results of a range fit
	// the header by which it showed that they are false.
	Fitting func(ctx context.Context, s *Suspect) ([]*evm.Block, error)
	// Correct puts blocks, by height, in the place of those that are kept.
	Correct func(ctx context.Context, right []*evm.Block) error
	// Remember keeps the list for the next start.
	Remember func(ctx context.Context, list []Suspect)
	Share    uint32

	list    *suspects
	samples *actor.Mailbox[uint64]

	confirmed, disputed, unanswered, revised metric.Counter
}

// New returns a lane that does nothing yet; kept is what it listed before a restart.
func New(log *slog.Logger, set *metric.Set, nodes Nodes, kept []Suspect) *Lane {
	counter := func(name, help string) metric.Counter {
		return set.Counter("quorate_second_opinions_"+name+"_total", help)
	}
	l := &Lane{
		log: log, nodes: nodes, Share: DefaultShare, list: newSuspects(kept), samples: actor.NewMailbox[uint64](maxSamples, actor.Shed),
		confirmed:  counter("confirmed", "Blocks whose calls and balances a second node confirmed."),
		disputed:   counter("disputed", "Blocks for which nodes answered with different calls or balances."),
		unanswered: counter("unanswered", "Blocks of the sample that no second node could be asked about."),
		revised:    set.Counter("quorate_revised_blocks_total", "Blocks of which something false was kept and was put right."),
	}
	set.GaugeFunc("quorate_doubtful_blocks", "Blocks of which something false may be served, and other nodes are asked.", l.list.blocks)
	return l
}

// Take looks at a block that was committed.
func (l *Lane) Take(b *evm.Block) {
	if !b.Traced || len(b.Txs)+len(b.Atomic) == 0 {
		return
	}
	n, known := l.nodes.Tracer(b.Number)
	switch {
	case known && l.nodes.Lies(n):
		l.list.add(Suspect{From: b.Number, To: b.Number, Accused: true, Reason: n.Endpoint().String() + " answered falsely, and no other node could be asked"})
	case rand.Uint32N(l.Share) == 0: //nolint:gosec // the node does not see the draw
		_ = l.samples.TrySend(b.Number) // the mailbox counts what it sheds
	}
}

// Suspect lists blocks of which something false is kept, durably.
func (l *Lane) Suspect(ctx context.Context, s Suspect) {
	l.list.add(s)
	l.save(context.WithoutCancel(ctx))
}

// Settled takes blocks off the list that others have put right.
func (l *Lane) Settled(ctx context.Context, s *Suspect) {
	l.list.settled(s.id, s.From, s.To, s.From)
	l.save(ctx)
}

// Suspects returns the blocks of which something false may be served.
func (l *Lane) Suspects() []Suspect { return l.list.all() }

// Err says of which blocks something false may be served, nil if of none.
func (l *Lane) Err() error { return l.list.err() }

// Refuted takes note that a proof contradicts what is kept of one of some blocks.
func (l *Lane) Refuted(from, to uint64, why error) {
	l.list.add(Suspect{From: from, To: to, Accused: true, Refuted: true, Reason: why.Error()})
	if n, ok := l.nodes.Tracer(to); ok {
		l.Blame(n, to, why.Error())
		return
	}
	l.accuse(to, why.Error())
}

// Blame holds something false against a node: others go first, and what was answered around it is
// asked of them.
func (l *Lane) Blame(n evmsource.Teller, height uint64, why string) {
	if l.nodes.Lies(n) {
		return
	}
	l.nodes.BlameTeller(n) // first: what is committed from here on is seen by take
	l.list.hasten()
	l.log.Error("a node answered falsely: other nodes are asked about the blocks around", "node", n.Endpoint().String(), "height", height, "err", why)
	l.accuse(height, n.Endpoint().String()+": "+why)
}

// accuse lists the blocks from some below a false one up to the last.
func (l *Lane) accuse(height uint64, why string) {
	_, last, _ := l.Ends()
	l.list.add(Suspect{From: height - min(height, calm), To: max(height, last), Accused: true, Reason: why})
}

// Run works until ctx ends.
func (l *Lane) Run(ctx context.Context) error {
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
func (l *Lane) save(ctx context.Context) {
	if list, ok := l.list.unsaved(); ok {
		l.Remember(ctx, list)
	}
}

// sample asks a second node about a block.
func (l *Lane) sample(ctx context.Context, height uint64) {
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
		l.list.add(Suspect{From: height, To: height, Reason: why})
	}
}

// finding is what was found out about a suspect range.
type finding struct {
	low   uint64       // the first block that was asked about
	from  uint64       // where the range begins, now that more is known
	right []*evm.Block // what is true where something else is kept
	open  []Suspect    // blocks of which it is not certain
}

// settle asks nodes about a range, from its end down, and puts right what is false.
func (l *Lane) settle(ctx context.Context, s *Suspect) {
	first, last, ok := l.Ends()
	if ok && (s.From > last || min(s.To, last) < first) { // blocks that were given up, or are not kept
		l.list.settled(s.id, s.From, s.To, s.From)
		return
	}
	found := &finding{low: s.From, from: s.From}
	var err error
	if s.By > 0 {
		found.right, err = l.Fitting(ctx, s)
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
func (l *Lane) putRight(ctx context.Context, right []*evm.Block) error {
	slices.SortFunc(right, func(a, b *evm.Block) int { return cmp.Compare(a.Number, b.Number) })
	if err := l.Correct(ctx, right); err != nil {
		return fmt.Errorf("it could not be put right: %w", err)
	}
	l.revised.Add(float64(len(right)))
	l.log.Info("what was false of some blocks was put right", "blocks", len(right), "first", right[0].Number, "last", right[len(right)-1].Number)
	return nil
}

// judgeRange judges the blocks of a range from the highest down, as many as are put right
// together, as long as nodes answer. The error says why nothing came of the highest one.
func (l *Lane) judgeRange(ctx context.Context, s *Suspect, from, high uint64) (*finding, error) {
	first, _, _ := l.Ends()
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
				found.open = append(found.open, Suspect{
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
func (l *Lane) blocks(ctx context.Context, low, high uint64) (list []*evm.Block, err error) {
	if first, _, _ := l.Ends(); low <= first {
		list = append(list, new(evm.Block))
	}
	err = l.Read(ctx, low-min(low, uint64(1-len(list))), high, func(b *evm.Block) error {
		list = append(list, b)
		return nil
	})
	return list, err
}
