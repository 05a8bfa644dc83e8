package archive

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"quorate/engine/archive/vfs/faultfs"
)

// FuzzUnit unpacks units that may be anything: what comes out packs to the same.
func FuzzUnit(f *testing.F) {
	c := NewCodec(KindEVM)
	blocks, _, err := c.Pack(nil, chainOf("a", 3, 4, 50))
	if err != nil {
		f.Fatal(err)
	}
	notes, _, err := c.PackNotes(nil, []Note{noteOf(1), noteOf(4)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(blocks)
	f.Add(notes)
	f.Fuzz(func(t *testing.T, unit []byte) {
		var got []Block
		if c.Unpack(unit, func(b Block) error { got = append(got, b); return nil }) == nil {
			again, _, err := c.Pack(nil, got)
			if err != nil {
				t.Fatal(err)
			}
			var back []Block
			if err := c.Unpack(again, func(b Block) error { back = append(back, b); return nil }); err != nil || len(back) != len(got) {
				t.Fatalf("%d blocks, not %d: %v", len(back), len(got), err)
			}
		}
		_ = c.UnpackNotes(unit, func(Note) error { return nil })
	})
}

// FuzzSegment opens an archive one of whose files is anything.
func FuzzSegment(f *testing.F) {
	for _, closed := range []int{0, 1} {
		d := new(faultfs.Disk)
		a, err := Open(powerDir, Options{Kind: KindEVM, FS: d, SegmentBytes: 500, byHand: true, bundle: 300})
		if err == nil {
			err = a.Append(context.Background(), chainOf("a", 7, 6, 60))
		}
		if err == nil && closed == 1 {
			_, err = a.sealNext(context.Background())
		}
		if err = errors.Join(err, a.Close()); err != nil {
			f.Fatal(err)
		}
		for name, size := range d.Names() {
			file, err := d.Open(name)
			if err != nil {
				f.Fatal(err)
			}
			b, err := readAt(file, 0, size)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, closed == 1)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, sealed bool) {
		d := new(faultfs.Disk)
		if err := d.MkdirAll(powerDir); err != nil {
			t.Fatal(err)
		}
		suffix := liveSuffix
		if sealed {
			suffix = sealedSuffix
		}
		file, err := d.Create(powerDir + "/" + segmentName(7, suffix))
		if err == nil {
			_, err = file.WriteAt(bytes.Clone(content), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		a, err := Open(powerDir, Options{Kind: KindEVM, FS: d, byHand: true})
		if err != nil {
			return
		}
		if _, err := a.Verify(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if last, _, ok := a.Last(); ok && last < 1<<20 {
			_ = a.Read(context.Background(), 7, last, func(Block) error { return nil })
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
