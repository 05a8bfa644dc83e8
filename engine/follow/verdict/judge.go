package verdict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"quorate/engine/chain/evm"
	evmsource "quorate/engine/source/evm"
)

// version is a form of a block, with the nodes that tell it.
type version struct {
	block *evm.Block
	votes []evmsource.Teller
	false error // a proof contradicts it
}

var errNobody = errors.New("no other node can be asked")

// judge asks nodes about a block and returns what is true: of what no proof contradicts what
// most nodes say. A node that says something else has answered falsely.
func (l *Lane) judge(ctx context.Context, s *Suspect, parent, b *evm.Block) (*evm.Block, error) {
	list, err := l.opinions(ctx, s, b)
	if len(list) > 1 || s.Refuted && len(list[0].votes) > 0 { // else nobody contradicts what is kept
		l.proveAll(ctx, parent, list)
	}
	best := l.best(s, list)
	switch {
	case best != nil:
	case len(list) > 1 || list[0].false != nil:
		return nil, contradiction(list)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errNobody, err)
	default:
		return nil, errNobody
	}
	if n, ok := l.nodes.Tracer(b.Number); ok && best.block != b {
		list[0].votes = append(list[0].votes, n) // it said so then
	}
	for i := range list {
		if v := &list[i]; v.block != best.block {
			for _, n := range v.votes {
				l.Blame(n, b.Number, evmsource.Difference(v.block, best.block))
			}
		}
	}
	if !s.Accused { // who was wrong may have taken it back
		l.accuse(b.Number, s.Reason)
	}
	return best.block, nil
}

// best returns the version that is true, nil if that is not certain.
func (l *Lane) best(s *Suspect, list []version) *version {
	need := 2 // who contradicts another must not decide
	if s.Accused {
		need = 1
	}
	var sound []*version
	for i := range list {
		v := &list[i]
		if v.false == nil || len(list) == 1 && errors.Is(v.false, evmsource.ErrUnexplained) && len(v.votes) > 1 {
			// Of a way to move coins that is not known here nodes that agree know better.
			sound = append(sound, v)
		}
	}
	slices.SortStableFunc(sound, func(x, y *version) int { return cmp.Compare(len(y.votes), len(x.votes)) })
	switch {
	case len(sound) == 0 || len(sound) > 1 && len(sound[0].votes) == len(sound[1].votes):
		return nil
	case len(sound) == 1 && len(list) > 1:
		need = 1 // the others are proven to be false
	}
	if len(sound[0].votes) < need {
		return nil
	}
	return sound[0]
}

// opinions returns the forms of a block that nodes tell now, first the one that is kept,
// without votes if none does. Who told that is asked last: where blocks are accused one node
// that agrees is enough.
func (l *Lane) opinions(ctx context.Context, s *Suspect, b *evm.Block) (list []version, err error) {
	list = []version{{block: b}}
	tracer, known := l.nodes.Tracer(b.Number)
	nodes := l.nodes.Tellers(b.Number)
	if at := slices.Index(nodes, tracer); known && at >= 0 {
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
	return list, err
}

// proveAll has the accounts proven of which versions differ.
func (l *Lane) proveAll(ctx context.Context, parent *evm.Block, list []version) {
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

// contradiction says in which way versions differ, and who tells them.
func contradiction(list []version) error {
	names := func(v *version) string {
		var all []string
		for _, n := range v.votes {
			all = append(all, n.Endpoint().String())
		}
		if len(all) == 0 {
			return "no node any more"
		}
		return strings.Join(all, ", ")
	}
	if len(list) < 2 {
		return fmt.Errorf("%s: %w", names(&list[0]), list[0].false)
	}
	return fmt.Errorf("%s against %s: %s", names(&list[0]), names(&list[1]), evmsource.Difference(list[0].block, list[1].block))
}
