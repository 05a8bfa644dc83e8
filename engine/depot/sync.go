package depot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/archive"
)

// stateFile is what a server remembers of a depot in the folder of a chain's archive.
const stateFile = "depot.json"

// listAgain is for how long a list of spans is good: others put, too.
const listAgain = time.Hour

// state is what a server remembers of a depot. Without it notes are put and taken again,
// which changes nothing.
type state struct {
	URL   string          `json:"url"`
	Put   archive.NotesAt `json:"put"`   // up to where notes were put
	Notes []string        `json:"notes"` // sums of the notes that were put and taken
}

// Copy keeps a chain's archive and a depot together.
type Copy struct {
	Depot   *Depot
	Of      Held
	Archive *archive.Archive
	// Dir is an existing folder for what is on its way.
	Dir string
	// OnRefused is called for each object that is refused or missing. Required.
	OnRefused func(error)
	// OnPut, if not nil, is called for each span that was put, OnTaken for each that was taken,
	// with its last block and that of the last one there is.
	OnPut   func(o Object)
	OnTaken func(o Object, last, of uint64)

	chain  *Chain
	have   map[uint64]bool
	listed time.Time
	next   uint64 // spans below are in the depot
}

func (c *Copy) open() *Chain {
	if c.chain == nil {
		c.chain = c.Depot.Chain(c.Of)
	}
	return c.chain
}

// Push puts what the depot lacks: whole spans up to a last block, as long as ready says that
// they are complete, and the notes that were made since the last time.
func (c *Copy) Push(ctx context.Context, upTo uint64, ready func(first, last uint64) bool) error {
	chain := c.open()
	if time.Since(c.listed) > listAgain {
		spans, _, err := chain.List(ctx)
		if err != nil {
			return err
		}
		c.have, c.listed, c.next = make(map[uint64]bool, len(spans)), time.Now(), 0
		for _, o := range spans {
			c.have[o.First] = true
		}
	}
	for {
		first, last, ok := chain.Next(c.Archive, c.next, upTo)
		if !ok || !c.have[first] && !ready(first, last) {
			return c.pushNotes(ctx)
		}
		if !c.have[first] {
			o, err := chain.Put(ctx, c.Archive, first, last, c.Dir)
			if err != nil {
				return err
			}
			c.have[first] = true
			if c.OnPut != nil {
				c.OnPut(o)
			}
		}
		c.next = last + 1
	}
}

func (c *Copy) pushNotes(ctx context.Context) error {
	s, err := c.state()
	for err == nil {
		var o Object
		var next archive.NotesAt
		o, next, err = c.chain.PutNotes(ctx, c.Archive, s.Put, c.Dir)
		if err != nil || next == s.Put {
			return err
		}
		if s.Put = next; o.Sum != "" {
			s.Notes = append(s.Notes, o.Sum)
		}
		err = c.remember(s)
	}
	return err
}

// Pull takes what the archive lacks: the spans that follow its last block, or begin if it is
// empty, and all notes that were not taken before.
func (c *Copy) Pull(ctx context.Context, begin uint64) error {
	chain := c.open()
	spans, notes, err := chain.List(ctx)
	if err != nil || len(spans) == 0 {
		return err
	}
	of := chain.border(spans[len(spans)-1].First) - 1
	for {
		o, err := chain.Take(ctx, spans, c.Archive, begin, c.Dir, c.OnRefused)
		if err != nil {
			return err
		}
		if o == nil {
			return c.pullNotes(ctx, notes)
		}
		if c.OnTaken != nil {
			c.OnTaken(*o, chain.border(o.First)-1, of)
		}
	}
}

func (c *Copy) pullNotes(ctx context.Context, notes []Object) error {
	s, err := c.state()
	if err != nil {
		return err
	}
	own := s.Put != c.Archive.NotesEnd() // notes that are still to be put
	for i := range notes {
		if slices.Contains(s.Notes, notes[i].Sum) {
			continue
		}
		if err := c.chain.TakeNotes(ctx, &notes[i], c.Archive, c.Dir); err != nil {
			if ctx.Err() != nil || !errors.Is(err, ErrRefused) && !errors.Is(err, ErrMissing) {
				return err
			}
			c.OnRefused(err)
			continue
		}
		s.Notes = append(s.Notes, notes[i].Sum)
	}
	if !own { // what was taken need not be put
		s.Put = c.Archive.NotesEnd()
	}
	return c.remember(s)
}

// Blocks returns the blocks of a range that a span of the depot has whole, or nil. It may be
// called while blocks are put and taken.
func (c *Copy) Blocks(ctx context.Context, from, to uint64) (list []archive.Block, err error) {
	chain := c.Depot.Chain(c.Of)
	spans, _, err := chain.List(ctx)
	if err != nil {
		return nil, err
	}
	for i := range spans {
		o := &spans[i]
		if from < o.First || chain.border(o.First) <= to {
			continue
		}
		list, err = chain.blocks(ctx, o, from, to, c.Dir)
		if err == nil || ctx.Err() != nil || !errors.Is(err, ErrRefused) && !errors.Is(err, ErrMissing) {
			return list, err
		}
		c.OnRefused(err)
	}
	return nil, nil
}

// state reads what is remembered of this depot.
func (c *Copy) state() (s state, err error) {
	b, err := os.ReadFile(filepath.Join(c.Archive.Dir(), stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return state{URL: c.Depot.url}, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return s, fmt.Errorf("depot: %s, what was put and taken: %w", stateFile, err)
	}
	if s.URL != c.Depot.url {
		return state{URL: c.Depot.url}, nil
	}
	return s, nil
}

func (c *Copy) remember(s state) error {
	b, err := json.Marshal(s)
	path := filepath.Join(c.Archive.Dir(), stateFile)
	if err == nil {
		err = os.WriteFile(path+".tmp", b, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	return err
}
