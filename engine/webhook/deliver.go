package webhook

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/events"
)

// errGone ends a webhook: trying again cannot help.
var errGone = errors.New("given up")

// deliver sends a webhook's receiver what happens until ctx ends or the webhook is made
// inactive.
func (h *Hooks) deliver(ctx context.Context, k *hook) {
	rec := k.rec.Load()
	if rec.Kind() != AddressActivity {
		h.deliverPrimary(ctx, k, rec)
		return
	}
	at, err := events.ParsePosition(rec.Position)
	if err != nil {
		h.disable(ctx, k, "its position cannot be read")
		return
	}
	c, ok := h.cfg.Chain(rec.Chain)
	for ; !ok; c, ok = h.cfg.Chain(rec.Chain) {
		if !pause(ctx, idle) {
			return
		}
	}
	wanted := events.Filter{Txs: true, Addresses: make(map[evm.Address]bool)}
	for _, a := range rec.Addresses {
		wanted.Addresses[a] = true
	}
	w := &evmWorker{worker: worker{h: h, k: k, rec: rec, kept: time.Now()}, chain: c, follower: c.Hub.Follow(wanted, at)}
	defer func() { w.follower.Close() }() // the last one: an error makes another
	for ctx.Err() == nil {
		changed := c.Hub.Changed()
		more, err := w.step(ctx)
		switch {
		case errors.Is(err, errGone):
			h.disable(ctx, k, err.Error())
			return
		case errors.Is(err, events.ErrLost):
			h.disable(ctx, k, "the chain's index does not have its position: "+err.Error())
			return
		case err != nil:
			if ctx.Err() == nil {
				h.log.Warn("a webhook waits", "id", rec.ID, "err", err)
			}
			if !pause(ctx, idle) {
				return
			}
		case !more:
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// disable makes a webhook inactive with a reason.
func (h *Hooks) disable(ctx context.Context, k *hook, reason string) {
	r, err := h.change(ctx, k, func(r *record) error {
		r.Status, r.Reason = Inactive, reason
		return nil
	})
	if err != nil {
		h.log.Warn("a webhook was not made inactive", "err", err)
		pause(ctx, idle) // it begins again, and comes here again
		return
	}
	h.disabled.Inc()
	h.log.Warn("a webhook is inactive now", "id", r.ID, "reason", reason)
}

// worker delivers for one webhook.
type worker struct {
	h    *Hooks
	k    *hook
	rec  *record
	kept time.Time // when the position was committed last
}

// evmWorker delivers what happens on a chain of the EVM.
type evmWorker struct {
	worker
	chain    Chain
	follower *events.Follower
}

// step delivers what follows. It reports whether there may be more at once. After an
// error the worker goes on behind the last event that was taken.
func (w *evmWorker) step(ctx context.Context) (more bool, err error) {
	before := w.follower.At()
	b, err := w.follower.Next(batch)
	if err != nil {
		return false, err
	}
	done := before
	defer func() {
		if err != nil { // what was read and not delivered is read again
			w.follower.Close()
			w.follower = w.chain.Hub.Follow(w.follower.Filter(), done)
		}
	}()
	if b.Retracted {
		body, err := retraction(&w.rec.Hook, w.chain.Number, w.again(), before, b.Stands)
		if err == nil {
			err = w.post(ctx, body)
		}
		if err == nil {
			err = w.save(ctx, b.After.String(), nil, 1)
		}
		if err != nil {
			return false, err
		}
		done = b.After
	}
	for i := range b.Events {
		if err := w.event(ctx, &b.Events[i]); err != nil {
			return false, err
		}
		done = b.Events[i].After()
	}
	if time.Since(w.kept) > keepPosition {
		if err := w.save(ctx, b.After.String(), nil, 0); err != nil {
			return false, err
		}
	}
	return b.More, nil
}

// event delivers one event and then commits the position behind it.
func (w *evmWorker) event(ctx context.Context, e *events.Event) error {
	v, err := w.chain.View()
	if err != nil {
		return err
	}
	body, err := activity(&w.rec.Hook, w.chain.Number, w.again(), e, v)
	v.Close()
	if err == nil {
		err = w.post(ctx, body)
	}
	if err != nil {
		return err
	}
	after := e.After()
	return w.save(ctx, after.String(), nil, 0)
}

// again returns what makes the IDs of messages differ from those before a retraction: the
// same blocks may be told of once more.
func (w *evmWorker) again() []byte {
	n := w.k.rec.Load().Retractions
	if n == 0 {
		return nil
	}
	return binary.BigEndian.AppendUint32(nil, n)
}

// save commits a position, what messages behind it follow from, and how many retractions
// were taken since the last time.
func (w *worker) save(ctx context.Context, position string, state []byte, retractions uint32) error {
	_, err := w.h.change(ctx, w.k, func(r *record) error {
		if r.Status != Active || ctx.Err() != nil {
			return context.Canceled // its client was faster
		}
		r.Position, r.State, r.Failing = position, state, time.Time{}
		r.Retractions += retractions
		return nil
	})
	w.kept = time.Now()
	return err
}

// post delivers a message: it tries until the receiver takes it. The error is that of
// ctx, or wraps errGone.
func (w *worker) post(ctx context.Context, body []byte) error {
	wait := w.h.cfg.Retry
	for {
		err := w.try(ctx, body)
		if err == nil {
			w.h.delivered.Inc()
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.h.failed.Inc()
		since, saved := w.failing(ctx)
		if errors.Is(err, errGone) {
			return err
		}
		if saved && time.Since(since) > w.h.cfg.Patience {
			return fmt.Errorf("%w: its receiver has taken nothing since %s: %w", errGone, since.UTC().Format(time.RFC3339), err)
		}
		w.h.log.Debug("a delivery failed", "id", w.rec.ID, "err", err)
		if !pause(ctx, wait/2+rand.N(wait/2+1)) {
			return context.Cause(ctx)
		}
		wait = min(2*wait, w.h.cfg.MaxRetry)
	}
}

// failing returns since when deliveries fail, which is kept over a restart.
func (w *worker) failing(ctx context.Context) (since time.Time, ok bool) {
	if since = w.k.rec.Load().Failing; !since.IsZero() {
		return since, true
	}
	since = time.Now()
	_, err := w.h.change(ctx, w.k, func(r *record) error {
		r.Failing = since
		return nil
	})
	return since, err == nil
}

// try makes one delivery. Only a status of success counts: a receiver that answers
// anything else, or breaks off, gets the message again.
func (w *worker) try(ctx context.Context, body []byte) error {
	secret, err := w.h.Secret(w.rec.Client)
	if err != nil {
		return err
	}
	signature, err := sign(secret, body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.rec.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "quorate-webhook")
	req.Header.Set("X-Signature", signature)
	resp, err := w.h.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // of an answer
	_, err = io.CopyN(io.Discard, resp.Body, maxAnswer)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("the receiver broke off its answer: %w", err)
	case resp.StatusCode == http.StatusGone:
		return fmt.Errorf("%w: its receiver answered 410", errGone)
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return fmt.Errorf("the receiver redirects (%d), which is not followed", resp.StatusCode)
	case resp.StatusCode < 200 || resp.StatusCode >= 300:
		return fmt.Errorf("the receiver answered %d", resp.StatusCode)
	}
	return nil
}
