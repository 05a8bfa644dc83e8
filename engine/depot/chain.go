package depot

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"quorate/engine/archive"
	"quorate/engine/archive/container"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/primary"
)

const (
	spanSuffix  = ".span"
	notesSuffix = ".notes"
	firstLen    = 20
	sumLen      = 32
)

// kinds are what kinds of blocks are called in names of objects, and how many heights a
// span has.
var kinds = map[archive.Kind]struct {
	name    string
	heights uint64
}{
	archive.KindEVM: {"evm", 1024}, archive.KindCore: {"core", 1024},
	archive.KindPlatform: {"platform", 8192}, archive.KindAVM: {"avm", 8192}, archive.KindVertex: {"vertex", 8192},
}

const (
	// listWait bounds a list, of up to some hundred thousand objects, objectWait what is
	// written or read of one.
	listWait   = 10 * time.Minute
	objectWait = 10 * time.Minute
)

// ErrRefused is wrapped by the error of an object that is not what its name says, or not
// of the chain.
var ErrRefused = errors.New("the object is refused")

// Object is an object of a chain in a depot.
type Object struct {
	Name  string // in the depot
	First uint64 // height
	Sum   string
	Size  int64
}

// Held names a chain in a depot.
type Held struct {
	Network uint32
	Name    string // a blockchain ID, or a letter of the primary network
	Kind    archive.Kind
}

// String returns the name as it is in objects.
func (h Held) String() string { return fmt.Sprintf("%d/%s/%s", h.Network, h.Name, kinds[h.Kind].name) }

// Chain is what a depot has of a chain. All methods may be called at once.
type Chain struct {
	store  store
	prefix string
	kind   archive.Kind
	// Heights is how many heights a span has.
	Heights uint64
}

// Chain returns what the depot has of a chain.
func (d *Depot) Chain(of Held) *Chain {
	return &Chain{d.store, "v1/" + of.String() + "/", of.Kind, kinds[of.Kind].heights}
}

// String returns the name that its objects begin with.
func (c *Chain) String() string { return c.prefix }

// List returns the spans, those of one first block together, and the notes, both in the
// order of heights. What has another name is passed over.
func (c *Chain) List(ctx context.Context) (spans, notes []Object, err error) {
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	all, err := c.store.list(ctx, c.prefix)
	if err != nil {
		return nil, nil, fmt.Errorf("depot: list %s: %w", c.prefix, err)
	}
	for _, o := range all {
		if of, ok := c.parse(o, spanSuffix); ok {
			spans = append(spans, of)
		} else if of, ok := c.parse(o, notesSuffix); ok {
			notes = append(notes, of)
		}
	}
	// The one with calls is the larger one.
	slices.SortStableFunc(spans, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(b.Size, a.Size))
	})
	return spans, notes, nil
}

func (c *Chain) parse(o object, suffix string) (of Object, ok bool) {
	name, ok := strings.CutPrefix(o.name, c.prefix)
	if !ok || len(name) != firstLen+1+sumLen+len(suffix) || name[firstLen] != '-' || !strings.HasSuffix(name, suffix) {
		return of, false
	}
	first, err := strconv.ParseUint(name[:firstLen], 10, 64)
	return Object{o.name, first, name[firstLen+1:][:sumLen], o.size}, err == nil
}

// border returns the first height behind the span that a height is in.
func (c *Chain) border(height uint64) uint64 { return height - height%c.Heights + c.Heights }

// Next returns the ends of the first whole span of an archive from a height on; ok is false
// if there is none up to a last height.
func (c *Chain) Next(a *archive.Archive, from, upTo uint64) (first, last uint64, ok bool) {
	begin, _, ok := a.First()
	first = max(begin, from)
	// The span of a chain's first block begins with it, whatever its height is; those above
	// begin with a border.
	if parent, _ := a.Parent(); first%c.Heights != 0 && (first != begin || begin > 1 && parent != [32]byte{}) {
		first = c.border(first)
	}
	last = c.border(first) - 1
	return first, last, ok && last <= upTo
}

// Put puts a span of an archive; dir is a folder for what is on its way.
func (c *Chain) Put(ctx context.Context, a *archive.Archive, first, last uint64, dir string) (Object, error) {
	return c.put(ctx, dir, first, spanSuffix, func(w io.Writer) error {
		if err := writeSpan(ctx, a, w, first, last); err != nil {
			return fmt.Errorf("depot: span of blocks %d to %d: %w", first, last, err)
		}
		return nil
	})
}

