package webhook

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"quorate/engine/primary"
)

const (
	// maxRead bounds the bytes of messages that wait for their delivery, of a webhook: a
	// further one is made when these were taken.
	maxRead = 32 << 10
	// maxBlocks bounds the blocks that are looked at in one view.
	maxBlocks = 256
)

// derivation says what messages a webhook has of a block. It never changes: the same
// block and the same derivation give the same messages, so those that were taken are left
// out by their number.
type derivation interface {
	// next returns the first block from a height on, up to the horizon of the rows, that
	// may have a message; ok is false if there is none.
	next(r *Rows, from uint64) (height uint64, ok bool, err error)
	// derive yields the messages of a block, and returns what those of the next blocks
	// follow from.
	derive(r *Rows, height uint64, out *messages) (derivation, error)
	// state returns what a record keeps of it, nil if that is nothing.
	state() []byte
}

// derivationOf reads what a record keeps.
func derivationOf(rec *record) (derivation, error) {
	switch rec.Kind() {
	case PrimaryActivity:
		return readAddressState(&rec.Hook, rec.State)
	case ValidatorActivity:
		return readValidatorState(&rec.Hook, rec.State)
	case AddressActivity:
	}
	return nil, fmt.Errorf("webhook: type %q", rec.Type)
}

// network finds the network of a webhook, if its chain is followed there.
func (h *Hooks) network(n *Hook) (*Network, func() <-chan struct{}, bool) {
	if h.cfg.Network == nil {
		return nil, nil, false
	}
	net, ok := h.cfg.Network(n.Network)
	if !ok {
		return nil, nil, false
	}
	_, changed, ok := net.Chain(n.On)
	return &net, changed, ok
}

// beginPrimary puts a webhook behind the last block of its chain.
func (h *Hooks) beginPrimary(ctx context.Context, r *record) error {
	n, _, ok := h.network(&r.Hook)
	if !ok {
		return ErrChain
	}
	if err := h.enter(ctx); err != nil {
		return err
	}
	defer h.leave()
	rows, err := n.open(r.Network, r.On, h.cfg.Writer)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChain, err)
	}
	defer rows.Close()
	at, err := rows.pointBefore(rows.horizon + 1)
	if err != nil {
		return err
	}
	var d derivation
	if r.Kind() == PrimaryActivity {
		d, err = beginAddresses(rows, &r.Hook)
	} else {
		d, err = beginValidators(rows, &r.Hook)
	}
	if err != nil {
		return err
	}
	r.Position, r.State = at.String(), d.state()
	return nil
}

