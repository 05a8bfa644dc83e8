package archive

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"quorate/engine/archive/vfs"
)

// counted counts what is read of files.
type counted struct {
	vfs.OS
	read *atomic.Int64
}

type countedFile struct {
	vfs.File
	read *atomic.Int64
}

func (c counted) Open(name string) (vfs.File, error) {
	f, err := c.OS.Open(name)
	return countedFile{f, c.read}, err
}

func (c counted) OpenWrite(name string) (vfs.File, error) {
	f, err := c.OS.OpenWrite(name)
	return countedFile{f, c.read}, err
}

func (c counted) Create(name string) (vfs.File, error) {
	f, err := c.OS.Create(name)
	return countedFile{f, c.read}, err
}

func (f countedFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	f.read.Add(int64(n))
	return n, err
}

// TestReadRange: to read some blocks, the bundles that hold them are read and unpacked, and
// nothing else, in sealed segments and in the one that grows.
func TestReadRange(t *testing.T) {
	t.Parallel()
	read := new(atomic.Int64)
	const size, count = 50_000, 400 // some 10 MB that cannot be packed
	blocks := chainOf("a", 0, count, 1)
	rng := rand.NewChaCha8([32]byte{2})
	for i := range blocks {
		blocks[i].Data = noise(rng, 1+int(rng.Uint64()%size))
	}
	a := mustOpen(t, t.TempDir(), Options{SegmentBytes: 8 << 20, FS: counted{read: read}, byHand: true})
	appendAll(t, a, blocks, 10)
	for more := true; more; { // by hand: to seal a segment reads all of it
		name, err := a.sealNext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		more = name != ""
	}
	if whole := a.Size(); whole < size*count/3 {
		t.Fatalf("an archive of %d bytes", whole)
	}
	for _, from := range []int{3, 150, 200, count - 2} {
		checkRead(t, a, blocks[from:from+1]) // what is read once is known: where bundles begin
		read.Store(0)
		checkRead(t, a, blocks[from:from+2])
		if n := read.Load(); n > 4*MaxBundle {
			t.Errorf("%d bytes are read for two blocks from %d on", n, from)
		}
	}
}