// put puts what write writes.
func (c *Chain) put(ctx context.Context, dir string, first uint64, suffix string, write func(io.Writer) error) (o Object, err error) {
	f, err := os.CreateTemp(dir, "put-*")
	if err != nil {
		return o, err
	}
	defer os.Remove(f.Name()) // of no use any more
	h := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(f, h), 256<<10)
	if err = errors.Join(write(w), w.Flush(), f.Close()); err != nil {
		return o, err
	}
	o.Sum = hex.EncodeToString(h.Sum(nil))[:sumLen]
	o.First, o.Name = first, fmt.Sprintf("%s%0*d-%s%s", c.prefix, firstLen, first, o.Sum, suffix)
	ctx, cancel := context.WithTimeout(ctx, objectWait)
	defer cancel()
	if err = c.store.put(ctx, o.Name, f.Name()); err != nil {
		return o, fmt.Errorf("depot: put %s: %w", o.Name, err)
	}
	return o, nil
}

// notesBytes is from how many packed bytes on an object takes no more notes.
const notesBytes = 8 << 20

// PutNotes puts notes of an archive behind a position, at most some MiB, and returns the
// position behind them. It is the same if there are none.
func (c *Chain) PutNotes(ctx context.Context, a *archive.Archive, from archive.NotesAt, dir string) (o Object, next archive.NotesAt, err error) {
	var packed []byte
	next, err = a.NoteUnits(ctx, from, func(unit []byte) bool {
		packed = append(packed, unit...)
		return len(packed) < notesBytes
	})
	if err != nil || len(packed) == 0 {
		return o, next, err
	}
	first := uint64(math.MaxUint64)
	for rest := packed; len(rest) > 0; {
		var h archive.Header
		if _, h, rest, err = archive.SplitUnit(rest); err != nil {
			return o, from, err
		}
		first = min(first, h.First)
	}
	o, err = c.put(ctx, dir, first, notesSuffix, func(w io.Writer) error {
		_, err := w.Write(packed)
		return err
	})
	return o, next, err
}

func refused(o *Object, format string, args ...any) error {
	return fmt.Errorf("%w: %s: "+format, append([]any{ErrRefused, path.Base(o.Name)}, args...)...)
}