// readers returns how many webhooks of the primary network may read at once. They hold
// nothing but their messages while receivers are waited for.
func readers() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// enter waits until rows may be read, until leave.
func (h *Hooks) enter(ctx context.Context) error {
	select {
	case h.reading <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *Hooks) leave() { <-h.reading }

// primaryWorker delivers what happens on the P- or the X-Chain.
type primaryWorker struct {
	worker
	at   point
	from derivation // what the messages from at on follow from
}

// deliverPrimary is deliver for the types of the primary network.
func (h *Hooks) deliverPrimary(ctx context.Context, k *hook, rec *record) {
	w := &primaryWorker{worker: worker{h: h, k: k, rec: rec, kept: time.Now()}}
	var err error
	if w.at, err = parsePoint(rec.Position); err == nil {
		w.from, err = derivationOf(rec)
	}
	if err != nil {
		h.disable(ctx, k, "its position cannot be read")
		return
	}
	for ctx.Err() == nil {
		n, changed, ok := h.network(&rec.Hook)
		if !ok {
			pause(ctx, idle)
			continue
		}
		wait := changed()
		more, err := w.step(ctx, n)
		switch {
		case errors.Is(err, errGone), errors.Is(err, errStrange), errors.Is(err, errBelow), errors.Is(err, ErrWatched):
			h.disable(ctx, k, err.Error())
			return
		case errors.Is(err, primary.ErrEmpty), err == nil && !more:
			select {
			case <-wait:
			case <-ctx.Done():
			}
		case err != nil:
			if ctx.Err() == nil {
				h.log.Warn("a webhook waits", "id", rec.ID, "err", err)
			}
			pause(ctx, idle)
		}
	}
}

// lot are messages of one block.
type lot struct {
	messages
	// at and from are where the webhook is when none of them was taken, next and after
	// when all were.
	at, next    point
	from, after derivation
	more        bool // there may be more at once
}

// step delivers what follows. It reports whether there may be more at once.
func (w *primaryWorker) step(ctx context.Context, n *Network) (more bool, err error) {
	b, err := w.read(ctx, n)
	if err != nil {
		return false, err
	}
	w.at, w.from = b.at, b.from
	for i := range b.list {
		if err := w.post(ctx, b.list[i]); err != nil {
			return false, err
		}
		w.at.taken++
		if i == len(b.list)-1 {
			w.at, w.from = b.next, b.after
		}
		if err := w.save(ctx, w.at.String(), w.from.state(), 0); err != nil {
			return false, err
		}
		b.list[i] = nil
	}
	w.at, w.from = b.next, b.after
	if time.Since(w.kept) > keepPosition {
		if err := w.save(ctx, w.at.String(), w.from.state(), 0); err != nil {
			return false, err
		}
	}
	return b.more, nil
}

// read makes the next messages.
func (w *primaryWorker) read(ctx context.Context, n *Network) (*lot, error) {
	if err := w.h.enter(ctx); err != nil {
		return nil, err
	}
	defer w.h.leave()
	b := &lot{messages: messages{hook: &w.rec.Hook}, next: w.at, after: w.from}
	r, err := n.open(w.rec.Network, w.rec.On, w.h.cfg.Writer)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if ok, err := r.has(w.at); err != nil || !ok {
		b.at, b.from = b.next, b.after
		return b, err
	}
	for range maxBlocks {
		b.at, b.from = b.next, b.after
		height, found, err := b.from.next(r, b.at.height)
		if err != nil {
			return nil, err
		}
		if !found {
			height = r.horizon + 1
		}
		if height != b.at.height {
			if b.at, err = r.pointBefore(height); err != nil {
				return nil, err
			}
		}
		if b.more = found; !found {
			b.next = b.at
			return b, nil
		}
		if done, err := b.derive(r); err != nil || done {
			return b, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return b, nil
}

// derive makes the messages of the block at b.at. It reports whether there are any.
func (b *lot) derive(r *Rows) (ok bool, err error) {
	b.skip, b.made = b.at.taken, 0
	if b.after, err = b.from.derive(r, b.at.height, &b.messages); err != nil {
		return false, err
	}
	if b.cut { // the others when these were taken
		b.next, b.after = b.at, b.from
		b.next.taken += len(b.list)
		return true, nil
	}
	b.next, err = r.pointBefore(b.at.height + 1)
	return len(b.list) > 0, err
}

// messages are those of a block that were not taken yet.
type messages struct {
	hook  *Hook
	skip  int // those that were taken
	made  int
	list  [][]byte
	bytes int
	cut   bool // there are more than fit
}

// add adds a message. parts say what it is about, and are in its ID.
func (m *messages) add(sub Sub, parts [][]byte, event func() (object, error)) error {
	m.made++
	if m.made <= m.skip || m.cut {
		return nil
	}
	if m.bytes >= maxRead {
		m.cut = true
		return nil
	}
	e, err := event()
	if err != nil {
		return err
	}
	e["eventType"] = string(sub)
	b, err := canonical(object{
		"webhookId": m.hook.ID, "eventType": string(m.hook.Kind()), "event": e,
		"messageId": messageID(m.hook.ID, append([][]byte{[]byte(sub)}, parts...)...),
	})
	if err != nil {
		return err
	}
	m.list, m.bytes = append(m.list, b), m.bytes+len(b)
	return nil
}
