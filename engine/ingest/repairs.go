package ingest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

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
}

// maxGaps bounds the list: when so many blocks cannot be completed the fault is
// not that of single blocks, and the chain waits.
const maxGaps = 10_000

// maxReason bounds the text of a reason, in bytes.
const maxReason = 300

// ErrManyGaps means that the list of gaps is full.
var ErrManyGaps = errors.New("too many blocks wait to be completed")

// Repairs is the list of a chain's gaps, kept in a file of its own. What a method
// has changed is on disk when it returns. It is safe for concurrent use.
type Repairs struct {
	path string

	mu   sync.Mutex
	kept repairFile
}

// repairFile is what the file holds, as JSON.
type repairFile struct {
	// Completed: some block of the chain has been completed.
	Completed bool  `json:"completed"`
	Gaps      []Gap `json:"gaps"` // by height
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
		err = json.Unmarshal(text, &r.kept)
	}
	if err != nil {
		return nil, fmt.Errorf("list of blocks to complete: %w", err)
	}
	slices.SortFunc(r.kept.Gaps, func(a, b Gap) int { return cmp.Compare(a.Height, b.Height) })
	return r, nil
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
	return r.write(repairFile{Completed: true, Gaps: r.kept.Gaps})
}

// Gaps returns all gaps by height.
func (r *Repairs) Gaps() []Gap {
	_, all := r.list(maxGaps)
	return all
}

// list returns the number of gaps and the lowest of them.
func (r *Repairs) list(most int) (int, []Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.kept.Gaps), slices.Clone(r.kept.Gaps[:min(most, len(r.kept.Gaps))])
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
	at, ok := r.find(g.Height)
	gaps := slices.Clone(r.kept.Gaps)
	switch {
	case ok:
		gaps[at] = g
	case len(gaps) >= maxGaps:
		return ErrManyGaps
	default:
		gaps = slices.Insert(gaps, at, g)
	}
	return r.write(repairFile{Completed: r.kept.Completed, Gaps: gaps})
}

// filled notes that the block at a height is complete.
func (r *Repairs) filled(height uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.find(height)
	if !ok && r.kept.Completed {
		return nil
	}
	gaps := r.kept.Gaps
	if ok {
		gaps = slices.Delete(slices.Clone(gaps), at, at+1)
	}
	return r.write(repairFile{Completed: true, Gaps: gaps})
}

// cut removes the gaps above a height.
func (r *Repairs) cut(height uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, _ := r.find(height + 1)
	if at == len(r.kept.Gaps) {
		return nil
	}
	return r.write(repairFile{Completed: r.kept.Completed, Gaps: slices.Clone(r.kept.Gaps[:at])})
}

// hasten makes all gaps due. That is not kept.
func (r *Repairs) hasten() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.kept.Gaps {
		r.kept.Gaps[k].Next = r.kept.Gaps[k].Since
	}
}

// due returns the gap that has been due longest.
func (r *Repairs) due(now time.Time) (next Gap, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.kept.Gaps {
		if !g.Next.After(now) && (!ok || g.Next.Before(next.Next)) {
			next, ok = g, true
		}
	}
	return next, ok
}

// write replaces the file as a whole, so that a crash leaves the old or the new
// one; it needs mu.
func (r *Repairs) write(next repairFile) error {
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := replaceFile(r.path, text); err != nil {
		return fmt.Errorf("list of blocks to complete: %w", err)
	}
	r.kept = next
	return nil
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
