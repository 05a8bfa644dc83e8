package archive

import (
	"context"
	"errors"
	"time"
)

// wake has full segments sealed in the background.
func (a *Archive) wake() {
	select {
	case a.full <- struct{}{}:
	default: // it looks again anyway
	}
}

// sealAll seals full segments until the archive is closed.
func (a *Archive) sealAll() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Close waits: what is half done is given up, and done when the archive is opened.
	go func() {
		select {
		case <-a.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		select {
		case <-a.stop:
			return
		case <-a.full:
		}
		for more := true; more; {
			began := time.Now()
			name, err := a.sealNext(ctx)
			if more = name != "" && err == nil; more {
				a.opts.Logger.Debug("A segment was sealed.", "file", name, "took", time.Since(began))
			}
			if err != nil && ctx.Err() == nil {
				a.opts.Logger.Warn("A segment could not be sealed; its blocks stay as they are.", "file", name, "error", err)
			}
		}
		if err := a.pruneKept(ctx); err != nil && ctx.Err() == nil {
			a.opts.Logger.Warn("Old segments could not be pruned.", "error", err)
		}
	}
}

// sealNext seals the oldest journal that does not grow any more, and returns its
// name; without one it is empty.
func (a *Archive) sealNext(ctx context.Context) (name string, err error) {
	a.rewriting.Lock()
	defer a.rewriting.Unlock()
	a.appending.Lock()
	live := a.live != nil
	a.appending.Unlock()
	s := a.oldestJournal(live)
	if s == nil {
		return "", nil
	}
	return s.name, a.replaceSegment(ctx, s, change{last: s.last})
}

// oldestJournal returns the oldest journal; with live not the last segment.
func (a *Archive) oldestJournal(live bool) *segment {
	a.mu.RLock()
	defer a.mu.RUnlock()
	segs := a.segs
	if live {
		segs = segs[:len(segs)-1]
	}
	for _, s := range segs {
		if s.journal {
			return s
		}
	}
	return nil
}

// replaceSegment writes a segment again and puts it in the place of the old one.
func (a *Archive) replaceSegment(ctx context.Context, s *segment, c change) error {
	// A crash from here on leaves the old file, or both: then the sealed one counts.
	b, err := a.rewrite(ctx, s, c)
	if err != nil {
		return err
	}
	if err := a.moveIn(s, b); err != nil {
		return err
	}
	if !s.journal {
		return nil
	}
	a.stats.sealed.Inc()
	return a.removeFile(s.name)
}

// moveIn has a file that was written take the place of a segment.
func (a *Archive) moveIn(old *segment, b *builder) error {
	a.moving.Lock()
	defer a.moving.Unlock()
	size, err := b.finish(a.dir)
	if err != nil {
		return err
	}
	a.swap([]*segment{old}, &segment{ends: b.ends, name: segmentName(b.ends.first, sealedSuffix), size: size})
	return nil
}

// removeFile removes a file for good.
func (a *Archive) removeFile(name string) error {
	return errors.Join(a.opts.FS.Remove(a.path(name)), a.opts.FS.SyncDir(a.dir))
}
