package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/ingest"
)

// ErrForked means that the archive and the index have different blocks at the same height.
var ErrForked = errors.New("the archive has another block than the index")

// errJoined ends the ingest that fills the archive: it has all that the index has.
var errJoined = errors.New("the archive has reached the index")

// Blocks reads blocks of a kind in the order of their heights.
type Blocks[B ingest.Item] interface {
	Read(ctx context.Context, from, to uint64, f func(B) error) error
}

// Index is the sink behind an archive.
type Index[B ingest.Item] interface {
	ingest.Sink[B]
	// CommitAfter is Commit that writes nothing before ready has returned nil.
	CommitAfter(ctx context.Context, blocks []B, ready func() error) error
}

// aheadIndex is an index that makes the rows of a group of blocks while those of the
// group before are being written.
type aheadIndex[B ingest.Item] interface {
	// CommitAhead writes nothing of the blocks before ready has returned nil.
	CommitAhead(ctx context.Context, blocks []B, ready func() error) error
	Land() error
}

// Sink is where the blocks of a chain go: into the archive, durably, and then into
// the index. The rows of the index are made while the archive is written, so that a
// new block waits for one of the two, not for both; they are written when the blocks
// are on disk. A crash between the two leaves the archive ahead, and the index catches
// up from it, without a node; so does an index that was removed.
//
// An index that was made before there was an archive is ahead of it. Until the
// archive has all its blocks the two are apart: the ingest of the head commits to
// the index alone, and one of its own fills the archive; see [filler].
type Sink[B ingest.Item] struct {
	archive *archive.Archive
	index   Index[B]
	encode  func(dst []byte, b B) []byte
	// reader reads the archive's blocks with what was learned of them since.
	reader Blocks[B]
	// rewind takes the index back to a block of the archive.
	rewind func(ctx context.Context, to uint64) error
	// room returns why nothing can be written, or nil.
	room func() error
	// check checks blocks that are about to be committed, by those before them. Nil: there
	// is nothing to check.
	check func(ctx context.Context, blocks []B) error
	// agree puts those in the places of blocks that are about to be committed that other
	// servers have. Nil: there are none.
	agree func(ctx context.Context, blocks []B) error

	mu     sync.Mutex // held by commits
	flying bool       // the index may be writing rows of blocks of the archive
	blocks []archive.Block
	data   []byte
}

// NewSink returns the sink of a chain whose blocks the archive keeps as encode makes them,
// and reader reads. room returns why nothing can be written, or nil.
func NewSink[B ingest.Item](a *archive.Archive, x Index[B], encode func(dst []byte, b B) []byte, reader Blocks[B], room func() error) *Sink[B] {
	return &Sink[B]{archive: a, index: x, encode: encode, reader: reader, room: room}
}

// apart reports whether the index has blocks above the archive's last. It fails if
// the two have different blocks where both have one.
func (s *Sink[B]) apart() (bool, error) {
	head, started := s.index.Cursor()
	if !started {
		return false, nil
	}
	last, id, ok := s.archive.Last()
	switch {
	case !ok || last < head.Height:
		return true, nil
	case last == head.Height:
		return false, s.same(head, id)
	}
	err := s.archive.Read(context.Background(), head.Height, head.Height, func(b archive.Block) error { return s.same(head, b.ID) })
	var damage *archive.Damage
	if errors.As(err, &damage) {
		err = nil // it will be mended; whether it is another chain is found out then
	}
	return false, err
}

func (s *Sink[B]) same(head chain.Head, archived [32]byte) error {
	if chain.ID(archived) != head.ID {
		return fmt.Errorf("%w: block %d is %x there and %x here", ErrForked, head.Height, archived, head.ID[:])
	}
	return nil
}

// Cursor implements [ingest.Sink].
func (s *Sink[B]) Cursor() (chain.Head, bool) {
	head, started := s.index.Cursor()
	if last, id, ok := s.archive.Last(); ok && (!started || last > head.Height) {
		return chain.Head{Height: last, ID: id}, true
	}
	return head, started
}

