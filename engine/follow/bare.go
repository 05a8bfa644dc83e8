package follow

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/goccy/go-json"
)

// heights is a range of blocks, both ends included.
type heights struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// maxBare bounds the ranges that are told apart. Beyond, what lies between two counts as
// bare, too: it is fetched again in vain.
const maxBare = 10_000

// bares are the blocks of an archive that are there without the proposers' headers. They
// are kept in a file beside it, which says of which blocks it is known: a crash, or the
// loss of the file, costs looking at the others. It is safe for concurrent use.
type bares struct {
	path string

	mu   sync.Mutex // guards what follows
	kept bareFile
	said []byte // what the file holds, nil if that is not known
}

// bareFile is what the file holds, as JSON.
type bareFile struct {
	// Looked is the range of blocks of which it is known which of them are bare; nil
	// before any.
	Looked *heights  `json:"looked,omitempty"`
	Bare   []heights `json:"bare"` // by height, with others in between
}

// openBares reads the file at path. What it says counts for blocks up to last.
func openBares(path string, last uint64) (*bares, error) {
	b := &bares{path: path}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	var f bareFile
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		return b, fmt.Errorf("list of blocks without a header: %w", err)
	}
	if b.kept.Looked = f.Looked; f.Looked != nil {
		f.Looked.To = min(f.Looked.To, last)
		if f.Looked.From > f.Looked.To {
			b.kept.Looked = nil
		}
	}
	for _, r := range f.Bare {
		if r.To = min(r.To, last); r.From <= r.To {
			b.add(r)
		}
	}
	return b, nil
}

// add takes note of blocks.
func (b *bares) add(r heights) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.kept.Bare
	// What touches it becomes one with it.
	i, _ := slices.BinarySearchFunc(list, r.From, func(h heights, from uint64) int {
		if h.To == math.MaxUint64 || h.To+1 >= from {
			return 1
		}
		return -1
	})
	j := i
	for ; j < len(list) && (r.To == math.MaxUint64 || list[j].From <= r.To+1); j++ {
		r.From, r.To = min(r.From, list[j].From), max(r.To, list[j].To)
	}
	list = slices.Replace(list, i, j, r)
	if len(list) > maxBare {
		list[1].From = list[0].From
		list = list[1:]
	}
	b.kept.Bare = list
}

// remove takes note that blocks are not bare any more, or not there.
func (b *bares) remove(r heights) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]heights, 0, len(b.kept.Bare)+1)
	for _, h := range b.kept.Bare {
		if h.To < r.From || h.From > r.To {
			list = append(list, h)
			continue
		}
		if h.From < r.From {
			list = append(list, heights{h.From, r.From - 1})
		}
		if h.To > r.To {
			list = append(list, heights{r.To + 1, h.To})
		}
	}
	b.kept.Bare = list
}

// list returns the ranges, by height.
func (b *bares) list() []heights {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.kept.Bare)
}

// unlooked returns what of an archive's range was not looked at.
func (b *bares) unlooked(first, last uint64) []heights {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.kept.Looked
	if at == nil || first < at.From {
		return []heights{{first, last}} // what lies below came later: that is rare
	}
	if at.To < last {
		return []heights{{at.To + 1, last}}
	}
	return nil
}

// save writes the file if it says something else, durable on return. It must be known of
// all blocks of looked which are bare; nil: of no others than before.
func (b *bares) save(looked *heights) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if looked != nil {
		b.kept.Looked = looked
	}
	text, err := json.Marshal(&b.kept)
	if err != nil || slices.Equal(text, b.said) {
		return err
	}
	b.said = nil
	if err := replaceFile(b.path, text); err != nil {
		return fmt.Errorf("list of blocks without a header: %w", err)
	}
	b.said = text
	return nil
}

// replaceFile writes a file beside path and puts it in its place, durable on return.
func replaceFile(path string, text []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
