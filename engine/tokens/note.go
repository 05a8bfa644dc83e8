package tokens

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/archive"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// The notes in a chain's archive. Each begins with a version, 1, and the address of
// the token; uv is an unsigned varint, an amount is big-endian without leading zeros.
const (
	// NoteFacts: u8 standard | u8 1 = has decimals | u8 decimals | uv length of the
	// name | name | symbol.
	NoteFacts archive.NoteType = 16 + iota
	// NoteURI: ID, 32 bytes | URI.
	NoteURI
	// NoteUneven: a balance that shows it: holder | uv length of the sum of events |
	// sum of events | what the contract said.
	NoteUneven
	// NoteBalance: holder | amount.
	NoteBalance
)

// Types are the types of all notes of this package.
var Types = []archive.NoteType{NoteFacts, NoteURI, NoteUneven, NoteBalance}

const noteVersion = 1

// ErrNote is wrapped by the error of a note that is not what was written.
var ErrNote = errors.New("damaged note about a token")

// answers is what contracts said.
type answers struct {
	height uint64 // of the chain's last block then
	facts  map[evm.Address]index.TokenMeta
	uris   map[index.NFT]string
	uneven map[evm.Address]evidence
	said   []index.SaidBalance

	grown map[evm.Address]int // by how much URIs weigh more than those they replace
}

// evidence is a balance that is not the sum of events.
type evidence struct {
	holder    evm.Address
	sum, said uint256.Int
}

func newAnswers(height uint64) *answers {
	return &answers{
		height: height, facts: map[evm.Address]index.TokenMeta{},
		uris: map[index.NFT]string{}, uneven: map[evm.Address]evidence{}, grown: map[evm.Address]int{},
	}
}

func (a *answers) empty() bool { return len(a.facts)+len(a.uris)+len(a.uneven)+len(a.said) == 0 }

func start(token *evm.Address) []byte { return append([]byte{noteVersion}, token[:]...) }

func appendAmount(b []byte, v *uint256.Int) []byte {
	word := v.Bytes32()
	return append(b, word[32-v.ByteLen():]...)
}

// notes returns what was said as records of the archive.
func (a *answers) notes() (list []archive.Note) {
	add := func(t archive.NoteType, height uint64, data []byte) {
		list = append(list, archive.Note{Height: height, Type: t, Data: data})
	}
	for token, m := range a.facts {
		b := append(start(&token), byte(m.Kind), 0, m.Decimals)
		if m.HasDecimals {
			b[len(b)-2] = 1
		}
		b = binary.AppendUvarint(b, uint64(len(m.Name)))
		add(NoteFacts, a.height, append(append(b, m.Name...), m.Symbol...))
	}
	for nft, uri := range a.uris {
		word := nft.ID.Bytes32()
		add(NoteURI, a.height, append(append(start(&nft.Token), word[:]...), uri...))
	}
	for token, e := range a.uneven {
		b := append(start(&token), e.holder[:]...)
		b = binary.AppendUvarint(b, uint64(e.sum.ByteLen()))
		add(NoteUneven, a.height, appendAmount(appendAmount(b, &e.sum), &e.said))
	}
	for i := range a.said {
		s := &a.said[i]
		add(NoteBalance, s.Height, appendAmount(append(start(&s.Token), s.Holder[:]...), &s.Amount))
	}
	return list
}

// read adds what a note says.
func (a *answers) read(n archive.Note) error {
	r := reader{b: n.Data}
	if v := r.take(1); v[0] != noteVersion {
		r.fail()
	}
	token := evm.Address(r.take(evm.AddressLen))
	switch n.Type {
	case NoteFacts:
		h := r.take(3)
		m := index.TokenMeta{Kind: index.TransferKind(h[0]), HasDecimals: h[1] == 1, Decimals: h[2]}
		m.Name = string(r.take(r.length()))
		m.Symbol = string(r.b)
		a.facts[token] = m
	case NoteURI:
		nft := index.NFT{Token: token}
		nft.ID.SetBytes32(r.take(evm.HashLen))
		a.uris[nft] = string(r.b)
	case NoteUneven:
		e := evidence{holder: evm.Address(r.take(evm.AddressLen))}
		e.sum = r.amount(r.length())
		e.said = r.amount(len(r.b))
		a.uneven[token] = e
	case NoteBalance:
		s := index.SaidBalance{Token: token, Holder: evm.Address(r.take(evm.AddressLen)), Height: n.Height}
		s.Amount = r.amount(len(r.b))
		a.said = append(a.said, s)
	}
	if r.bad {
		return fmt.Errorf("%w: type %d at block %d", ErrNote, n.Type, n.Height)
	}
	return nil
}

// reader reads a note.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

// take returns the next n bytes, zeros when there are fewer.
func (r *reader) take(n int) (b []byte) {
	if n > len(r.b) {
		r.fail()
		return make([]byte, min(n, evm.HashLen))
	}
	b, r.b = r.b[:n], r.b[n:]
	return b
}

func (r *reader) length() int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64(len(r.b)-size) {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

func (r *reader) amount(n int) (v uint256.Int) {
	if n > evm.HashLen {
		r.fail()
		return v
	}
	v.SetBytes(r.take(n))
	return v
}

// put writes what was said into the index.
func (a *answers) put(ctx context.Context, c *index.Chain) error {
	var errs []error
	if len(a.facts) > 0 {
		errs = append(errs, c.PutTokens(ctx, a.facts))
	}
	if len(a.uris) > 0 {
		errs = append(errs, c.PutTokenURIs(ctx, a.uris))
	}
	errs = append(errs, c.PutSaid(ctx, a.said))
	for token := range maps.Keys(a.uneven) {
		if err := c.PutUneven(ctx, token, a.height); !errors.Is(err, index.ErrUneven) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Apply puts what notes say into the index, in their order, and asks no node. Notes of
// other packages are passed over. To apply notes again, from any of them on, changes nothing.
func Apply(ctx context.Context, notes []archive.Note, c *index.Chain) error {
	group := newAnswers(0)
	for _, note := range notes {
		if !slices.Contains(Types, note.Type) {
			continue
		}
		// An uneven token is put with the height of its note.
		if note.Type == NoteUneven && note.Height != group.height {
			if err := group.put(ctx, c); err != nil {
				return err
			}
			group = newAnswers(note.Height)
		}
		if err := group.read(note); err != nil {
			return errors.Join(err, group.put(ctx, c))
		}
	}
	return group.put(ctx, c)
}

// replayGroup is how many notes are put into the index at once.
const replayGroup = 4096

// Replay applies all notes of an archive to an index that has none: the answers are
// then those that were given when the notes were made. Read is [archive.Archive.Notes].
func Replay(ctx context.Context, read func(context.Context, func(archive.Note) error, ...archive.NoteType) error, c *index.Chain) error {
	group := make([]archive.Note, 0, replayGroup)
	err := read(ctx, func(note archive.Note) (err error) {
		if len(group) == replayGroup {
			err, group = Apply(ctx, group, c), group[:0]
		}
		group = append(group, note)
		return err
	}, Types...)
	// The notes themselves are kept: the lane looks for what they do not say.
	w := work{began: time.Now().Unix()}
	return errors.Join(err, Apply(ctx, group, c), c.PutTokenWork(ctx, w.append(nil)))
}
