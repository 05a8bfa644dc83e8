package share

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/goccy/go-json"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/feed"
)

// stateFile is how far notes were exchanged with the log, in the archive's folder.
const stateFile = "feed.json"

// state is what the file holds. Without it notes are exchanged again, which changes no row.
type state struct {
	Put   archive.NotesAt `json:"put"`   // up to where own notes are in the log
	Taken feed.NotesAt    `json:"taken"` // up to where the log's notes are here
}

// NotesConfig says what [Notes] works with. All fields but Silent are required.
type NotesConfig struct {
	feed.NotesConfig
	Archive *archive.Archive
	// Cursor returns the last indexed block.
	Cursor func() (chain.Head, bool)
	// Apply adds notes of others to the archive, and puts what they say into the index. It
	// returns those that it has added.
	Apply func(ctx context.Context, notes []archive.Note) (added []archive.Note, err error)
	// Silent has nothing appended.
	Silent bool
	Logger *slog.Logger
}

// Notes exchanges notes with the log: what one server learns of blocks that are in it all others
// do.
type Notes struct {
	cfg   NotesConfig
	log   *feed.NoteLog
	poked chan struct{} // has room for one
	state state
	// others are the sums of notes of others that are behind what was put: they are not put.
	others map[uint64]struct{}
}

// NewNotes returns an exchange that does nothing yet.
func NewNotes(cfg NotesConfig) *Notes {
	n := &Notes{cfg: cfg, log: feed.NewNotes(cfg.NotesConfig), poked: make(chan struct{}, 1), others: make(map[uint64]struct{})}
	if text, err := os.ReadFile(n.path()); err != nil || json.Unmarshal(text, &n.state) != nil {
		n.state = state{Put: cfg.Archive.NotesEnd()} // those from before are in the depot, or everybody's own
	}
	return n
}

func (n *Notes) path() string { return filepath.Join(n.cfg.Archive.Dir(), stateFile) }

// Poke has notes exchanged at once.
func (n *Notes) Poke() {
	select {
	case n.poked <- struct{}{}:
	default:
	}
}

// Run exchanges notes until ctx ends.
func (n *Notes) Run(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		again(watching, func() error { return n.log.Watch(watching, n.Poke) })
	}()
	defer func() { stop(); <-watched }()
	said := ""
	for ctx.Err() == nil {
		err := n.exchange(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			n.cfg.Logger.Warn("notes are not exchanged with the log for now", "err", err)
		}
		select {
		case <-n.poked:
		case <-time.After(tickEvery):
		case <-ctx.Done():
		}
	}
	return nil
}

// exchange takes what others have learned, and puts what was learned here.
func (n *Notes) exchange(ctx context.Context) error {
	was := n.state
	err := errors.Join(n.take(ctx), n.put(ctx))
	if n.state == was {
		return err
	}
	text, jsonErr := json.Marshal(&n.state)
	if jsonErr == nil {
		jsonErr = os.WriteFile(n.path()+".tmp", text, 0o600)
	}
	if jsonErr == nil {
		jsonErr = os.Rename(n.path()+".tmp", n.path())
	}
	return errors.Join(err, jsonErr)
}

func noteSum(n *archive.Note) uint64 {
	return xxhash.Sum64(n.Data) ^ n.Height<<8 ^ uint64(n.Type)
}

// put appends the notes of the archive that the log lacks.
func (n *Notes) put(ctx context.Context) error {
	a, codec := n.cfg.Archive, archive.NewCodec(n.cfg.Kind)
	head, ok := n.cfg.Cursor()
	if !ok || n.state.Put == a.NotesEnd() {
		return nil
	}
	var list []archive.Note
	var bad error
	size := 0
	next, err := a.NoteUnits(ctx, n.state.Put, func(unit []byte) bool {
		bad = errors.Join(bad, codec.UnpackNotes(unit, func(note archive.Note) error {
			if _, ok := n.others[noteSum(&note)]; !ok {
				list = append(list, note)
			}
			return nil
		}))
		size += len(unit)
		return size < groupBytes
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	if !n.cfg.Silent {
		large, err := n.log.Append(ctx, head, list)
		if err != nil {
			return err
		}
		if large > 0 {
			n.cfg.Logger.Warn("notes are too large for the log: others learn them elsewhere", "notes", large)
		}
	}
	if n.state.Put = next; next == a.NotesEnd() {
		clear(n.others)
	}
	return nil
}

// take applies the notes of others, in their order, as soon as the blocks are here that they
// are about.
func (n *Notes) take(ctx context.Context) (err error) {
	if n.state.Taken, err = n.log.Resume(ctx, n.state.Taken); err != nil {
		return err
	}
	for {
		learned, err := n.log.Read(ctx, n.state.Taken)
		switch head, ok := n.cfg.Cursor(); {
		case errors.Is(err, feed.ErrEnd):
			return nil
		case errors.Is(err, feed.ErrRefused):
			n.cfg.Logger.Error("notes of the log are refused", "err", err)
		case err != nil:
			return err
		case learned.Own:
		case !ok || learned.Next > head.Height+1:
			return nil // later
		default:
			added, err := n.cfg.Apply(ctx, learned.Notes)
			for i := range added {
				n.others[noteSum(&added[i])] = struct{}{}
			}
			if err != nil {
				return err
			}
		}
		n.state.Taken = learned.At
	}
}
