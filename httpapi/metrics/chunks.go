package metrics

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/metric"
	"quorate/httpapi/evm"
	"quorate/httpapi/kept"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// ChunkLen is how many buckets a chunk has room for. A page is put together of
// whole chunks' parts, and what is not kept is made by chunks.
const ChunkLen = 128

// final is the height at which a chunk is that no further block can change.
const final = math.MaxUint64

// chunk is the text of the points of consecutive buckets, those with the same
// number/ChunkLen, as far as there are any. But for used it does not change.
type chunk struct {
	hash     uint64
	metric   rollup.Metric
	interval rollup.Interval
	form     view.PointForm
	parts    []part
	size     int // in memory, in bytes

	newest uint32
	// text has the points, the newest first, a comma after each; starts is where
	// each of them begins, and the end of the last.
	text   []byte
	starts []uint16
}

// part says up to where a chain had got when a chunk was made.
type part struct {
	id      chain.ID
	edition uint32
	next    uint64 // height, or final
	open    uint32 // the chain's last bucket, 0 if it had none
}

func (k *chunk) oldest() uint32 { return k.newest + 2 - uint32(len(k.starts)) }

// between returns the points from newest down to oldest, as far as they are here.
func (k *chunk) between(newest, oldest uint32) []byte {
	newest, oldest = min(newest, k.newest), max(oldest, k.oldest())
	if newest < oldest {
		return nil
	}
	return k.text[k.starts[k.newest-newest]:k.starts[k.newest-oldest+1]]
}

// of reports whether the chunk is of the series, whatever its age.
func (k *chunk) of(s *series, place uint32) bool {
	if k.metric != s.metric || k.interval != s.interval || k.form != s.form || k.newest/ChunkLen != place || len(k.parts) != len(s.sources) {
		return false
	}
	for i := range k.parts {
		if k.parts[i].id != s.sources[i].id || k.parts[i].edition != s.sources[i].edition {
			return false
		}
	}
	return true
}

// settled returns the bucket from which on the points may have changed since the
// chunk was made; MaxUint32 if none has.
func (k *chunk) settled(s *series, place uint32) uint32 {
	from := uint32(math.MaxUint32)
	for i := range k.parts {
		if k.parts[i].next < s.sources[i].height(place) {
			from = min(from, k.parts[i].open)
		}
	}
	return from
}

// height returns what the points of a chunk depend on: final once all its buckets
// are closed, else the chain's next height. A chain that has ended long ago
// keeps its height.
func (src *source) height(place uint32) uint64 {
	if src.begun && place < src.last/ChunkLen {
		return final
	}
	return src.next
}

// points makes the chunks of series and keeps those that were asked for last.
type points struct {
	kept  *kept.Cache[chunk]
	fixed int // what a chunk takes besides its slices, in bytes

	made metric.Counter // chunks
}

// chunkSlots is the number of chunks that can be kept: half as many again as there
// is room for in bytes when all are full.
const chunkSlots = 1 << 13

func newPoints(set *metric.Set, size int64) *points {
	p := &points{
		kept: kept.New[chunk](size, chunkSlots), fixed: int(reflect.TypeFor[chunk]().Size()),
		made: set.Counter("quorate_http_metric_chunks_made_total", "Chunks of metric series that were encoded."),
	}
	set.GaugeFunc("quorate_http_metric_chunks_bytes", "Memory of encoded metric series.", func() float64 { return float64(p.kept.Bytes()) })
	return p
}

// find appends the chunks that have the points from newest down to oldest, the
// newest first, and makes those that are not kept or are outdated. With an error
// comes the chain that cannot be read.
func (p *points) find(s *series, dst []*chunk, newest, oldest uint32) ([]*chunk, *evm.Chain, error) {
	place, last := newest/ChunkLen, oldest/ChunkLen
	for {
		k, settled := p.lookup(s, place)
		if settled == math.MaxUint32 {
			dst = append(dst, k)
		} else {
			// What is next to each other, and not kept at all, is read in one walk.
			end := place
			for settled == 0 && end > last && !p.has(s, end-1) {
				end--
			}
			var broken *evm.Chain
			var err error
			if dst, broken, err = p.make(s, dst, place, end, k, settled); err != nil {
				return dst, broken, err
			}
			place = end
		}
		if place == last {
			return dst, nil, nil
		}
		place--
	}
}

// lookup returns the chunk at a place and from which bucket on it has to be made
// again: MaxUint32 for none, 0 for all.
func (p *points) lookup(s *series, place uint32) (*chunk, uint32) {
	k := p.kept.Get(kept.Mix(s.hash, uint64(place)))
	if k == nil || !k.of(s, place) {
		return nil, 0
	}
	settled := k.settled(s, place)
	switch top, bottom := s.at(place); {
	case settled <= bottom:
		return nil, 0
	case settled > top: // the series ends below, see series.held
		settled = math.MaxUint32
	}
	return k, settled
}

