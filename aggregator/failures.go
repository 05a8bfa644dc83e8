package aggregator

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
)

// Failures are kept with their validators as long as their rows live: why a message was not
// signed, and by whom, is asked for days later, when the sets have long changed. They are
// saved behind the answers, and read again at the next start.
const (
	// maxFailureBytes bounds what a failure takes: 64 MiB for all of a network. Of larger
	// sets, with more than about 6,000 validators, the heaviest are kept.
	maxFailureBytes = 64 << 20 / maxFailedRows
	// saveFailures bounds what is written of failures in one save, the newest first:
	// invented messages do not wear out the disk.
	saveFailures = 1 << 20
	// notePiece is how much of a failure goes into a note, and notePieces how many notes
	// it may take.
	notePiece  = 60 << 10
	notePieces = maxFailureBytes/notePiece + 1
	// failureVersion is that of a failure's record.
	failureVersion = 1
)

// voteBytes returns about how much memory a vote takes; its record takes less.
func voteBytes(nodes int) int { return 64 + nodes*chain.NodeIDLen }

// heaviest returns as many votes as a failure may take, those of the most weight.
func heaviest(votes []Vote) []Vote {
	left := maxFailureBytes - 2*maxRowBytes // besides the message and the rest
	over := func(v Vote) bool {
		left -= voteBytes(len(v.NodeIDs))
		return left < 0
	}
	if !slices.ContainsFunc(votes, over) {
		return votes
	}
	slices.SortStableFunc(votes, func(a, b Vote) int { return cmp.Compare(b.Weight, a.Weight) })
	left = maxFailureBytes - 2*maxRowBytes
	return slices.Clip(votes[:slices.IndexFunc(votes, over)])
}

// failure is a failed row as it is saved.
type failure struct {
	born    int64 // Unix ns, the order of the ring
	last    int64
	repeats uint64
	counted bool
	report  Report
	votes   []Vote
	keyless uint64
}

// codeFlag codes a bool.
func codeFlag(c *codec.Coder, v *bool) {
	var b uint8
	if *v {
		b = 1
	}
	c.Uint8(&b)
	*v = b == 1
}

// codeByte codes a number of at most eight bits.
func codeByte[T ~uint8 | ~int](c *codec.Coder, v *T) {
	b := uint8(*v)
	c.Uint8(&b)
	*v = T(b)
}

// code names the members of a failure's record in order.
func (f *failure) code(c *codec.Coder) {
	o := &f.report
	c.Int64(&f.born)
	c.Int64(&f.last)
	c.Uint64(&f.repeats)
	codeFlag(c, &f.counted)
	for _, id := range [...]*chain.ID{&o.Message, &o.SourceChain, &o.Subnet} {
		c.Fixed(id[:])
	}
	validators, took := uint32(o.Validators), int64(o.Took) // set sizes are bounded
	for _, n := range [...]*uint64{&o.Height, &o.Weight, &o.Total, &f.keyless} {
		c.Uint64(n)
	}
	c.Uint32(&validators)
	c.Int64(&took)
	codeByte(c, &o.Quorum)
	codeByte(c, &o.Buffer)
	codeByte(c, &o.Kind)
	codeFlag(c, &o.Ahead)
	c.String(&o.Err)
	c.Bytes(&o.Unsigned)
	codec.List(c, &f.votes, 22, func(c *codec.Coder, v *Vote) {
		code, took := uint32(v.Code), uint32(v.Took/time.Microsecond) // as in vote
		c.Uint64(&v.Weight)
		codeByte(c, &v.State)
		codeFlag(c, &v.Quarantined)
		c.Uint32(&code)
		c.Uint32(&took)
		codec.List(c, &v.NodeIDs, chain.NodeIDLen, func(c *codec.Coder, id *chain.NodeID) { c.Fixed(id[:]) })
		v.Code, v.Took = int32(code), time.Duration(took)*time.Microsecond
		if c.Reading() && v.State > lastVote {
			c.Fail(errRecord)
		}
	})
	o.Validators, o.Took = int(validators), time.Duration(took)
	if c.Reading() && kindNames[o.Kind] == "" {
		c.Fail(errRecord)
	}
}

// record returns the failure as it is saved.
func (f *failure) record() ([]byte, error) {
	f.report.Err = f.report.Err[:min(len(f.report.Err), 1<<12)]
	return codec.Append(nil, failureVersion, f.code)
}

