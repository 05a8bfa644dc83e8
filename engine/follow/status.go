package follow

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"quorate/engine/chain"
	"quorate/engine/ingest"
)

const (
	// downAfter is how long a chain's node may fail before its chain counts as down.
	downAfter = 5 * time.Second
	// maxWaiting is how long a block that was fetched may wait for its commit
	// before the chain's check turns red.
	maxWaiting = time.Minute
	// maxStill is how long nothing may be heard of a chain: its last block is
	// asked for every ten seconds.
	maxStill = 25 * time.Second
)

// errNotAsked is what is wrong with a chain before its node was asked anything.
var errNotAsked = errors.New("the chain's node was not asked yet")

// status says how the chain is followed. Before a node has answered that is what is kept
// of it.
func (b *base[B]) status() ingest.Status {
	if i := b.ingest.Load(); i != nil {
		return i.Status()
	}
	s := ingest.Status{Since: b.opened}
	if err := b.trouble.Load(); err != nil {
		s.Err = *err
	} else if !b.asked.Load() {
		s.Err = errNotAsked
	}
	s.Head, s.Started = b.index.Cursor()
	s.Target = s.Height
	if k := b.keeper.Load(); k != nil {
		last, _, _ := k.sink.archive.Last()
		s.Target = max(s.Target, last)
		if w := k.work.Load(); w != nil && w.Name == WorkCatchUp {
			s.Left = w.Left
		}
	}
	return s
}

// Reached returns the last indexed block and the height of the last one that is known; ok is
// false while no node answers, or nothing is indexed.
func (b *base[B]) Reached() (head chain.Head, target uint64, ok bool) {
	head, ok = b.index.Cursor()
	s := b.status()
	return head, s.Target, ok && s.Err == nil
}

// Down says why the chain's node does not answer, or nil.
func (b *base[B]) Down() error {
	s := b.status()
	if s.Err != nil && time.Since(s.Since) > downAfter {
		return s.Err
	}
	return nil
}

// Syncing returns the highest block that is known of, and reports whether the index is
// far behind it, or empty.
func (b *base[B]) Syncing() (target uint64, behind bool) {
	s := b.status()
	return s.Target, s.Syncing()
}

// Updated reports when a block was indexed last, or when it turned out that there is
// none to index; the zero time if not since the start.
func (b *base[B]) Updated() time.Time { return b.status().Progress }

// check is the health of the chain: the last block that is indexed.
func (b *base[B]) check() (s ingest.Status, err error) {
	var stuck error // why archive and index have not been brought together for a while
	if k := b.keeper.Load(); k != nil {
		stuck = k.stuckFor(maxWaiting)
	}
	s = b.status()
	if err = standing(&s); err == nil {
		err = unhealthy(&s, stuck)
	}
	return s, err
}

// standing returns what is wrong with a chain that stands before a block that cannot be
// read, or nil if it does not. Failures that follow from it are left out.
func standing(s *ingest.Status) error {
	if s.Unreadable == nil {
		return nil
	}
	err := fmt.Errorf("the index stands at block %d since %s: %w", s.Height, s.Since.UTC().Format(time.RFC3339), s.Unreadable)
	if s.Err != nil && !errors.As(s.Err, new(*ingest.UnreadableError)) {
		err = errors.Join(err, s.Err)
	}
	return err
}

// unhealthy says what is wrong with the way a chain is followed, or nil; stuck is why
// archive and index have not been brought together.
func unhealthy(s *ingest.Status, stuck error) error {
	switch {
	case s.Err != nil:
		return fmt.Errorf("the chain is not followed for %s: %w", time.Since(s.Since).Round(time.Millisecond), s.Err)
	case !s.Started:
		return errors.New("no block is indexed yet")
	case time.Since(s.Progress) > maxStill:
		return fmt.Errorf("nothing was heard of the chain for %s", time.Since(s.Progress).Round(time.Millisecond))
	case stuck != nil:
		return fmt.Errorf("the archive and the index are not brought together: %w", stuck)
	case s.WaitingFor > maxWaiting:
		return fmt.Errorf("a block has waited for %s to be indexed", s.WaitingFor.Round(time.Millisecond))
	case s.Unable > 0:
		return untracedError(s)
	}
	return nil
}

// untracedError says that blocks were indexed while no node could trace, and why.
func untracedError(s *ingest.Status) error {
	i := slices.IndexFunc(s.Gaps, func(g ingest.Gap) bool { return g.Unable })
	if i < 0 { // above the lowest gaps
		return fmt.Errorf("%d blocks are indexed without their traces: no node could trace", s.Unable)
	}
	g := &s.Gaps[i]
	return fmt.Errorf("%d blocks are indexed without their traces, from block %d on, since %s: %s",
		s.Unable, g.Height, g.Since.UTC().Format(time.RFC3339), g.Reason)
}

// ArchiveState is how far a chain's archive is, for its health check.
type ArchiveState struct {
	First, Last uint64
	Bytes       int64
	Work        []Work
}

// Archive returns the state of the chain's archive; ok is false while it is not open.
func (b *base[B]) Archive() (s ArchiveState, ok bool) {
	k := b.keeper.Load()
	if k == nil {
		return s, false
	}
	s.First, _, _ = k.sink.archive.First()
	s.Last, _, _ = k.sink.archive.Last()
	s.Bytes, s.Work = k.sink.archive.Size(), k.Work()
	return s, true
}
