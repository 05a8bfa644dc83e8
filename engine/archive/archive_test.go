package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// blockName is what the bytes of a block follow from.
type blockName struct {
	fork string
	h    uint64
	size int
}

var blocksMade sync.Map // blockName -> Block

// chainOf returns n blocks from first on, of one fork, with data of about size bytes
// that can be packed by about half. Nobody changes the data: all have the same.
func chainOf(fork string, first uint64, n, size int) []Block {
	blocks := make([]Block, n)
	for i := range blocks {
		name := blockName{fork, first + uint64(i), size}
		b, ok := blocksMade.Load(name)
		if !ok {
			b, _ = blocksMade.LoadOrStore(name, makeBlock(name))
		}
		blocks[i] = b.(Block)
	}
	return blocks
}

func makeBlock(name blockName) Block {
	rng := rand.New(rand.NewPCG(name.h, uint64(len(name.fork))))
	data := fmt.Appendf(nil, "%s %d ", name.fork, name.h)
	for range rng.IntN(name.size) + 1 {
		data = append(data, byte(rng.IntN(16)))
	}
	b := Block{Height: name.h, ID: idOf(name.fork, name.h), Data: data}
	if name.h > 0 {
		b.Parent = idOf(name.fork, name.h-1)
	}
	return b
}

// noise returns bytes that cannot be packed.
func noise(rng *rand.ChaCha8, n int) []byte {
	b := make([]byte, n)
	_, _ = rng.Read(b) // never fails
	return b
}

func idOf(fork string, h uint64) [32]byte {
	return sha256.Sum256(binary.BigEndian.AppendUint64([]byte(fork), h))
}

