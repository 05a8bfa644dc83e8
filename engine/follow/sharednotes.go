package follow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/goccy/go-json"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/feed"
	"quorate/engine/tokens"
)

// sharedFile is how far notes were exchanged with the log, in the archive's folder.
const sharedFile = "feed.json"

// sharedState is what the file holds. Without it notes are exchanged again, which changes no
// row.
type sharedState struct {
	Put   archive.NotesAt `json:"put"`   // up to where own notes are in the log
	Taken feed.NotesAt    `json:"taken"` // up to where the log's notes are here
}

// noteLane exchanges notes with the log: what one server learns of blocks that are in it all
// others do.
type noteLane struct {
	c     *EVM
	notes *feed.NoteLog
	path  string
	state sharedState
	// others are the sums of notes of others that are behind what was put: they are not put.
	others map[uint64]struct{}
}

// shareNotes exchanges notes until ctx ends.
func (c *EVM) shareNotes(ctx context.Context) error {
	k := c.keeper.Load()
	if !await(ctx, &k.joined) {
		return nil
	}
	a := k.sink.archive
	l := &noteLane{
		c: c, path: filepath.Join(a.Dir(), sharedFile), others: make(map[uint64]struct{}),
		notes: feed.NewNotes(feed.NotesConfig{
			Log: c.cfg.Feed.Log, Network: c.NetworkID(), Chain: c.cfg.ID, Kind: archive.KindEVM, Writer: c.cfg.Feed.Writer,
		}),
	}
	if text, err := os.ReadFile(l.path); err != nil || json.Unmarshal(text, &l.state) != nil {
		l.state = sharedState{Put: a.NotesEnd()} // those from before are in the depot, or everybody's own
	}
	poked := make(chan struct{}, 1)
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for watching.Err() == nil {
			_ = l.notes.Watch(watching, func() {
				select {
				case poked <- struct{}{}:
				default:
				}
			})
			pauseFor(watching, sharedPause)
		}
	}()
	defer func() { stop(); <-watched }()
	said := ""
	for ctx.Err() == nil {
		err := l.exchange(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			c.log.Warn("notes are not exchanged with the log for now", "err", err)
		}
		select {
		case <-poked:
		case <-time.After(sharedTick):
		case <-ctx.Done():
		}
	}
	return nil
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// exchange takes what others have learned, and puts what was learned here.
func (l *noteLane) exchange(ctx context.Context) error {
	was := l.state
	err := errors.Join(l.take(ctx), l.put(ctx))
	if l.state == was {
		return err
	}
	text, jsonErr := json.Marshal(&l.state)
	if jsonErr == nil {
		jsonErr = replaceFile(l.path, text)
	}
	return errors.Join(err, jsonErr)
}

func noteSum(n *archive.Note) uint64 {
	return xxhash.Sum64(n.Data) ^ n.Height<<8 ^ uint64(n.Type)
}

