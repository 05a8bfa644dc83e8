package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/archive/vfs/faultfs"
)

// flipBlocks are the blocks of the archives whose bits are flipped.
func flipBlocks() []Block { return chainOf("a", 7, 90, 300) }

// flipDisk returns a disk with an archive of several sealed segments, a journal and notes.
func flipDisk(t *testing.T, closed bool) (*faultfs.Disk, *Archive) {
	t.Helper()
	ctx := context.Background()
	d := new(faultfs.Disk)
	a, err := Open(powerDir, Options{Kind: KindEVM, FS: d, SegmentBytes: 4000, byHand: true, bundle: 1200})
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, a, flipBlocks(), 4)
	for i := range 6 {
		if err := a.AddNotes(ctx, []Note{noteOf(i)}); err != nil {
			t.Fatal(err)
		}
	}
	// Not all: full journals wait to be sealed after a crash.
	for range 3 {
		if _, err := a.sealNext(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if closed {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return d, a
}

// checkFlip opens an archive with a flipped bit, or goes on with it, and has it mended.
func checkFlip(t *testing.T, d *faultfs.Disk, a *Archive, file string) {
	t.Helper()
	ctx := context.Background()
	blocks := flipBlocks()
	var told bytes.Buffer
	if a == nil {
		var err error
		a, err = Open(powerDir, Options{
			Kind: KindEVM, FS: d, SegmentBytes: 4000, byHand: true, bundle: 1200, Logger: slog.New(slog.NewTextHandler(&told, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	found, err := a.Verify(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		if found[i].File != file {
			t.Fatalf("named %v", &found[i])
		}
	}
	if len(found) == 0 && !strings.Contains(told.String(), file) {
		t.Fatal("nothing was found")
	}
	lost := func(h uint64) bool {
		for i := range found {
			if f := &found[i]; !f.Structure && !f.Notes && f.From <= h && h <= f.To {
				return true
			}
		}
		return false
	}
	for i := range blocks {
		h := blocks[i].Height
		err := a.Read(ctx, h, h, func(b Block) error {
			if !same(&b, &blocks[i]) {
				return errors.New("another block")
			}
			return nil
		})
		if (err != nil) != lost(h) {
			t.Fatalf("block %d, lost %v: %v", h, lost(h), err)
		}
	}
	fetched := 0
	err = a.Repair(ctx, found, func(_ context.Context, from, to uint64) ([]Block, error) {
		fetched += int(to - from + 1)
		return between(blocks, from, to), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if fetched > 10 {
		t.Fatalf("%d blocks were fetched: %v", fetched, found)
	}
	again, err := a.Verify(ctx, nil)
	if err != nil || len(again) > 0 {
		t.Fatalf("still damaged: %v, %v; was %v", again, err, found)
	}
	checkRead(t, a, blocks)
	checkNotes(t, a, 6)
	appendAll(t, a, chainOf("a", 97, 10, 300), 5)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if a, err = Open(powerDir, Options{Kind: KindEVM, FS: d, ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	checkRead(t, a, chainOf("a", 7, 100, 300))
}

// checkNotes checks that at most one of n notes is not there, and the others are whole.
func checkNotes(t *testing.T, a *Archive, n int) {
	t.Helper()
	next, left := 0, 0
	err := a.Notes(context.Background(), func(note Note) error {
		for ; next < n; next++ {
			if bytes.Equal(note.Data, noteOf(next).Data) {
				next++
				left++
				return nil
			}
		}
		return fmt.Errorf("note %q", note.Data)
	})
	if err != nil || left < n-1 {
		t.Fatalf("%d of %d notes: %v", left, n, err)
	}
}

// TestFlippedBits flips each bit of each file in turn: the damage is found and named, all
// other blocks can be read, and that range alone is fetched again.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{true, false} {
		d, _ := flipDisk(t, closed)
		rng := rand.New(rand.NewPCG(1, 1))
		for name, size := range d.Names() {
			// In CI a bit here and there; the heads and ends of all files are few.
			step := torture.Pick(8009, 101)
			if strings.HasSuffix(name, notesSuffix) { // what it ends with is short
				step = torture.Pick(797, 101)
			}
			for bit := rng.IntN(step); bit < 8*size; bit += 1 + rng.IntN(step) {
				t.Run(fmt.Sprintf("%v/%s/%d", closed, name[len(powerDir)+1:], bit), func(t *testing.T) {
					if closed {
						after := d.Clone()
						after.Flip(name, bit)
						checkFlip(t, after, nil, name[len(powerDir)+1:])
						return
					}
					after, a := flipDisk(t, false)
					after.Flip(name, bit)
					checkFlip(t, after, a, name[len(powerDir)+1:])
				})
			}
		}
	}
}
