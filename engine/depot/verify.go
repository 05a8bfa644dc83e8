package depot

import (
	"context"
	"errors"
)

// Sum is how much of a chain a depot has.
type Sum struct {
	First, Last  uint64 // heights
	Spans, Notes int    // twins apart
	Missing      int    // spans between the first and the last one
	Twins        int    // spans that others make needless
	Bytes        int64
}

// Sum counts the objects of the chain.
func (c *Chain) Sum(ctx context.Context) (s Sum, err error) {
	spans, notes, err := c.List(ctx)
	for i, o := range spans {
		s.Bytes += o.Size
		switch {
		case i == 0:
			s.First = o.First
		case o.First == spans[i-1].First:
			s.Twins++
			continue
		default:
			s.Missing += int((o.First - c.border(spans[i-1].First)) / c.Heights) //nolint:gosec // a count of objects
		}
		s.Spans++
		s.Last = c.border(o.First) - 1
	}
	for _, o := range notes {
		s.Bytes += o.Size
	}
	s.Notes = len(notes)
	return s, err
}

// Verified is what was found in a depot.
type Verified struct{ Sound, Removed int }

// Verify reads all objects of the chain, and calls report with what is refused. With prune
// it removes spans beside another one of the same blocks that would be taken first and is
// sound.
func (c *Chain) Verify(ctx context.Context, dir string, prune bool, report func(error)) (v Verified, err error) {
	spans, notes, err := c.List(ctx)
	if err != nil {
		return v, err
	}
	sound := false
	for i := range spans {
		o := &spans[i]
		if sound = sound && i > 0 && o.First == spans[i-1].First; sound && prune {
			if err := c.store.remove(ctx, o.Name); err != nil {
				return v, err
			}
			v.Removed++
			continue
		}
		ok, err := v.look(ctx, o, dir, c.openSpan, report)
		if err != nil {
			return v, err
		}
		sound = sound || ok
	}
	for i := range notes {
		if _, err := v.look(ctx, &notes[i], dir, c.openNotes, report); err != nil {
			return v, err
		}
	}
	return v, nil
}

// look opens an object, which reads all of it.
func (v *Verified) look(ctx context.Context, o *Object, dir string, open func(context.Context, *Object, string) (*fetched, error), report func(error)) (ok bool, err error) {
	f, err := open(ctx, o, dir)
	if err == nil {
		v.Sound++
		return true, f.Close()
	}
	if ctx.Err() == nil && (errors.Is(err, ErrRefused) || errors.Is(err, ErrMissing)) {
		report(err)
		err = nil
	}
	return false, err
}
