package ingest

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

// TestUnreadable: the chain stands before the first block that cannot be read, says so once
// an hour, asks for it seldom, and goes on by itself when it can be read.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		blocks, sink := chainOf(200), &fakeSink{}
		node := newNode(blocks, 150)
		cause := errors.New("type not allowed: 77")
		node.fetch = func(from, to uint64) (list []*evm.Block, err error) {
			for n := from; n <= to; n++ {
				if n == 60 || n == 64 || n == 100 {
					at := time.Unix(int64(1_800_000_000+n), 0)
					return list, &UnreadableError{Height: n, ID: chain.ID{byte(n)}, Time: at, Needs: "avalanchego 1.16.0", Err: cause}
				}
				list = append(list, node.copied(n))
			}
			return list, nil
		}
		var log bytes.Buffer
		i, stop := run(t, Config[*evm.Block]{
			Source: node, Sink: sink, Span: 16, TipEvery: time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		defer stop()
		after(30 * time.Minute)
		mustHave(t, sink, blocks, 59, false)
		s := i.Status()
		if s.Unreadable == nil || s.Unreadable.Height != 60 || !errors.Is(s.Unreadable, cause) || s.Err == nil || !s.Syncing() || s.Target != 150 {
			t.Errorf("status %+v", s)
		}
		for _, part := range []string{"block 60 (", "of 2027-01-15T08:01:00Z", "install one that knows avalanchego 1.16.0: type not allowed: 77"} {
			if !strings.Contains(s.Unreadable.Error(), part) {
				t.Errorf("%q lacks %q", s.Unreadable, part)
			}
		}
		if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "stands still") {
			t.Errorf("%d lines in half an hour:\n%s", lines, &log)
		}
		var calls, more int
		node.set(func() { calls = node.calls })
		after(3 * time.Hour)
		if lines := strings.Count(log.String(), "\n"); lines != 4 {
			t.Errorf("%d lines in 3.5 hours:\n%s", lines, &log)
		}
		// Three spans wait, each of which asks about once a minute.
		node.set(func() { more = node.calls - calls })
		if more > 3*240 {
			t.Errorf("%d calls in 3 hours", more)
		}
		node.set(func() { node.fetch = nil })
		after(2 * time.Minute)
		mustHave(t, sink, blocks, 150, false)
		if s := i.Status(); s.Unreadable != nil || s.Err != nil || s.Syncing() || strings.Count(log.String(), "followed again") != 1 {
			t.Errorf("status afterwards: %+v, log:\n%s", s, &log)
		}
	})
}

// TestUnreadablePause: a block that cannot be read is asked for seldom, unless a node that
// only waits for it may have another one.
func TestUnreadablePause(t *testing.T) {
	t.Parallel()
	u := &UnreadableError{Height: 3, Err: errors.New("odd")}
	if got := u.Error(); !strings.HasPrefix(got, "block 3 cannot be read by this release of Quorate, install one that knows a later upgrade") {
		t.Error(got)
	}
	for failures := range 12 {
		if d := backoff(u, failures); d < unreadableFirst*4/5 || d > unreadableMost {
			t.Errorf("%d failures: %s", failures, d)
		}
		if d := backoff(errors.Join(ErrNotFound, u), failures); d > 2*time.Second {
			t.Errorf("%d failures where a node waits for it: %s", failures, d)
		}
	}
}
