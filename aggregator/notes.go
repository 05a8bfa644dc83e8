package aggregator

import (
	"context"
	"encoding/binary"
	"time"

	"quorate/aggregator/bls"
	"quorate/engine/chain"
)

const (
	// saveEvery is how often what was learned is saved: a kill loses that much of it.
	saveEvery = 10 * time.Second
	// saveWait bounds a save, also the last one.
	saveWait = 2 * time.Second
)

// Keys of notes: u32 network | u8 kind | and then
//
//	noteHabit       subnet | node: see habit
//	noteQuarantine  compressed BLS key: see quarantine
//	noteFailure     place | piece: see failures.go
const (
	noteHabit      = 'h'
	noteQuarantine = 'q'
	noteFailure    = 'f'
)

// notebook saves and restores what was learned about validators and which messages were
// not signed, and ends the questions that were left open to learn more.
type notebook struct {
	*environment
	network uint32
	notes   Notes // may be nil
}

// restore reads what an earlier run has saved.
func (m *notebook) restore() {
	if m.notes == nil {
		return
	}
	prefix := binary.BigEndian.AppendUint32(nil, m.network)
	n, now, failed := 0, time.Now(), savedFailures{}
	err := m.notes.Each(prefix, func(key, value []byte) {
		switch {
		case len(key) == 5+chain.IDLen+chain.NodeIDLen && key[4] == noteHabit:
			if h, ok := parseHabit(value); ok {
				m.habits.restore(now, habitKey{chain.ID(key[5:]), chain.NodeID(key[5+chain.IDLen:])}, h)
				n++
			}
		case len(key) == 5+bls.PublicKeyLen && key[4] == noteQuarantine:
			if s, ok := parseTerm(value); ok {
				m.bad.restore(now, [bls.PublicKeyLen]byte(key[5:]), s)
				n++
			}
		case len(key) == failureKey && key[4] == noteFailure:
			failed.add(key[5], key[6], value)
		}
	})
	failures, unreadable := m.journal.restoreFailures(failed)
	if unreadable != nil {
		m.log.Warn("messages that were not signed before the start are not all shown", "err", unreadable)
	}
	if err != nil {
		m.log.Warn("what was learned about validators could not be read", "err", err)
		return
	}
	m.log.Debug("remember validators and failures", "notes", n, "failures", failures)
}

// save writes what has changed since the last time, and at most limit bytes of failures. What
// cannot be written of validators is lost: it only would be learned again.
func (m *notebook) save(ctx context.Context, limit int) {
	if m.notes == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, saveWait)
	defer cancel()
	head := binary.BigEndian.AppendUint32(nil, m.network)
	var err error
	put := func(key, value []byte) {
		if err == nil {
			err = m.notes.Put(ctx, key, value)
		}
	}
	for k, h := range m.habits.takeChanged() {
		key := append(append(head[:4:4], noteHabit), k.subnet[:]...)
		put(append(key, k.node[:]...), h.note())
	}
	for k, s := range m.bad.takeChanged() {
		put(append(append(head[:4:4], noteQuarantine), k[:]...), s.note())
	}
	list := m.journal.takeUnsaved(limit)
	stamp := time.Now().UnixNano()
	for i := range list {
		if wrong := list[i].notes(head, stamp, put); wrong != nil {
			m.log.Warn("a message that was not signed is not kept over a restart", "message", list[i].report.Message, "err", wrong)
		}
	}
	if err != nil {
		m.journal.again(list)
		m.count.storeErrors.Inc()
		m.log.Debug("what was learned about validators could not be saved", "err", err)
	}
}

// run saves from time to time and closes questions in their turn, until ctx ends.
func (m *notebook) run(ctx context.Context) error {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-tick.C:
			m.save(ctx, saveFailures)
		case l := <-m.lingering: // in the order of their ends
			if left := time.Until(l.ends); left > 0 {
				timer.Reset(left)
				select {
				case <-timer.C:
				case <-ctx.Done():
				}
			}
			l.end()
		case <-ctx.Done():
			for {
				select {
				case l := <-m.lingering:
					l.question.Close()
					continue
				default:
				}
				break
			}
			m.save(context.WithoutCancel(ctx), maxFailedRows*maxFailureBytes)
			return nil
		}
	}
}