func (p *points) has(s *series, place uint32) bool {
	k, _ := p.lookup(s, place)
	return k != nil
}

// at returns the newest and the oldest bucket of the chunk at a place.
func (s *series) at(place uint32) (newest, oldest uint32) {
	return min(place*ChunkLen+ChunkLen-1, s.last), max(place*ChunkLen, s.first)
}

// make makes the chunks from one place down to another and appends them. If
// there is one to make again, they are only it, and of its points only those from
// a bucket on.
func (p *points) make(s *series, dst []*chunk, place, end uint32, outdated *chunk, from uint32) ([]*chunk, *evm.Chain, error) {
	newest, _ := s.at(place)
	_, oldest := s.at(end)
	w := chunkWriter{s: s, p: p, made: dst}
	w.open(newest)
	broken, err := s.figures(newest, max(oldest, from), w.point)
	if err != nil {
		return dst, broken, err
	}
	if outdated != nil {
		w.copy(outdated, from)
	}
	w.close()
	return w.made, nil, nil
}

// chunkWriter writes points into chunks, the newest first.
type chunkWriter struct {
	s    *series
	p    *points
	made []*chunk

	newest uint32
	text   []byte
	starts []uint16
}

func (w *chunkWriter) open(newest uint32) {
	w.newest, w.text = newest, w.text[:0]
	w.starts = append(w.starts[:0], 0)
}

func (w *chunkWriter) point(bucket uint32, value []byte) {
	if bucket/ChunkLen != w.newest/ChunkLen {
		w.close()
		w.open(bucket)
	}
	w.text = append(view.AppendPoint(w.text, w.s.form, value, w.s.interval.Start(bucket)), ',')
	w.starts = append(w.starts, uint16(len(w.text)))
}

// copy takes the points below a bucket from a chunk.
func (w *chunkWriter) copy(k *chunk, from uint32) {
	for b := from - 1; ; b-- {
		w.text = append(w.text, k.between(b, b)...)
		w.starts = append(w.starts, uint16(len(w.text)))
		if b == k.oldest() {
			return
		}
	}
}

// close keeps the chunk.
func (w *chunkWriter) close() {
	s := w.s
	k := &chunk{
		hash: kept.Mix(s.hash, uint64(w.newest/ChunkLen)), metric: s.metric, interval: s.interval, form: s.form,
		parts: make([]part, len(s.sources)), newest: w.newest, text: slices.Clone(w.text), starts: slices.Clone(w.starts),
	}
	for i := range s.sources {
		src := &s.sources[i]
		k.parts[i] = part{id: src.id, edition: src.edition, next: src.height(w.newest / ChunkLen)}
		if src.begun {
			k.parts[i].open = src.last
		}
	}
	k.size = w.p.fixed + cap(k.text) + 2*cap(k.starts) + len(k.parts)*partSize
	w.p.made.Inc()
	w.p.kept.Put(k.hash, k, k.size)
	w.made = append(w.made, k)
}

var partSize = int(reflect.TypeFor[part]().Size())

// figures yields the value of each bucket from newest down to oldest, which
// are within the series' bounds. With an error comes the chain that has it.
func (s *series) figures(newest, oldest uint32, take func(bucket uint32, value []byte)) (*evm.Chain, error) {
	var text []byte
	if len(s.sources) == 1 {
		return s.sources[0].chain, s.walk(&s.sources[0], newest, oldest, func(bucket uint32, r *rollup.Record) {
			v := s.metric.Of(r)
			text = v.Append(text[:0])
			take(bucket, text)
		})
	}
	totals := make([]rollup.Total, newest-oldest+1)
	for i := range s.sources {
		src := &s.sources[i]
		if err := s.walk(src, newest, oldest, func(bucket uint32, r *rollup.Record) {
			totals[newest-bucket].Add(s.metric, r)
		}); err != nil {
			return src.chain, err
		}
	}
	for i := range totals {
		text = totals[i].Append(s.metric, text[:0])
		take(newest-uint32(i), text)
	}
	return nil, nil
}

// walk yields the records of a chain, and checks that none is left out from
// its first on.
func (s *series) walk(src *source, newest, oldest uint32, take func(bucket uint32, r *rollup.Record)) error {
	next, gap := newest, false
	err := src.chain.Buckets(s.interval, newest, oldest, func(bucket uint32, r *rollup.Record) {
		if gap = gap || bucket != next; !gap {
			take(bucket, r)
			next--
		}
	})
	if err != nil {
		return err
	}
	if src.begun && newest >= src.first && next != max(oldest, src.first)-1 {
		return fmt.Errorf("the metrics of a %s between %d and %d are missing", s.interval, oldest, newest)
	}
	return nil
}
