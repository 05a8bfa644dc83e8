package pchain

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// Rows of [store.PlatformState].
const (
	rowHead     = iota // head codec
	rowProposal        // the proposal that the next block decides on, as in the chain; empty: none
)

// head is what the state has once.
type head struct {
	// Exact: all is known from the genesis on. TimeKnown, SupplyKnown and FeesKnown say
	// what is known otherwise.
	Exact, TimeKnown, SupplyKnown, FeesKnown bool

	Time   uint64 // of the chain, Unix seconds
	Supply uint64 // of the primary network, nAVAX
	Fees   rules.L1Fees
	AVAX   chain.ID
}

// The head codec, version 1: u8 1 | u8 flags | time | supply | active validators of L1s
// | excess | accrued fees | ID of AVAX.
const headVersion = 1

// numbers returns the numbers in the order of the codec.
func (h *head) numbers() [5]*uint64 {
	return [...]*uint64{&h.Time, &h.Supply, &h.Fees.Active, &h.Fees.Excess, &h.Fees.Accrued}
}

func (h *head) encode(b []byte) []byte {
	e := &primary.Encoder{B: b}
	e.U8(headVersion)
	for _, v := range [...]bool{h.Exact, h.TimeKnown, h.SupplyKnown, h.FeesKnown} {
		e.Bool(v)
	}
	for _, v := range h.numbers() {
		e.Uint(*v)
	}
	e.ID(h.AVAX)
	return e.B
}

func decodeHead(b []byte) (h head, err error) {
	d := primary.NewDecoder(b)
	if d.U8() != headVersion {
		return h, fmt.Errorf("%w: state of the P-Chain", primary.ErrRow)
	}
	for _, v := range [...]*bool{&h.Exact, &h.TimeKnown, &h.SupplyKnown, &h.FeesKnown} {
		*v = d.Bool()
	}
	for _, v := range h.numbers() {
		*v = d.Uint()
	}
	h.AVAX = d.ID()
	return h, d.End("state of the P-Chain")
}

// machine executes the P-Chain. Rows have all of its state; what each block looks at is
// in memory too.
type machine struct {
	cfg  *Config
	head head
	// begun: there was a block, or the genesis.
	begun bool
	// proposal is what the next block decides on, nil if it is no option.
	proposal *platform.Block
	// pending and current are the stakers in the order in which they are moved next,
	// paying the active validators of L1s in the order in which their funds end.
	pending, current, paying queue

	// Of the block at work: block is the ID of the one that has the transactions, of which
	// an option has none.
	rows   *primary.Overlay
	height uint64
	block  chain.ID
	// time is that of the block, to which the state moves first.
	time uint64
	sets []setChange
	sums []subnetSums       // those that it has changed, or looked at
	fees map[string]*payers // the same

	// Whose memory the next one has: the transaction at work, the IDs of those of a block,
	// and a row's value.
	work  execution
	txs   []chain.ID
	value []byte
}

// Load implements [primary.Machine].
func (m *machine) Load(rows *primary.Overlay) error {
	*m = machine{cfg: m.cfg}
	b, found, err := rows.Get(rows.Key(store.PlatformState).U8(rowHead))
	if err != nil || !found {
		return err
	}
	m.begun = true
	if m.head, err = decodeHead(b); err != nil {
		return err
	}
	if b, _, err = rows.Get(rows.Key(store.PlatformState).U8(rowProposal)); err != nil {
		return err
	}
	if len(b) > 0 {
		if m.proposal, err = platform.ParseBlock(bytes.Clone(b)); err != nil {
			return err
		}
	}
	for _, q := range []struct {
		to     *queue
		prefix primary.Key
	}{
		{&m.pending, rows.Key(store.PlatformQueue).U8(queuePending)},
		{&m.current, rows.Key(store.PlatformQueue).U8(queueCurrent)},
		{&m.paying, rows.Key(store.PlatformL1Queue)},
	} {
		if err := q.to.load(rows, q.prefix); err != nil {
			return err
		}
	}
	return nil
}

// Queues of stakers.
const (
	queuePending = iota
	queueCurrent
)

// turn is the place of a staker, or of a validator of an L1, in a queue: the time of its
// turn or the fees that have accrued then, its priority and its ID.
type turn [8 + 1 + chain.IDLen]byte

func turnOf(at uint64, priority priority, id chain.ID) (t turn) {
	binary.BigEndian.PutUint64(t[:], at)
	t[8] = uint8(priority)
	copy(t[9:], id[:])
	return t
}

func (t *turn) at() uint64         { return primary.PlaceAt(t[:]).Height }
func (t *turn) priority() priority { return priority(t[8]) }
func (t *turn) id() chain.ID       { return chain.ID(t[9:]) }

// queue has turns in their order, the next one first.
type queue struct{ list []turn }

func (q *queue) find(t turn) (int, bool) {
	return slices.BinarySearchFunc(q.list, t, func(a, b turn) int { return bytes.Compare(a[:], b[:]) })
}

func (q *queue) add(t turn) {
	if i, found := q.find(t); !found {
		q.list = slices.Insert(q.list, i, t)
	}
}

func (q *queue) remove(t turn) {
	if i, found := q.find(t); found {
		q.list = slices.Delete(q.list, i, i+1)
	}
}

// first returns the next turn, nil if there is none.
func (q *queue) first() *turn {
	if len(q.list) == 0 {
		return nil
	}
	return &q.list[0]
}

func (q *queue) load(rows *primary.Overlay, prefix primary.Key) error {
	return rows.Scan(prefix, func(key, _ []byte) (bool, error) {
		b := key[len(prefix):]
		var t turn
		if len(b) != len(t) {
			return false, fmt.Errorf("%w: queue of the P-Chain", primary.ErrRow)
		}
		copy(t[:], b)
		q.list = append(q.list, t)
		return true, nil
	})
}

// enqueue and dequeue change a queue and its rows.
func (m *machine) enqueue(queue uint8, t turn) {
	m.queue(queue).add(t)
	m.rows.Put(m.queueKey(make(primary.Key, 0, 80), queue, t), nil)
}

func (m *machine) dequeue(queue uint8, t turn) {
	m.queue(queue).remove(t)
	m.rows.Delete(m.queueKey(make(primary.Key, 0, 80), queue, t))
}

// queuePaying stands for the queue of validators of L1s, which has a table of its own.
const queuePaying = 2

func (m *machine) queue(queue uint8) *queue {
	switch queue {
	case queuePending:
		return &m.pending
	case queueCurrent:
		return &m.current
	}
	return &m.paying
}

// queueKey appends the key of a turn.
func (m *machine) queueKey(k primary.Key, queue uint8, t turn) primary.Key {
	if queue == queuePaying {
		return k.Bytes(m.rows.Key(store.PlatformL1Queue)).Bytes(t[:])
	}
	return k.Bytes(m.rows.Key(store.PlatformQueue)).U8(queue).Bytes(t[:])
}