// put appends the notes of the archive that the log lacks.
func (l *noteLane) put(ctx context.Context) error {
	c := l.c
	a, codec := c.keeper.Load().sink.archive, archive.NewCodec(archive.KindEVM)
	head, ok := c.index.Cursor()
	if !ok || l.state.Put == a.NotesEnd() {
		return nil
	}
	var list []archive.Note
	var bad error
	size := 0
	next, err := a.NoteUnits(ctx, l.state.Put, func(unit []byte) bool {
		bad = errors.Join(bad, codec.UnpackNotes(unit, func(n archive.Note) error {
			if _, ok := l.others[noteSum(&n)]; !ok {
				list = append(list, n)
			}
			delete(l.others, noteSum(&n))
			return nil
		}))
		size += len(unit)
		return size < catchBytes
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	if !c.cfg.Nodeless {
		large, err := l.notes.Append(ctx, head, list)
		if err != nil {
			return err
		}
		if large > 0 {
			c.log.Warn("notes are too large for the log: others learn them elsewhere", "notes", large)
		}
	}
	l.state.Put = next
	return nil
}

// take applies the notes of others, in their order, as soon as the blocks are here that they
// are about.
func (l *noteLane) take(ctx context.Context) (err error) {
	if l.state.Taken, err = l.notes.Resume(ctx, l.state.Taken); err != nil {
		return err
	}
	for {
		n, err := l.notes.Read(ctx, l.state.Taken)
		switch head, ok := l.c.index.Cursor(); {
		case errors.Is(err, feed.ErrEnd):
			return nil
		case errors.Is(err, feed.ErrRefused):
			l.c.log.Error("notes of the log are refused", "err", err)
		case err != nil:
			return err
		case n.Own:
		case !ok || n.Next > head.Height+1:
			return nil // later
		default:
			if err := l.apply(ctx, n.Notes); err != nil {
				return err
			}
		}
		l.state.Taken = n.At
	}
}

// apply keeps notes of others, and puts what they say into the index.
func (l *noteLane) apply(ctx context.Context, notes []archive.Note) error {
	if err := l.c.cfg.Room(); err != nil {
		return err
	}
	var corrections, others []archive.Note
	for _, n := range notes {
		if n.Type != evmarchive.NoteCorrection {
			others = append(others, n)
		} else if right, err := l.right(ctx, &n); err != nil {
			return err
		} else if right {
			corrections = append(corrections, n)
		}
	}
	for _, n := range slices.Concat(others, corrections) {
		l.others[noteSum(&n)] = struct{}{}
	}
	a := l.c.keeper.Load().sink.archive
	if err := a.AddNotes(ctx, others); err != nil {
		return err
	}
	err := errors.Join(l.c.complete(ctx), tokens.Apply(ctx, others, l.c.rows))
	l.c.keeper.Load().changed()
	if err != nil || len(corrections) == 0 {
		return err
	}
	lowest, highest := corrections[0].Height, corrections[0].Height
	for _, n := range corrections {
		lowest, highest = min(lowest, n.Height), max(highest, n.Height)
	}
	if err := l.c.renew(ctx, lowest, func() error {
		return errors.Join(a.AddNotes(ctx, corrections), l.c.readCorrections(ctx, a))
	}); err != nil {
		return err
	}
	l.c.log.Warn("blocks about which another server was wrong are put right", "from", lowest, "to", highest)
	return l.c.absolve(ctx)
}

// absolve takes blocks off the list of those of which something false is kept whose results fit
// now.
func (c *EVM) absolve(ctx context.Context) error {
	_, last, _ := c.second.Ends()
	for _, s := range c.second.Suspects() {
		if s.By == 0 || s.By > last {
			continue
		}
		kept, err := c.below(ctx, s.From, s.By)
		if err != nil {
			return err
		}
		if c.fit(ctx, kept, s.By) != nil {
			c.second.Settled(ctx, &s)
		}
	}
	return nil
}

// right reports whether a correction is of a block that is here and says something else of it,
// as far as its hash reaches.
func (l *noteLane) right(ctx context.Context, n *archive.Note) (right bool, err error) {
	var is evm.Block
	wrong := evmarchive.Decode(n.Data, &is)
	if wrong == nil && is.Unverified == "" {
		wrong = consensus.Check(&is)
	}
	if wrong != nil {
		l.c.log.Error("a correction in the log is refused", "height", n.Height, "err", wrong)
		return false, nil
	}
	err = l.c.keeper.Load().sink.reader.Read(ctx, n.Height, n.Height, func(b *evm.Block) error {
		right = b.Hash == is.Hash && !equalBlocks(b, &is)
		return nil
	})
	if errors.Is(err, archive.ErrRange) {
		return false, nil // it lies below what is kept here
	}
	if err != nil {
		err = fmt.Errorf("block %d, which is corrected: %w", n.Height, err)
	}
	return right, err
}

func equalBlocks(a, b *evm.Block) bool {
	return xxhash.Sum64(evmarchive.Append(nil, a)) == xxhash.Sum64(evmarchive.Append(nil, b))
}
