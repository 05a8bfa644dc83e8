package primary

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	store "quorate/engine/store/index"
)

// Blocks reads blocks that were committed, such as those of an archive.
type Blocks interface {
	// Read yields the blocks from one height to another, both included, in their
	// order. Each is a block of its own, which f may keep and does not change.
	Read(ctx context.Context, from, to uint64, f func(*Block) error) error
}

// editions says where the rows of a chain lie.
type editions struct {
	version  uint16  // of the rules that the rows are made by
	serving  uint8   // the edition that is served
	dropping []uint8 // those whose rows are to be removed
}

// The editions codec, version 1: u8 1 | u16 version | u8 served edition | u8 each of
// those to be removed.
const editionsVersion = 1

func (e *editions) encode() []byte {
	b := binary.BigEndian.AppendUint16([]byte{editionsVersion}, e.version)
	return append(append(b, e.serving), e.dropping...)
}

func (c *Chain) editionsKey() Key { return Space{Ordinal: c.ordinal}.Key(store.PrimaryEditions) }

func (c *Chain) readEditions() (e editions, found bool, err error) {
	s, err := c.db.Snapshot()
	if err != nil {
		return e, false, err
	}
	defer s.Close()
	found, err = s.Get(c.editionsKey(), func(b []byte) error {
		if len(b) < 4 || b[0] != editionsVersion {
			return fmt.Errorf("%w: editions", ErrRow)
		}
		e.version, e.serving = binary.BigEndian.Uint16(b[1:]), b[3]
		e.dropping = append([]byte(nil), b[4:]...)
		return nil
	})
	return e, found, err
}

// rebuildGroup is how many blocks a commit of a rebuild has.
const rebuildGroup = 512

// Rebuild makes stale rows again from blocks, beside those that are served until the
// new ones have all that they have. Blocks can be committed meanwhile. What it made
// stays when ctx ends, and the next call goes on with it. It does nothing to rows that
// are not stale, but to remove what former ones left.
func (c *Chain) Rebuild(ctx context.Context, from Blocks, progress func(done, of uint64)) error {
	if !c.Stale() {
		c.rebuilding.Lock()
		defer c.rebuilding.Unlock()
		return c.sweep(ctx)
	}
	return c.Remake(ctx, from, progress)
}

// Remake does what [Chain.Rebuild] does, to rows that are not stale too.
func (c *Chain) Remake(ctx context.Context, from Blocks, progress func(done, of uint64)) error {
	first, _ := c.First()
	return c.Deepen(ctx, from, first, progress)
}

// Deepen does what [Chain.Remake] does, from a block on that may lie below the first one
// that is indexed: rows of a block follow from all before, so older ones change them all.
func (c *Chain) Deepen(ctx context.Context, from Blocks, first uint64, progress func(done, of uint64)) error {
	c.rebuilding.Lock()
	defer c.rebuilding.Unlock()
	if at := c.at.Load(); at.cursor != nil {
		b, err := c.openBuild(ctx, buildRows, first)
		if err == nil {
			err = c.abreast(ctx, b, from, first, progress, func() error { return c.switchTo(b) })
		}
		if err != nil {
			return fmt.Errorf("make rows of the primary network again: %w", err)
		}
	}
	return c.sweep(ctx)
}

// What a build is for.
const (
	buildNone  = 0 // there is none, nor rows that one left
	buildRows  = 1 // to be served
	buildCheck = 2 // to be compared with those that are served
)

// The build codec, version 1: u8 1 | u8 edition | u8 what it is for | u16 version | u64
// first height | given codec. The row is there from before the first row of a build
// until after its last, so a build by other rules is never continued. Where there is
// no such row, a removal may have ended before all rows were gone.
const buildVersion = 1

func (c *Chain) buildRow(space Space, what byte, first uint64) []byte {
	b := binary.BigEndian.AppendUint16([]byte{buildVersion, space.Edition, what}, c.cfg.Version)
	return append(binary.BigEndian.AppendUint64(b, first), c.cfg.Given.encode()...)
}

// noBuild returns the row that says that there are no rows of an edition.
func (c *Chain) noBuild(edition uint8) []byte { return []byte{buildVersion, edition, buildNone} }

func (c *Chain) buildKey() Key {
	return Space{Ordinal: c.ordinal}.Key(store.PrimaryEditions).U8(rowBuild)
}

// openBuild returns rows that are made again beside those that are served, from a
// height on: those of an earlier call that was ended, or none.
func (c *Chain) openBuild(ctx context.Context, what byte, first uint64) (*Chain, error) {
	b := &Chain{db: c.db, cfg: c.cfg, ordinal: c.ordinal, limit: c.limit, build: true, edition: c.Space().Edition + 1}
	want, none := c.buildRow(Space{Edition: b.edition}, what, first), c.noBuild(b.edition)
	same, clean := false, false
	s, err := c.db.Snapshot()
	if err != nil {
		return nil, err
	}
	_, err = s.Get(c.buildKey(), func(have []byte) error {
		same, clean = bytes.Equal(have, want), bytes.Equal(have, none)
		return nil
	})
	s.Close()
	inRuns, e := c.db.InRuns(c.ordinal, b.edition)
	if err = errors.Join(err, e); err != nil {
		return nil, err
	}
	same = same && !inRuns
	if !same {
		if err := c.sweep(ctx); err != nil { // it may have been one that is to be removed
			return nil, err
		}
		if !clean {
			if err := c.dropBuild(ctx); err != nil {
				return nil, err
			}
		}
		if err := c.set(c.buildKey(), want); err != nil {
			return nil, err
		}
	}
	return b, b.load()
}

