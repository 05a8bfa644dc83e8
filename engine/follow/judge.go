package follow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	evmsource "quorate/engine/source/evm"
)

// outcome is what was found out about a block.
type outcome struct {
	was    *evm.Block // nil: nobody was asked
	is     *evm.Block // the true form where it is another than the one that is kept
	open   string     // why it is not certain what is true
	silent bool       // that is: nobody has answered
	// against are the nodes that told another form than the one that is kept.
	against []string
}

// version is a form of a block, with the nodes that told it.
type version struct {
	block *evm.Block
	votes []evmsource.Teller
	false error // a proof contradicts it
}

// judge asks nodes about a block and decides what is true.
func (l *secondLane) judge(ctx context.Context, s *suspect, parent, b *evm.Block) outcome {
	told, err := l.opinions(ctx, s, b)
	if len(told) == 1 && len(told[0].votes) < l.votes(s) {
		return outcome{was: b, open: cmp.Or(err, errNobody).Error(), silent: true}
	}
	if len(told) == 1 && !s.Refuted {
		l.recant(s, &told[0])
		return outcome{was: b} // all agree
	}
	l.proveAll(ctx, parent, told)
	return l.decide(s, b, told)
}

var errNobody = errors.New("no other node can be asked")

// votes is how many nodes must say the same. A liar among them is what nodes
// contradict each other by, and has no vote itself.
func (l *secondLane) votes(s *suspect) int {
	if s.Accused || l.nodes.HasLiar() {
		return 1
	}
	return 2
}

// opinions returns the forms of a block that nodes tell now, first the one that is
// kept. Of an accused range one node that agrees with it is enough.
func (l *secondLane) opinions(ctx context.Context, s *suspect, b *evm.Block) (list []version, err error) {
	list = []version{{block: b}}
	tracer, known := l.nodes.Tracer(b.Number)
	nodes := l.nodes.Tellers(b.Number)
	if at := slices.Index(nodes, tracer); known && at >= 0 { // it goes last
		nodes = append(slices.Delete(nodes, at, at+1), tracer)
	}
	for _, n := range nodes[:min(len(nodes), maxOpinions)] {
		told, askErr := l.nodes.Retrace(ctx, n, b)
		if askErr != nil {
			err = cmp.Or(err, askErr)
			if ctx.Err() != nil {
				return list, err
			}
			continue
		}
		at := slices.IndexFunc(list, func(v version) bool { return evmsource.Difference(v.block, told) == "" })
		if at < 0 {
			at, list = len(list), append(list, version{block: told})
		}
		list[at].votes = append(list[at].votes, n)
		if s.Accused && !s.Refuted && len(list) == 1 {
			break
		}
	}
	if asked := slices.ContainsFunc(list, func(v version) bool { return slices.Contains(v.votes, tracer) }); known && !asked && !l.nodes.Lies(tracer) {
		list[0].votes = append(list[0].votes, tracer) // it said so then
	}
	return list, err
}

// proveAll has the accounts proven of which versions differ.
func (l *secondLane) proveAll(ctx context.Context, parent *evm.Block, list []version) {
	forms := make([]*evm.Block, len(list))
	for i := range list {
		forms[i] = list[i].block
	}
	for i, doubts := range evmsource.Disputes(parent, forms...) {
		for some := range slices.Chunk(doubts, proofBatch) {
			err := l.nodes.Prove(ctx, some, func(_ *evmsource.Doubt, err error) {
				if errors.Is(err, evmsource.ErrFalse) && (list[i].false == nil || errors.Is(list[i].false, evmsource.ErrUnexplained)) {
					list[i].false = err
				}
			})
			if err != nil {
				break // no node proves anything now
			}
		}
	}
}

// decide says which version of a block is true, and holds the others against those
// who told them.
func (l *secondLane) decide(s *suspect, b *evm.Block, list []version) outcome {
	o := outcome{was: b, open: l.contradiction(list)}
	for i := range list[1:] {
		for _, n := range list[1+i].votes {
			o.against = append(o.against, n.Endpoint().String())
		}
	}
	var sound []version
	for i := range list {
		if v := &list[i]; v.false == nil || len(list) == 1 && errors.Is(v.false, evmsource.ErrUnexplained) && len(v.votes) > 1 {
			// Of a way to move coins that is not known here nodes that agree know better.
			sound = append(sound, *v)
		}
	}
	slices.SortStableFunc(sound, func(x, y version) int { return cmp.Compare(len(y.votes), len(x.votes)) })
	if len(sound) == 0 || len(sound) > 1 && len(sound[0].votes) == len(sound[1].votes) {
		return o
	}
	best := &sound[0]
	need := l.votes(s)
	if len(sound) == 1 && len(list) > 1 {
		need = min(need, 1) // the others are proven to be false
	}
	if len(best.votes) < need {
		return o
	}
	o.open = ""
	if best.block != b {
		o.is = best.block
		if n, ok := l.nodes.Tracer(b.Number); ok {
			l.blame(n, b.Number, evmsource.Difference(b, best.block))
		}
	}
	if best.block == b {
		l.recant(s, best)
	}
	for i := range list {
		if v := &list[i]; v.block != best.block {
			for _, n := range v.votes {
				l.blame(n, b.Number, evmsource.Difference(v.block, best.block))
			}
		}
	}
	return o
}

// recant holds it against nodes that they told another form of a block before than
// the one that they tell now, which is the one that was kept and is true.
func (l *secondLane) recant(s *suspect, v *version) {
	if len(s.Against) == 0 || !bytes.Equal(s.Kept, digestOf(v.block)) {
		return // nobody did, or it was put right since
	}
	for _, n := range v.votes {
		if slices.Contains(s.Against, n.Endpoint().String()) {
			l.blame(n, v.block.Number, "it took back what it said: "+s.Reason)
		}
	}
}

// digestOf returns a digest of what no hash covers of a block.
func digestOf(b *evm.Block) []byte {
	sum := evm.Keccak(evmarchive.AppendTrace(nil, b))
	return sum[:]
}

// contradiction says in which way versions differ, and who told them.
func (l *secondLane) contradiction(list []version) string {
	names := func(v *version) string {
		var all []string
		for _, n := range v.votes {
			all = append(all, n.Endpoint().String())
		}
		if len(all) == 0 {
			return "nobody any more"
		}
		return strings.Join(all, ", ")
	}
	if len(list) < 2 {
		return fmt.Sprintf("%s: %v", names(&list[0]), list[0].false)
	}
	return fmt.Sprintf("%s against %s: %s", names(&list[0]), names(&list[1]), evmsource.Difference(list[0].block, list[1].block))
}
