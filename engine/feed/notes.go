package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cespare/xxhash/v2"

	"quorate/engine/archive"
	"quorate/engine/chain"
)

// NotesConfig says which chain's notes a [NoteLog] reads. All fields are required.
type NotesConfig struct {
	Log     Log
	Network uint32
	Chain   chain.ID
	Kind    archive.Kind
	Writer  string
}

// NoteLog is what was learned of a chain's blocks after they were in the log. All methods may
// be called at once.
type NoteLog struct {
	cfg     NotesConfig
	subject string
	codec   *archive.Codec
	mu      sync.Mutex // held while records are appended
}

// NotesAt is how far the notes of a log were read. It is good after a restart, too.
type NotesAt struct {
	Position uint64 `json:"position"`
	Sum      uint64 `json:"sum"` // of the record there
}

// Learned is a record of notes.
type Learned struct {
	// Next is the height behind that of the last block that their writer had.
	Next  uint64
	Own   bool // this server has written it
	Notes []archive.Note
	At    NotesAt
}

// NewNotes returns the notes of a chain.
func NewNotes(cfg NotesConfig) *NoteLog {
	return &NoteLog{cfg: cfg, subject: Subject(cfg.Network, cfg.Chain, SubjectNotes), codec: archive.NewCodec(cfg.Kind)}
}

// Watch calls f when there may be further notes, until ctx ends or the log is away.
func (l *NoteLog) Watch(ctx context.Context, f func()) error {
	return l.cfg.Log.Watch(ctx, l.subject, f)
}

// Resume returns a position from which on notes are to be read: the one that is given, or the
// begin if the log is another one, or has lost what is behind it.
func (l *NoteLog) Resume(ctx context.Context, at NotesAt) (NotesAt, error) {
	if at.Position == 0 {
		return at, nil
	}
	raw, found, err := l.cfg.Log.Read(ctx, l.subject, at.Position)
	if err != nil && !errors.Is(err, ErrEnd) {
		return at, err
	}
	if err != nil || found != at.Position || xxhash.Sum64(raw) != at.Sum {
		at = NotesAt{}
	}
	return at, nil
}

// Read returns the record behind a position. [ErrEnd]: there is none. The error of one that is
// not what it should be wraps [ErrRefused]; its position is returned as well.
func (l *NoteLog) Read(ctx context.Context, behind NotesAt) (n Learned, err error) {
	raw, at, err := l.cfg.Log.Read(ctx, l.subject, behind.Position+1)
	if err != nil {
		return n, err
	}
	n.At = NotesAt{at, xxhash.Sum64(raw)}
	r, err := Decode(raw)
	if err == nil {
		err = r.is(l.cfg.Network, l.cfg.Chain, l.cfg.Kind)
	}
	if err == nil {
		n.Notes, err = r.notes(l.codec)
	}
	if err != nil {
		return n, fmt.Errorf("notes at %d of the log, by %q: %w", at, r.Writer, err)
	}
	n.Next, n.Own = r.Next, r.Writer == l.cfg.Writer
	return n, nil
}

// Append appends notes, behind a block that is the last one here. Those that are too large are
// left out, and their number is returned.
func (l *NoteLog) Append(ctx context.Context, last chain.Head, notes []archive.Note) (large int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(notes) > 0 {
		n, size := 1, len(notes[0].Data)
		for ; n < len(notes) && size+len(notes[n].Data) < groupBytes; n++ {
			size += len(notes[n].Data)
		}
		r := Record{Kind: Notes, Of: l.cfg.Kind, Network: l.cfg.Network, Chain: l.cfg.Chain, Writer: l.cfg.Writer, Next: last.Height + 1, Parent: last.ID}
		if size <= MaxRaw-archive.MaxBundle {
			r.Data, _, err = l.codec.PackNotes(nil, notes[:n])
		}
		switch {
		case err != nil:
			return large, err
		case len(r.Data) == 0 || r.Size() > MaxRecord:
			large += n
		default:
			if err := l.append(ctx, r.Append(nil)); err != nil {
				return large, err
			}
		}
		notes = notes[n:]
	}
	return large, nil
}

// append needs mu.
func (l *NoteLog) append(ctx context.Context, raw []byte) (err error) {
	for range maxTries {
		_, last, endsErr := l.cfg.Log.Ends(ctx, l.subject)
		if endsErr != nil {
			return endsErr
		}
		if _, err = l.cfg.Log.Append(ctx, l.subject, last, raw); !errors.Is(err, ErrMoved) {
			return err
		}
	}
	return err
}
