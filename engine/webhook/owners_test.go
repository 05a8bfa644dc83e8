package webhook

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// lines is a log.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Webhooks of clients that can no longer ask for them are delivered as before; the log and
// the health say so, and how to reach them. An API key that is named becomes their owner.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	h, stop := w.run()
	n := w.create(h, r, accounts[0])
	if msg, err := h.Check(t.Context()); err != nil || msg.(hooksMessage).Warning != "" || msg.(hooksMessage).Webhooks != 1 {
		t.Errorf("before: %+v, %v", msg, err)
	}
	stop()

	var log lines
	w.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	w.cfg.Unreachable = func(client string) bool { return !strings.HasPrefix(client, "key:") }
	h, stop = w.run()
	w.grow(3)
	r.await(t, w.want(4, accounts[0]))
	msg, err := h.Check(t.Context())
	raw, wrong := json.Marshal(msg)
	if err = errors.Join(err, wrong); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"1, by me", "--webhooks-owner me=NAME", "--limits webhooks-keyless=true"} {
		if !strings.Contains(string(raw), says) || !strings.Contains(log.String(), says) {
			t.Errorf("%q is not in %s, or not in the log:\n%s", says, raw, log.String())
		}
	}
	stop()

	w.cfg.Owners = map[string]string{"me": "key:acme", "other": "key:b"}
	h, stop = w.run()
	w.grow(3)
	r.await(t, w.want(4, accounts[0])) // signed with the secret of before
	if _, err := h.Get("me", n.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("its first owner: %v", err)
	}
	stop()
	w.cfg.Owners = nil // it is kept
	h, _ = w.run()
	w.grow(1)
	r.await(t, w.want(4, accounts[0]))
	if s, err := h.Secret("key:acme"); err != nil || s != r.secret {
		t.Errorf("the secret is %q, not %q: %v", s, r.secret, err)
	}
	if msg, err := h.Check(t.Context()); err != nil || msg.(hooksMessage).Warning != "" {
		t.Errorf("after: %+v, %v", msg, err)
	}
	if _, err := h.Delete(t.Context(), "key:acme", n.ID); err != nil {
		t.Error(err)
	}
}

// TestBeforeRun: until webhooks are read, all is refused, and nothing is looked up.
func TestBeforeRun(t *testing.T) {
	t.Parallel()
	h, err := New(newWorld(t).cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	_, create := h.Create(ctx, Hook{URL: "http://nowhere.invalid", Client: "a"})
	_, list := h.List("a")
	_, get := h.Get("a", "b")
	_, update := h.Update(ctx, "a", "b", func(*Hook) error { return nil })
	_, remove := h.Delete(ctx, "a", "b")
	_, secret := h.Secret("a")
	_, rotate := h.Rotate(ctx, "a")
	for i, err := range []error{create, list, get, update, remove, secret, rotate} {
		if !errors.Is(err, ErrStopping) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if msg, err := h.Check(ctx); err != nil || msg != (hooksMessage{}) {
		t.Errorf("check: %+v, %v", msg, err)
	}
}