// open gets an object and checks its sum. The file is removed when it is closed.
func (c *Chain) open(ctx context.Context, o *Object, dir string) (*fetched, error) {
	tmp, err := os.CreateTemp(dir, "take-*")
	if err != nil {
		return nil, err
	}
	f := &fetched{tmp}
	getting, cancel := context.WithTimeout(ctx, objectWait)
	defer cancel()
	if err = c.store.get(getting, o.Name, tmp.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("depot: %s: %w", o.Name, err), f.Close())
	}
	h := sha256.New()
	if _, err = io.Copy(h, reader{ctx, tmp}); err == nil {
		if sum := hex.EncodeToString(h.Sum(nil))[:sumLen]; sum != o.Sum {
			err = refused(o, "its sum is %s", sum)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// fetched is a file that is removed when it is closed.
type fetched struct{ *os.File }

// Close closes and removes the file.
func (f *fetched) Close() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }

// openSpan gets a span whose blocks are all proven.
func (c *Chain) openSpan(ctx context.Context, o *Object, dir string) (*fetched, error) {
	f, err := c.open(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	if err = c.prove(ctx, f, o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prove checks all blocks of a span.
func (c *Chain) prove(ctx context.Context, f *fetched, o *Object) error {
	codec, next := archive.NewCodec(c.kind), o.First
	var parent *[32]byte
	err := eachUnit(ctx, f, func(unit []byte, _ archive.Header) error {
		return codec.Unpack(unit, func(b archive.Block) error {
			if b.Height != next || parent != nil && b.Parent != *parent {
				return fmt.Errorf("block %d does not follow the one before", b.Height)
			}
			next, parent = next+1, &b.ID
			return c.proveBlock(&b)
		})
	})
	if err == nil && next != c.border(o.First) {
		err = fmt.Errorf("it ends before block %d", next)
	}
	if err != nil && ctx.Err() == nil {
		err = refused(o, "%w", err)
	}
	return err
}

// proveBlock checks that a block is what its ID says.
func (c *Chain) proveBlock(b *archive.Block) error {
	if of, ok := container.ChainOf(c.kind); ok {
		parsed, err := primary.ParseArchived(of, b.Height, b.Parent, b.Data)
		if err == nil && parsed.Link().ID != b.ID {
			err = fmt.Errorf("block %d has another ID", b.Height)
		}
		return err
	}
	var is evm.Block
	if err := evmarchive.Decode(b.Data, &is); err != nil {
		return err
	}
	if is.Number != b.Height || is.Hash != b.ID || is.Parent != b.Parent || is.Unverified != "" {
		return fmt.Errorf("block %d is %s, %s", b.Height, is.Hash, cmp.Or(is.Unverified, "not the one that it says"))
	}
	return consensus.Check(&is)
}

// Take appends the next span of a list to an archive: that of the block behind the archive's
// last, or of begin if it is empty. Those that are refused, or missing, are given to report,
// and the next one of the same blocks is tried. Without any it returns nil.
func (c *Chain) Take(ctx context.Context, spans []Object, a *archive.Archive, begin uint64, dir string, report func(error)) (*Object, error) {
	next, _, begun := a.Last()
	if next++; !begun {
		next = begin
	}
	if !begun && begin == 0 && len(spans) > 0 && spans[0].First == 1 {
		next = 1 // the chain has no block 0
	}
	at, _ := slices.BinarySearchFunc(spans, next, func(o Object, h uint64) int { return cmp.Compare(c.border(o.First)-1, h) })
	for ; at < len(spans) && spans[at].First <= next; at++ {
		err := c.take(ctx, &spans[at], a, next, dir)
		if err == nil {
			return &spans[at], nil
		}
		if ctx.Err() != nil || !errors.Is(err, ErrRefused) && !errors.Is(err, ErrMissing) {
			return nil, err
		}
		report(err)
	}
	return nil, nil
}

// takeBytes is how many bytes of units are appended at once.
const takeBytes = 4 << 20

// take appends the blocks of a span from a height on, with its units as they are packed.
func (c *Chain) take(ctx context.Context, o *Object, a *archive.Archive, next uint64, dir string) error {
	f, err := c.openSpan(ctx, o, dir)
	if err != nil {
		return err
	}
	var packed []byte
	add := func() error {
		err := a.AppendUnits(ctx, packed)
		packed = packed[:0]
		return err
	}
	err = eachUnit(ctx, f, func(unit []byte, h archive.Header) error {
		if h.First < next { // some of its blocks are there already
			return appendRest(ctx, a, unit, next)
		}
		if packed = append(packed, unit...); len(packed) < takeBytes {
			return nil
		}
		return add()
	})
	if err == nil {
		err = add()
	}
	if errors.Is(err, archive.ErrFork) {
		err = refused(o, "%w", err)
	}
	return errors.Join(err, f.Close())
}

// blocks returns blocks of a span.
func (c *Chain) blocks(ctx context.Context, o *Object, from, to uint64, dir string) (list []archive.Block, err error) {
	f, err := c.openSpan(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	codec := archive.NewCodec(c.kind)
	err = eachUnit(ctx, f, func(unit []byte, h archive.Header) error {
		if h.Last < from || h.First > to {
			return nil
		}
		return codec.Unpack(unit, func(b archive.Block) error {
			if from <= b.Height && b.Height <= to {
				list = append(list, b)
			}
			return nil
		})
	})
	return list, errors.Join(err, f.Close())
}

// openNotes gets notes, all of which can be read.
func (c *Chain) openNotes(ctx context.Context, o *Object, dir string) (*fetched, error) {
	f, err := c.open(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	if err = c.readNotes(ctx, f, func(archive.Note) error { return nil }); err != nil && ctx.Err() == nil {
		err = refused(o, "%w", err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (c *Chain) readNotes(ctx context.Context, f *fetched, each func(archive.Note) error) error {
	codec := archive.NewCodec(c.kind)
	return eachUnit(ctx, f, func(unit []byte, _ archive.Header) error { return codec.UnpackNotes(unit, each) })
}

// TakeNotes adds the notes of an object to an archive.
func (c *Chain) TakeNotes(ctx context.Context, o *Object, a *archive.Archive, dir string) error {
	f, err := c.openNotes(ctx, o, dir)
	if err != nil {
		return err
	}
	var notes []archive.Note
	err = c.readNotes(ctx, f, func(n archive.Note) error { notes = append(notes, n); return nil })
	if err == nil {
		err = a.AddNotes(ctx, notes)
	}
	return errors.Join(err, f.Close())
}

// Chains returns the chains that the depot has objects of.
func (d *Depot) Chains(ctx context.Context) (list []Held, err error) {
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	all, err := d.store.list(ctx, "v1/")
	if err != nil {
		return nil, fmt.Errorf("depot: list %s: %w", d.url, err)
	}
	for _, o := range all {
		parts := strings.Split(o.name, "/")
		if len(parts) != 5 {
			continue
		}
		network, err := strconv.ParseUint(parts[1], 10, 32)
		kind, ok := kindOf(parts[3])
		if h := (Held{uint32(network), parts[2], kind}); err == nil && ok && !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	return list, nil
}

func kindOf(name string) (archive.Kind, bool) {
	for kind, k := range kinds {
		if k.name == name {
			return kind, true
		}
	}
	return 0, false
}