// set writes a row.
func (c *Chain) set(key Key, value []byte) error {
	return c.db.Update(func(b *store.Batch) error { return b.Set(key, value) })
}

// dropBuild removes the rows of a build. Its mark goes first: nothing goes on with rows
// of which some are gone. What says that there are none comes last: to look for rows where
// there were many costs nearly as much as to remove them, until the database compacts.
func (c *Chain) dropBuild(ctx context.Context) error {
	if err := c.db.Update(func(b *store.Batch) error { return b.Delete(c.buildKey()) }); err != nil {
		return err
	}
	edition := c.Space().Edition + 1
	if err := c.dropEdition(ctx, edition); err != nil {
		return err
	}
	return c.set(c.buildKey(), c.noBuild(edition))
}

// abreast makes the rows of a build up to the last block of c, and calls do while no
// other blocks are committed.
func (c *Chain) abreast(ctx context.Context, b *Chain, from Blocks, first uint64, progress func(done, of uint64), do func() error) error {
	for {
		target := c.at.Load().cursor.head
		if err := b.catchUp(ctx, from, first, target.Height, progress); err != nil {
			return err
		}
		if err := c.alone(); err != nil {
			return err
		}
		if head, _ := b.Cursor(); c.at.Load().cursor.head.Height > head.Height {
			c.commit.Unlock() // there were blocks meanwhile
			continue
		}
		defer c.commit.Unlock()
		if old, made := c.at.Load(), b.at.Load(); made.cursor == nil || made.cursor.head != old.cursor.head {
			return fmt.Errorf("%w: the blocks are others", ErrOrder)
		}
		return do()
	}
}

// catchUp commits the blocks up to a height.
func (c *Chain) catchUp(ctx context.Context, from Blocks, first, to uint64, progress func(done, of uint64)) error {
	if head, ok := c.Cursor(); ok {
		first = head.Height + 1
	}
	var group []*Block
	flush := func() error {
		err := c.Commit(ctx, group)
		group = group[:0]
		if head, ok := c.Cursor(); ok && progress != nil && err == nil {
			progress(head.Height, to)
		}
		return err
	}
	if first <= to {
		if err := from.Read(ctx, first, to, func(b *Block) error {
			if group = append(group, b); len(group) < rebuildGroup {
				return nil
			}
			return flush()
		}); err != nil {
			return err
		}
	}
	if len(group) > 0 {
		return flush()
	}
	return nil
}

// switchTo serves the rows of a build, which has all blocks.
func (c *Chain) switchTo(b *Chain) error {
	old, made := c.at.Load(), b.at.Load()
	e, _, err := c.readEditions()
	if err != nil {
		return err
	}
	e.version, e.serving = c.cfg.Version, made.space.Edition
	e.dropping = append(e.dropping, old.space.Edition)
	if err := c.db.Update(func(b *store.Batch) error {
		return errors.Join(
			b.Set(c.editionsKey(), e.encode()),
			b.Set(givenKey(made.space), c.cfg.Given.encode()),
			b.Set(c.buildKey(), c.noBuild(made.space.Edition+1)), // nothing was ever made there
		)
	}); err != nil {
		return errors.Join(err, c.load()) // it may be on disk all the same
	}
	return c.load()
}

// sweep removes the rows of editions that are of no use any more. Views that were
// opened before still see them.
func (c *Chain) sweep(ctx context.Context) error {
	for {
		e, _, err := c.readEditions()
		if err != nil || len(e.dropping) == 0 {
			return err
		}
		if err := c.dropEdition(ctx, e.dropping[0]); err != nil {
			return err
		}
		if err := c.swept(); err != nil {
			return err
		}
	}
}

// dropEdition removes the rows of an edition, the last table first: the end of a table is
// found when a row before it is met, and all that were removed there are in the way.
func (c *Chain) dropEdition(ctx context.Context, edition uint8) error {
	if err := c.notServed(edition); err != nil {
		return err
	}
	space := Space{Ordinal: c.ordinal, Edition: edition}
	if err := c.db.DropRuns(space.Ordinal, space.Edition); err != nil {
		return err
	}
	for t := byte(store.PrimaryEnd - 1); t >= store.PrimaryCursor; t-- {
		if t == store.PrimaryEditions {
			continue
		}
		if err := c.drop(ctx, space.Key(t)); err != nil {
			return err
		}
	}
	return c.drop(ctx, givenKey(space))
}

// notServed returns an error if the rows of an edition are served, by what is known here
// or by what is on disk. The two differ after a switch of which it is not known whether it
// ended well: then what is on disk goes from now on.
func (c *Chain) notServed(edition uint8) error {
	e, found, err := c.readEditions()
	if err != nil {
		return err
	}
	if edition != c.Space().Edition && (!found || e.serving != edition || e.version < c.cfg.Reads) {
		return nil
	}
	if err := c.alone(); err != nil {
		return err
	}
	defer c.commit.Unlock()
	return errors.Join(fmt.Errorf("rows of the primary network: edition %d is served and cannot be removed", edition), c.load())
}

// swept takes the first edition off the list.
func (c *Chain) swept() error {
	if err := c.alone(); err != nil {
		return err
	}
	defer c.commit.Unlock()
	e, _, err := c.readEditions()
	if err != nil || len(e.dropping) == 0 {
		return err
	}
	e.dropping = e.dropping[1:]
	return c.set(c.editionsKey(), e.encode())
}
