package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
)

// Gap is a block that was committed incomplete.
type Gap struct {
	Height uint64    `json:"height"`
	ID     chain.ID  `json:"id"`
	Reason string    `json:"reason"` // why the last try failed
	Since  time.Time `json:"since"`
	Tries  int       `json:"tries"`
	Next   time.Time `json:"next"` // when it is tried again
	// Unable: it was committed while no block could be completed.
	Unable bool `json:"unable,omitempty"`
}

// maxGaps bounds the list: when so many blocks cannot be completed the fault is
// not that of single blocks, and the chain waits.
const maxGaps = 50_000

// maxReason bounds the text of a reason, in bytes.
const maxReason = 300

// ErrManyGaps means that the list of gaps is full.
var ErrManyGaps = errors.New("too many blocks wait to be completed")

// Repairs is the list of a chain's gaps, kept in a file of its own. What a method
// has changed is on disk when it returns. It is safe for concurrent use.
//
// The file has all of the list in its first line, and a line for each change since. The
// last line counts only if it is whole: a crash may have cut it off. When the changes
// are longer than the list the file is written again, so a change costs the same however
// long the list is.
type Repairs struct {
	path string

	mu     sync.Mutex
	kept   repairFile
	unable int // gaps that have Unable
	first  int // bytes of the first line; 0: the file has to be rewritten
	size   int // bytes of the changes
}

// minChanges is how many bytes of changes there may be however short the first line is.
const minChanges = 64 << 10

// repairFile is what the file holds, as JSON.
type repairFile struct {
	// Completed: some block of the chain has been completed.
	Completed bool  `json:"completed"`
	Gaps      []Gap `json:"gaps"` // by height
}

// repairChange is a line that says what has changed: one of the members is not nil.
type repairChange struct {
	Gap    *Gap    `json:"gap,omitempty"`    // there is this one
	Filled *uint64 `json:"filled,omitempty"` // the block at this height is complete
	Cut    *uint64 `json:"cut,omitempty"`    // there are none above this height
}

// OpenRepairs reads the list at path, whose folder must exist. No file is an empty
// list.
func OpenRepairs(path string) (*Repairs, error) {
	r := &Repairs{path: path}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = r.read(text)
	}
	if err != nil {
		return nil, fmt.Errorf("list of blocks to complete: %s: %w", path, err)
	}
	return r, nil
}

// read takes the content of the file. The file itself is not touched: another process
// may be writing it.
func (r *Repairs) read(text []byte) error {
	first, changes, _ := bytes.Cut(text, []byte("\n"))
	if err := json.Unmarshal(first, &r.kept); err != nil {
		return err
	}
	slices.SortFunc(r.kept.Gaps, func(a, b Gap) int { return cmp.Compare(a.Height, b.Height) })
	for _, g := range r.kept.Gaps {
		r.count(g, 1)
	}
	for {
		line, rest, whole := bytes.Cut(changes, []byte("\n"))
		if !whole {
			return nil
		}
		var c repairChange
		if err := json.Unmarshal(line, &c); err != nil && len(rest) == 0 {
			return nil
		} else if err != nil {
			return err
		}
		r.apply(c)
		changes = rest
	}
}

// apply makes a change; it needs mu.
func (r *Repairs) apply(c repairChange) {
	switch {
	case c.Gap != nil:
		at, ok := r.find(c.Gap.Height)
		if ok {
			r.count(r.kept.Gaps[at], -1)
			r.kept.Gaps[at] = *c.Gap
		} else {
			r.kept.Gaps = slices.Insert(r.kept.Gaps, at, *c.Gap)
		}
		r.count(*c.Gap, 1)
	case c.Filled != nil:
		r.kept.Completed = true
		if at, ok := r.find(*c.Filled); ok {
			r.count(r.kept.Gaps[at], -1)
			r.kept.Gaps = slices.Delete(r.kept.Gaps, at, at+1)
		}
	case c.Cut != nil:
		at, ok := r.find(*c.Cut)
		if ok {
			at++
		}
		for _, g := range r.kept.Gaps[at:] {
			r.count(g, -1)
		}
		clear(r.kept.Gaps[at:])
		r.kept.Gaps = r.kept.Gaps[:at]
	}
}

