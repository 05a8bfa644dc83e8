package archive

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	"quorate/engine/archive/vfs"
)

// movedFS calls moved when a file has taken the place of another, before anybody knows,
// and read when a file that was read is closed.
type movedFS struct {
	vfs.OS
	mu          sync.Mutex
	moved, read func()
}

func (f *movedFS) set(moved, read func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moved, f.read = moved, read
}

func (f *movedFS) Rename(from, to string) error {
	err := f.OS.Rename(from, to)
	f.mu.Lock()
	moved := f.moved
	f.mu.Unlock()
	if moved != nil && strings.HasSuffix(to, sealedSuffix) {
		moved()
	}
	return err
}

func (f *movedFS) Open(name string) (vfs.File, error) {
	file, err := f.OS.Open(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	return readFile{file, f.read}, err
}

type readFile struct {
	vfs.File
	read func()
}

func (f readFile) Close() error {
	err := f.File.Close()
	if f.read != nil {
		f.read()
	}
	return err
}

// TestReadWhileReplaced: whoever reads a file that has just taken the place of another
// by that one's index finds no damage.
func TestReadWhileReplaced(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(a *Archive) error{
		"read": func(a *Archive) error {
			return a.Read(t.Context(), 1, 300, func(Block) error { return nil })
		},
		"verify": func(a *Archive) error {
			found, err := a.Verify(t.Context(), nil)
			for i := range found {
				t.Error(&found[i])
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := new(movedFS)
			a := mustOpen(t, t.TempDir(), Options{FS: disk})
			blocks := chainOf("a", 1, 300, 2000)
			if err := a.Append(t.Context(), blocks); err != nil {
				t.Fatal(err)
			}
			if err := a.Replace(t.Context(), blocks[:1]); err != nil { // seals it
				t.Fatal(err)
			}
			checkRead(t, a, blocks) // the index is known
			for i := range blocks[:100] {
				blocks[i].Data = append(blocks[i].Data, make([]byte, 1000)...)
			}
			ended, met := make(chan error, 1), make(chan struct{}, 1000)
			disk.set(func() {
				disk.set(nil, func() { met <- struct{}{} })
				go func() { ended <- read(a) }()
				<-met
				for range 1000 { // so that the reader comes to its verdict, if it does not wait
					runtime.Gosched()
				}
			}, nil)
			if err := a.Replace(t.Context(), blocks[:100]); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			checkRead(t, a, blocks)
		})
	}
}
