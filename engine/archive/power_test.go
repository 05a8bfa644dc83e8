package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/archive/vfs/faultfs"
)

// model is what an archive must have: what was acknowledged, and what the call in
// flight when the power went may have done.
type model struct {
	first, last         uint64 // acknowledged: blocks first to last-1
	lowFirst, highFirst uint64
	lowLast, highLast   uint64
	notes, notesAtMost  int
	opened              bool
}

// settle has what was in flight acknowledged.
func (m *model) settle() {
	m.lowFirst, m.highFirst, m.lowLast, m.highLast = m.first, m.first, m.last, m.last
	m.notesAtMost = m.notes
}

const (
	powerDir   = "/archive"
	powerStart = 40
	powerSize  = 300
)

func noteOf(i int) Note {
	return Note{Height: uint64(i), Type: NoteType(i%3 + 1), Data: fmt.Appendf(nil, "note %d", i)}
}

// scenario does all that changes an archive, until the power goes.
func scenario(d *faultfs.Disk, m *model) error {
	ctx := context.Background()
	opts := Options{Kind: KindEVM, FS: d, SegmentBytes: 3000, byHand: true, bundle: 1500}
	a, err := Open(powerDir, opts)
	if err != nil {
		return err
	}
	m.opened = true
	add := func(n int) error {
		m.highLast = m.last + uint64(n)
		err := a.Append(ctx, chainOf("a", m.last, n, powerSize))
		if err == nil {
			m.last += uint64(n)
			m.settle()
		}
		return err
	}
	note := func(n int) error {
		var notes []Note
		for i := range n {
			notes = append(notes, noteOf(m.notes+i))
		}
		m.notesAtMost = m.notes + n
		err := a.AddNotes(ctx, notes)
		if err == nil {
			m.notes += n
			m.settle()
		}
		return err
	}
	seal := func() error {
		for {
			if name, err := a.sealNext(ctx); err != nil || name == "" {
				return err
			}
		}
	}
	rewind := func(to uint64) error {
		m.lowLast = to + 1
		err := a.Rewind(ctx, to)
		if err == nil {
			m.last = to + 1
			m.settle()
		}
		return err
	}
	steps := []func() error{
		func() error { return add(3) },
		func() error { return note(2) },
		func() error { return add(1) },
		func() error { return add(20) },
		func() error { return add(9) },
		seal,
		func() error { return add(5) },
		func() error { return rewind(m.last - 3) },
		func() error { return note(30) },
		func() error { return add(30) },
		func() error { return rewind(m.last - 20) },
		func() error { return add(8) },
		seal,
		func() error { return a.Replace(ctx, chainOf("a", m.last-15, 14, powerSize)) },
		func() error { return add(4) },
		func() error {
			n := 6
			m.lowFirst = m.first - uint64(n)
			err := a.Prepend(ctx, chainOf("a", m.lowFirst, n, powerSize))
			if err == nil {
				m.first = m.lowFirst
				m.settle()
			}
			return err
		},
		func() error { return add(40) },
		seal,
		func() error {
			m.highFirst = m.last
			err := a.Prune(ctx, m.last-25)
			if err == nil {
				m.first, _, _ = a.First()
				m.settle()
			}
			return err
		},
		func() error { return note(3) },
		func() error { return a.Mend(ctx, []Damage{{From: m.last - 1, Structure: true}}) },
		func() error { return add(2) },
		func() error { return a.Close() },
		func() error { a, err = Open(powerDir, opts); return err },
		func() error { return add(2) },
		func() error { return a.Close() },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func newModel() *model {
	m := &model{first: powerStart, last: powerStart}
	m.settle()
	return m
}

// checkAfter opens what the loss of power left, and goes on with it.
func checkAfter(t *testing.T, d *faultfs.Disk, m *model) {
	t.Helper()
	ctx := context.Background()
	a, err := Open(powerDir, Options{Kind: KindEVM, FS: d, SegmentBytes: 3000, byHand: true, bundle: 1500})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := a.Verify(ctx, nil); err != nil || len(found) > 0 {
		t.Fatalf("damage: %v %v", found, err)
	}
	last, _, ok := a.Last()
	first, _, _ := a.First()
	if !ok {
		first, last = m.first, m.first
	} else {
		last++
	}
	if first < m.lowFirst || first > m.highFirst || last < m.lowLast || last > m.highLast {
		t.Fatalf("blocks %d to %d; acknowledged were %d to %d (%+v)", first, last, m.first, m.last, m)
	}
	checkRead(t, a, chainOf("a", first, int(last-first), powerSize))
	n := 0
	err = a.Notes(ctx, func(note Note) error {
		want := noteOf(n)
		if note.Height != want.Height || note.Type != want.Type || !bytes.Equal(note.Data, want.Data) {
			return fmt.Errorf("note %d is %d %q", n, note.Height, note.Data)
		}
		n++
		return nil
	})
	if err != nil || n < m.notes || n > m.notesAtMost {
		t.Fatalf("%d notes, of %d to %d: %v", n, m.notes, m.notesAtMost, err)
	}
	if err := a.Append(ctx, chainOf("a", last, 12, powerSize)); err != nil {
		t.Fatal(err)
	}
	for {
		name, err := a.sealNext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if name == "" {
			break
		}
	}
	checkRead(t, a, chainOf("a", first, int(last-first)+12, powerSize))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a, err = Open(powerDir, Options{Kind: KindEVM, FS: d, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	checkRead(t, a, chainOf("a", first, int(last-first)+12, powerSize))
}

// TestPowerLoss has the power go after each operation of a scenario in turn. What was
// acknowledged is there, what was not is there in part or not at all, and nothing is
// damaged, whatever the disk kept of what was not synced.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	whole := new(faultfs.Disk)
	if err := scenario(whole, newModel()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d operations", whole.Ops())
	for ops := 1; ops <= whole.Ops(); ops++ {
		d, m := new(faultfs.Disk), newModel()
		d.PowerOff(ops)
		if err := scenario(d, m); err == nil {
			t.Fatalf("no error with the power gone after %d operations", ops)
		} else if !errors.Is(err, faultfs.ErrPower) {
			t.Fatalf("after %d operations: %v", ops, err)
		}
		for seed := range torture.Pick(3, 50) {
			loss := faultfs.Loss(min(seed, int(faultfs.Some)))
			t.Run(fmt.Sprintf("%d/%d", ops, seed), func(t *testing.T) {
				checkAfter(t, d.After(loss, rand.New(rand.NewPCG(uint64(seed), uint64(ops)))), m)
			})
		}
	}
}