func (r *Repairs) count(g Gap, n int) {
	if g.Unable {
		r.unable += n
	}
}

// Completed reports whether some block of the chain has ever been completed.
func (r *Repairs) Completed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept.Completed
}

// SetCompleted notes that some block has been completed, of a chain that was
// followed before there was such a list.
func (r *Repairs) SetCompleted() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept.Completed {
		return nil
	}
	if err := r.write(repairFile{Completed: true, Gaps: r.kept.Gaps}); err != nil {
		return err
	}
	r.kept.Completed = true
	return nil
}

// Gaps returns all gaps by height.
func (r *Repairs) Gaps() []Gap {
	_, _, all := r.list(maxGaps)
	return all
}

// list returns the number of gaps, how many of them have Unable, and the lowest.
func (r *Repairs) list(most int) (all, unable int, lowest []Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.kept.Gaps), r.unable, slices.Clone(r.kept.Gaps[:min(most, len(r.kept.Gaps))])
}

// find returns where the gap at a height is or would be; it needs mu.
func (r *Repairs) find(height uint64) (int, bool) {
	return slices.BinarySearchFunc(r.kept.Gaps, height, func(g Gap, h uint64) int { return cmp.Compare(g.Height, h) })
}

// add adds a gap or replaces the one at its height.
func (r *Repairs) add(g Gap) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	g.Reason = g.Reason[:min(len(g.Reason), maxReason)]
	if _, ok := r.find(g.Height); !ok && len(r.kept.Gaps) >= maxGaps {
		return ErrManyGaps
	}
	return r.change(repairChange{Gap: &g})
}

// filled notes that the block at a height is complete.
func (r *Repairs) filled(height uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.find(height); !ok && r.kept.Completed {
		return nil
	}
	return r.change(repairChange{Filled: &height})
}

// cut removes the gaps above a height.
func (r *Repairs) cut(height uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, _ := r.find(height + 1)
	if at == len(r.kept.Gaps) {
		return nil
	}
	return r.change(repairChange{Cut: &height})
}

// hasten makes all gaps due. That is not kept.
func (r *Repairs) hasten() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.kept.Gaps {
		r.kept.Gaps[k].Next = r.kept.Gaps[k].Since
	}
}

// postpone notes why a gap was not filled, and when it is due again. That is not kept.
func (r *Repairs) postpone(height uint64, why error, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.find(height); ok {
		text := why.Error()
		r.kept.Gaps[at].Reason, r.kept.Gaps[at].Next = text[:min(len(text), maxReason)], time.Now().Add(wait)
	}
}

// due returns the lowest or the highest gap up to a height that is due.
func (r *Repairs) due(now time.Time, upTo uint64, highest bool) (Gap, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.kept.Gaps {
		if highest {
			k = len(r.kept.Gaps) - 1 - k
		}
		if g := &r.kept.Gaps[k]; g.Height <= upTo && !g.Next.After(now) {
			return *g, true
		}
	}
	return Gap{}, false
}

// change makes a change that is in the file when it returns; it needs mu.
func (r *Repairs) change(c repairChange) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if r.first > 0 && r.size+len(line) <= max(r.first, minChanges) {
		if err := appendFile(r.path, line); err == nil {
			r.size += len(line)
			r.apply(c)
			return nil
		}
		r.first = 0 // what is at the end of the file is not known
	}
	next := Repairs{kept: repairFile{Completed: r.kept.Completed, Gaps: slices.Clone(r.kept.Gaps)}, unable: r.unable}
	next.apply(c)
	if err := r.write(next.kept); err != nil {
		return err
	}
	r.kept, r.unable = next.kept, next.unable
	return nil
}

// write replaces the file as a whole, so that a crash leaves the old or the new
// one; it needs mu.
func (r *Repairs) write(next repairFile) error {
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	r.first = 0
	if err := replaceFile(r.path, text); err != nil {
		return fmt.Errorf("list of blocks to complete: %w", err)
	}
	r.first, r.size = len(text), 0
	return nil
}

// appendFile adds to the end of a file, durable on return.
func appendFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// replaceFile writes a file beside path and puts it in its place, durable on return.
func replaceFile(path string, text []byte) (err error) {
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