// Commit implements [ingest.Sink].
func (s *Sink[B]) Commit(ctx context.Context, blocks []B) error {
	if err := s.room(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checked(ctx, blocks); err != nil {
		return err
	}
	if s.flying {
		return errors.Join(s.ahead(ctx, blocks), s.land())
	}
	return s.commit(ctx, blocks, s.index.CommitAfter)
}

// commit needs mu.
func (s *Sink[B]) commit(ctx context.Context, blocks []B, after func(context.Context, []B, func() error) error) error {
	if !s.flying {
		if apart, err := s.apart(); err != nil {
			return err
		} else if apart {
			return s.index.Commit(ctx, blocks)
		}
		// After a failure between the two the index is behind.
		if err := s.catchUp(ctx, nil); err != nil {
			return err
		}
	}
	appended := make(chan error, 1)
	go func() { appended <- s.append(ctx, blocks) }()
	durable := sync.OnceValue(func() error { return <-appended })
	err := after(ctx, blocks, durable)
	// An index that failed before it had anything to write has not waited.
	return cmp.Or(durable(), err)
}

// commitAhead is Commit that returns when the blocks are in the archive, and the index may
// still be writing their rows.
func (s *Sink[B]) commitAhead(ctx context.Context, blocks []B) error {
	if err := s.room(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checked(ctx, blocks); err != nil {
		return err
	}
	return s.ahead(ctx, blocks)
}

// checked needs mu.
func (s *Sink[B]) checked(ctx context.Context, blocks []B) error {
	if s.agree != nil {
		if err := s.agree(ctx, blocks); err != nil {
			return err
		}
	}
	if s.check == nil {
		return nil
	}
	return s.check(ctx, blocks)
}

// ahead needs mu.
func (s *Sink[B]) ahead(ctx context.Context, blocks []B) error {
	x, ok := s.index.(aheadIndex[B])
	if !ok {
		return s.commit(ctx, blocks, s.index.CommitAfter)
	}
	err := s.commit(ctx, blocks, func(ctx context.Context, blocks []B, durable func() error) error {
		s.flying = true
		return x.CommitAhead(ctx, blocks, durable)
	})
	if err != nil {
		err = errors.Join(err, s.land())
	}
	return err
}

// land waits until the index has the blocks of the archive, if they are on their way. It
// needs mu.
func (s *Sink[B]) land() error {
	if !s.flying {
		return nil
	}
	s.flying = false
	return s.index.(aheadIndex[B]).Land()
}

// encoded returns a block as the archive keeps it.
func (s *Sink[B]) encoded(b B) archive.Block {
	link := b.Link()
	return archive.Block{Height: link.Height, ID: link.ID, Parent: link.Parent, Data: s.encode(nil, b)}
}

// append adds blocks to the archive. It needs mu.
func (s *Sink[B]) append(ctx context.Context, blocks []B) error {
	s.blocks, s.data = s.blocks[:0], s.data[:0]
	for _, b := range blocks {
		link, begin := b.Link(), len(s.data)
		s.data = s.encode(s.data, b)
		// A buffer that has grown leaves the blocks before where they were.
		s.blocks = append(s.blocks, archive.Block{Height: link.Height, ID: link.ID, Parent: link.Parent, Data: s.data[begin:len(s.data):len(s.data)]})
	}
	err := s.archive.Append(ctx, s.blocks)
	clear(s.blocks)
	if cap(s.data) > maxKeptData {
		s.data = nil
	}
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

const (
	// maxKeptData bounds the buffer that is kept from one commit to the next.
	maxKeptData = 4 << 20
	// catchBlocks and catchBytes bound a group of blocks that is read from the archive.
	catchBlocks = 1024
	catchBytes  = 16 << 20
)

// CatchUp commits the blocks of the archive that the index does not have, and calls
// progress with how far it is. It asks no node anything.
func (s *Sink[B]) CatchUp(ctx context.Context, progress func(done, of uint64)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.land(); err != nil {
		return err
	}
	if apart, err := s.apart(); err != nil || apart {
		return err
	}
	return s.catchUp(ctx, progress)
}

// catchUp needs mu. One group is read while the one before is committed.
func (s *Sink[B]) catchUp(ctx context.Context, progress func(done, of uint64)) error {
	last, _, ok := s.archive.Last()
	from, _, _ := s.archive.First()
	if head, started := s.index.Cursor(); started {
		from = head.Height + 1
	}
	if !ok || from > last {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	groups, read := make(chan []B, 1), make(chan error, 1)
	go func() {
		defer close(groups)
		read <- s.read(ctx, from, last, groups)
	}()
	commit, land := s.index.Commit, func() error { return nil }
	if x, ok := s.index.(aheadIndex[B]); ok {
		land = x.Land
		commit = func(ctx context.Context, group []B) error {
			return x.CommitAhead(ctx, group, func() error { return nil })
		}
	}
	for group := range groups {
		if err := s.room(); err != nil {
			return errors.Join(err, land())
		}
		if err := commit(ctx, group); err != nil {
			return errors.Join(err, land())
		}
		s.tell(progress, last)
	}
	err := errors.Join(<-read, land())
	s.tell(progress, last)
	return err
}

// tell calls progress with how far the index is.
func (s *Sink[B]) tell(progress func(done, of uint64), of uint64) {
	if head, ok := s.index.Cursor(); ok && progress != nil {
		progress(head.Height, of)
	}
}

// read sends the blocks of a range in groups.
func (s *Sink[B]) read(ctx context.Context, from, to uint64, groups chan<- []B) error {
	var group []B
	size := 0
	send := func() error {
		if len(group) == 0 {
			return nil
		}
		select {
		case groups <- group:
			group, size = nil, 0
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := s.reader.Read(ctx, from, to, func(block B) error {
		if group, size = append(group, block), size+block.Memory(); len(group) < catchBlocks && size < catchBytes {
			return nil
		}
		return send()
	})
	return errors.Join(err, send()) // what was read before a damage is good
}

// filler is the sink of the ingest that fills the archive up to the index.
type filler[B ingest.Item] struct {
	*Sink[B]
	met func() // is called when the archive has reached the index
}

// Cursor implements [ingest.Sink].
func (f filler[B]) Cursor() (chain.Head, bool) {
	last, id, ok := f.archive.Last()
	return chain.Head{Height: last, ID: id}, ok
}

// Commit implements [ingest.Sink]. It takes no block above the index's last; when it
// has that one the archive and the index are together, and it fails with errJoined.
func (f filler[B]) Commit(ctx context.Context, blocks []B) error {
	if err := f.room(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.land(); err != nil {
		return err
	}
	if f.check != nil {
		if err := f.check(ctx, blocks); err != nil {
			return err
		}
	}
	head, _ := f.index.Cursor()
	for i, b := range blocks {
		link := b.Link()
		if link.Height < head.Height {
			continue
		}
		if link.Height == head.Height {
			if err := f.same(head, link.ID); err != nil {
				return err
			}
			i++
		}
		if err := f.append(ctx, blocks[:i]); err != nil {
			return err
		}
		f.met()
		return errJoined
	}
	return f.append(ctx, blocks)
}