func parseFailure(b []byte) (*failure, error) {
	f := new(failure)
	if err := codec.Decode(b, failureVersion, maxFailureBytes, f.code); err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return f, nil
}

// unsaved is a failure that was not saved since it changed.
type unsaved struct {
	slot uint8
	row  *row
	failure
}

// takeUnsaved returns the failures that were not saved since they changed, the newest
// first, up to about so many bytes of them.
func (j *journal) takeUnsaved(limit int) (out []unsaved) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for slot, r := range j.failed.rows {
		if r != nil && (r.changed || r.repeats.Load() != r.saved) {
			out = append(out, unsaved{uint8(slot), r, failure{ // there are 128
				born: r.born, last: r.last.Load(), repeats: r.repeats.Load(), counted: r.counted,
				report: r.report, votes: r.details, keyless: r.keyless,
			}})
		}
	}
	slices.SortStableFunc(out, func(a, b unsaved) int { return cmp.Compare(b.last, a.last) })
	for i := range out {
		f := &out[i]
		if limit -= f.bytes(); limit < 0 && i > 0 {
			return out[:i]
		}
		f.row.changed, f.row.saved = false, f.repeats
	}
	return out
}

// bytes returns about how much the failure takes.
func (f *failure) bytes() int {
	n := 512 + len(f.report.Unsigned) + len(f.report.Err)
	for i := range f.votes {
		n += voteBytes(len(f.votes[i].NodeIDs))
	}
	return n
}

// again has failures saved later that could not be.
func (j *journal) again(list []unsaved) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range list {
		list[i].row.changed = true
	}
}

// Notes of a failure: key u32 network | u8 noteFailure | u8 slot | u8 piece, value i64 stamp,
// which is the same in all pieces of one save | u8 pieces | a piece of the record. A row's
// place is used again for that which replaces it, so that there are never more.
const (
	failureKey  = 4 + 1 + 1 + 1
	failureHead = 8 + 1
)

// notes calls put with the notes of a failure.
func (f *unsaved) notes(head []byte, stamp int64, put func(key, value []byte)) error {
	record, err := f.record()
	if err != nil {
		return err
	}
	pieces := slices.Collect(slices.Chunk(record, notePiece))
	if len(pieces) > notePieces {
		return fmt.Errorf("%w: a failure of %d bytes", errRecord, len(record))
	}
	for i, piece := range pieces {
		value := binary.BigEndian.AppendUint64(make([]byte, 0, failureHead+len(piece)), uint64(stamp))
		put(append(head[:4:4], noteFailure, f.slot, byte(i)), append(append(value, byte(len(pieces))), piece...))
	}
	return nil
}

// savedFailures puts the notes of failures together again.
type savedFailures map[uint8]*savedFailure

type savedFailure struct {
	stamp  uint64
	pieces [][]byte
	have   int
}

// add takes a note. Pieces of an older save, which a newer one was shorter than, or of one
// that was cut off, do not fit the rest.
func (s savedFailures) add(slot, piece uint8, value []byte) {
	if len(value) < failureHead {
		return
	}
	stamp, of := binary.BigEndian.Uint64(value), value[8]
	f := s[slot]
	if f == nil || stamp > f.stamp {
		f = &savedFailure{stamp: stamp, pieces: make([][]byte, of)}
		s[slot] = f
	}
	if stamp == f.stamp && int(piece) < len(f.pieces) && f.pieces[piece] == nil {
		f.pieces[piece] = append([]byte{}, value[failureHead:]...)
		f.have++
	}
}

// restoreFailures puts failures of an earlier run into the journal.
func (j *journal) restoreFailures(saved savedFailures) (n int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	newest := int64(0)
	for slot, s := range saved {
		if int(slot) >= len(j.failed.rows) || s.have < len(s.pieces) || s.have == 0 {
			continue
		}
		f, wrong := parseFailure(slices.Concat(s.pieces...))
		if wrong != nil {
			err = errors.Join(err, wrong)
			continue
		}
		r := &row{report: f.report, counted: f.counted, details: f.votes, keyless: f.keyless, born: f.born, saved: f.repeats}
		r.last.Store(f.last)
		r.repeats.Store(f.repeats)
		j.failed.rows[slot] = r
		if before := j.failures[f.report.Message]; before == nil || before.born < f.born {
			j.failures[f.report.Message] = r
		}
		if f.born >= newest {
			newest, j.failed.next = f.born, (int(slot)+1)%len(j.failed.rows)
		}
		n++
	}
	return n, err
}
