package rollup

import "encoding/binary"

// Seen says how many addresses were last seen in an hour: in from or to, in from, and as
// makers of contracts.
type Seen struct{ Active, Senders, Deployers uint64 }

// Ever is the place in [Hours] of how many addresses were seen at all: a stamp of 0 means
// never, so no hour has it.
const Ever = 0

// Hours counts the addresses of a chain by the hour in which they were last seen, as
// their stamps have it. Those seen in the last hours together are exact distinct counts:
// each address is in the last of its hours alone.
type Hours struct {
	seen    map[uint32]*count
	changed []uint32
	last    *count // of the hour that was moved to last, which is mostly the next one too
}

type count struct {
	Seen
	hour    uint32
	changed bool
}

// NewHours returns counts without an address.
func NewHours() *Hours { return &Hours{seen: map[uint32]*count{}, last: &count{}} }

// Put sets what was counted before.
func (h *Hours) Put(hour uint32, s Seen) { h.of(hour).Seen = s }

// Move takes an address whose stamp has changed. Stamps do not go back.
func (h *Hours) Move(old, now Stamp) {
	h.move(old.Active, now.Active, Seen{Active: 1})
	h.move(old.Sender, now.Sender, Seen{Senders: 1})
	h.move(old.Deployer, now.Deployer, Seen{Deployers: 1})
}

func (h *Hours) move(old, now uint32, one Seen) {
	if old == now {
		return
	}
	if before := h.change(old); old == Ever {
		before.Add(one)
	} else {
		before.Seen = Seen{before.Active - one.Active, before.Senders - one.Senders, before.Deployers - one.Deployers}
	}
	if h.last.hour != now || !h.last.changed {
		h.last = h.change(now)
	}
	h.last.Add(one)
}

func (h *Hours) of(hour uint32) *count {
	c := h.seen[hour]
	if c == nil {
		c = &count{hour: hour}
		h.seen[hour] = c
	}
	return c
}

func (h *Hours) change(hour uint32) *count {
	c := h.of(hour)
	if !c.changed {
		c.changed, h.changed = true, append(h.changed, hour)
	}
	return c
}

// Changes returns in how many hours the counts have changed since the last call of Changed.
func (h *Hours) Changes() int { return len(h.changed) }

// Changed yields the counts that have changed since its last call. An hour that was
// changed stays even if nobody was last seen in it any more: which hours there are then
// depends on the blocks alone.
func (h *Hours) Changed(take func(hour uint32, s Seen)) {
	for _, hour := range h.changed {
		c := h.seen[hour]
		c.changed = false
		take(hour, c.Seen)
	}
	h.changed = h.changed[:0]
}

// Add adds the addresses of another hour.
func (s *Seen) Add(o Seen) {
	s.Active, s.Senders, s.Deployers = s.Active+o.Active, s.Senders+o.Senders, s.Deployers+o.Deployers
}

// MaxSeenLen bounds the length of a stored Seen in bytes.
const MaxSeenLen = 3 * binary.MaxVarintLen64

// Append appends the stored form: the three counts as uvarints.
func (s Seen) Append(dst []byte) []byte {
	for _, n := range [...]uint64{s.Active, s.Senders, s.Deployers} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

// Decode reads the stored form. The error is [ErrCodec].
func (s *Seen) Decode(src []byte) error {
	for _, n := range [...]*uint64{&s.Active, &s.Senders, &s.Deployers} {
		v, size := binary.Uvarint(src)
		if size <= 0 || size > 1 && src[size-1] == 0 {
			return ErrCodec
		}
		*n, src = v, src[size:]
	}
	if len(src) > 0 {
		return ErrCodec
	}
	return nil
}