func mustOpen(t testing.TB, dir string, o Options) *Archive {
	t.Helper()
	if o.Kind == 0 {
		o.Kind = KindEVM
	}
	a, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func same(a, b *Block) bool {
	return a.Height == b.Height && a.ID == b.ID && a.Parent == b.Parent && bytes.Equal(a.Data, b.Data)
}

// checkRead reads a range and compares it with the blocks that should be there.
func checkRead(t testing.TB, a *Archive, want []Block) {
	t.Helper()
	if len(want) == 0 {
		return
	}
	var got []Block
	err := a.Read(context.Background(), want[0].Height, want[len(want)-1].Height, func(b Block) error {
		got = append(got, b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d blocks, not %d", len(got), len(want))
	}
	for i := range want {
		if !same(&got[i], &want[i]) {
			t.Fatalf("block %d differs", want[i].Height)
		}
	}
}

func appendAll(t testing.TB, a *Archive, blocks []Block, group int) {
	t.Helper()
	for part := range slices.Chunk(blocks, group) {
		if err := a.Append(context.Background(), part); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAppendRead(t *testing.T) {
	t.Parallel()
	for _, group := range []int{1, 7, 300} {
		dir := t.TempDir()
		blocks := chainOf("a", 5, 300, 900)
		a := mustOpen(t, dir, Options{SegmentBytes: 20 << 10})
		if _, _, ok := a.Last(); ok {
			t.Fatal("an empty archive has a last block")
		}
		appendAll(t, a, blocks, group)
		checkRead(t, a, blocks)
		for i := range 20 {
			checkRead(t, a, blocks[i*3:i*10+1])
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		a = mustOpen(t, dir, Options{SegmentBytes: 20 << 10})
		checkRead(t, a, blocks)
		appendAll(t, a, chainOf("a", 305, 10, 900), group)
		checkRead(t, a, chainOf("a", 5, 310, 900))
		if h, id, ok := a.First(); !ok || h != 5 || id != blocks[0].ID {
			t.Error("wrong first block")
		}
		if h, id, ok := a.Last(); !ok || h != 314 || id != idOf("a", 314) {
			t.Error("wrong last block")
		}
		if found, err := a.Verify(context.Background(), nil); err != nil || len(found) != 0 {
			t.Errorf("damage in a sound archive: %v, %v", found, err)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	a := mustOpen(t, t.TempDir(), Options{})
	appendAll(t, a, chainOf("a", 0, 10, 100), 10)
	refused := func(want error, blocks ...Block) {
		t.Helper()
		if err := a.Append(context.Background(), blocks); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	next := chainOf("a", 10, 3, 100)
	refused(ErrOrder, next[1])
	refused(ErrOrder, chainOf("a", 9, 1, 100)...)
	refused(ErrFork, chainOf("b", 10, 1, 100)...)
	refused(ErrOrder, next[0], next[2])
	refused(ErrFork, next[0], chainOf("b", 11, 1, 1)[0])
	checkRead(t, a, chainOf("a", 0, 10, 100))
	if err := a.Read(context.Background(), 5, 10, func(Block) error { return nil }); !errors.Is(err, ErrRange) {
		t.Errorf("got %v", err)
	}
	appendAll(t, a, next, 3)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	refused(ErrClosed, chainOf("a", 13, 1, 100)...)
}

// Other blocks are not put in the place of those that are there: that is no repair.
func TestReplaceRefuses(t *testing.T) {
	t.Parallel()
	a := mustOpen(t, t.TempDir(), Options{})
	blocks := chainOf("a", 0, 10, 100)
	appendAll(t, a, blocks, 10)
	for _, h := range []uint64{0, 5, 9} {
		other := blocks[h]
		other.ID = idOf("b", h)
		if err := a.Replace(t.Context(), []Block{other}); !errors.Is(err, ErrFork) {
			t.Errorf("block %d: %v", h, err)
		}
	}
	checkRead(t, a, blocks)
}

func TestLargeBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blocks := chainOf("a", 0, 5, 10)
	rng := rand.NewChaCha8([32]byte{1})
	for _, i := range []int{1, 3} {
		blocks[i].Data = noise(rng, (i+1)*MaxBundle+77)
	}
	a := mustOpen(t, dir, Options{SegmentBytes: 100})
	appendAll(t, a, blocks, 5)
	checkRead(t, a, blocks)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = mustOpen(t, dir, Options{})
	checkRead(t, a, blocks)
	checkRead(t, a, blocks[3:4])
	blocks = []Block{{Height: 5, ID: idOf("a", 5), Parent: idOf("a", 4), Data: make([]byte, MaxBlock+1)}}
	if err := a.Append(context.Background(), blocks); err == nil {
		t.Error("a block above the bound was taken")
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var want []Note
	add := func(a *Archive, n int) {
		t.Helper()
		var group []Note
		for range n {
			i := len(want)
			note := Note{Height: uint64(i * 7 % 50), Type: NoteType(1 + i/3%2), Data: bytes.Repeat([]byte{byte(i)}, i*i*10)}
			group, want = append(group, note), append(want, note)
		}
		if err := a.AddNotes(context.Background(), group); err != nil {
			t.Fatal(err)
		}
	}
	check := func(a *Archive, types ...NoteType) {
		t.Helper()
		var got []Note
		if err := a.Notes(context.Background(), func(n Note) error { got = append(got, n); return nil }, types...); err != nil {
			t.Fatal(err)
		}
		wanted := slices.DeleteFunc(slices.Clone(want), func(n Note) bool { return len(types) > 0 && !slices.Contains(types, n.Type) })
		if !slices.EqualFunc(got, wanted, func(a, b Note) bool {
			return a.Height == b.Height && a.Type == b.Type && bytes.Equal(a.Data, b.Data)
		}) {
			t.Fatal("the notes differ")
		}
	}
	for range 4 {
		a := mustOpen(t, dir, Options{SegmentBytes: 3000})
		check(a)
		add(a, 1)
		add(a, 5)
		add(a, 20)
		check(a)
		check(a, 2)
		if found, err := a.Verify(context.Background(), nil); err != nil || len(found) != 0 {
			t.Errorf("damage in sound notes: %v, %v", found, err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
