package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"quorate/engine/feed"
	"quorate/engine/feed/feedtest"
)

const subject = "7.chain.blocks"

func open(t *testing.T, url string) *Log {
	t.Helper()
	l, err := Open(Config{URL: url, Name: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// TestLog: the four calls, against a server and a cluster of three.
func TestLog(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			t.Parallel()
			nats := feedtest.StartNATS(t, servers)
			a, b := open(t, nats.URL), open(t, nats.URL)
			var at uint64
			feedtest.Eventually(t, func() (err error) {
				if at, err = a.Append(t.Context(), subject, 0, []byte("one")); errors.Is(err, feed.ErrMoved) {
					_, at, err = a.Ends(t.Context(), subject) // it was appended by an attempt that failed
				}
				return err
			})
			told := make(chan struct{}, 100)
			ctx, stop := context.WithCancel(t.Context())
			watched := make(chan error, 1)
			go func() { watched <- b.Watch(ctx, subject, func() { told <- struct{}{} }) }()
			feedtest.Eventually(t, func() error { // the subscription may not be there yet
				last, err := a.Append(t.Context(), subject, at, []byte("another"))
				if err == nil {
					at = last
				}
				select {
				case <-told:
					return err
				case <-time.After(time.Second):
					return errors.New("the watch is not told")
				}
			})
			stop()
			if err := <-watched; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if _, err := b.Append(t.Context(), subject, at-1, []byte("late")); !errors.Is(err, feed.ErrMoved) {
				t.Error(err)
			}
			if _, err := b.Append(t.Context(), "7.other.blocks", 0, []byte("other")); err != nil {
				t.Error(err)
			}
			first, last, err := b.Ends(t.Context(), subject)
			if err != nil || last != at || first == 0 || first >= last {
				t.Fatal(first, last, at, err)
			}
			if raw, found, err := b.Read(t.Context(), subject, 0); err != nil || found != first || string(raw) != "one" {
				t.Errorf("%q at %d, %v", raw, found, err)
			}
			if raw, found, err := b.Read(t.Context(), subject, last); err != nil || found != last || string(raw) != "another" {
				t.Errorf("%q at %d, %v", raw, found, err)
			}
			if _, _, err := b.Read(t.Context(), subject, last+1); !errors.Is(err, feed.ErrEnd) {
				t.Error(err)
			}
			if _, err := a.Append(t.Context(), subject, last, bytes.Repeat([]byte{1}, feed.MaxRecord)); err != nil {
				t.Error("the largest record:", err)
			}
			if list, err := a.Networks(t.Context()); err != nil || len(list) != 1 || list[0] != 7 {
				t.Error(list, err)
			}
			s, err := a.js.Stream(t.Context(), "quorate-7")
			if err != nil || s.CachedInfo().Config.Replicas != servers {
				t.Fatal(s.CachedInfo().Config.Replicas, err)
			}
			// A stream that was deleted is empty, and made again.
			if err := a.js.DeleteStream(t.Context(), "quorate-7"); err != nil {
				t.Fatal(err)
			}
			feedtest.Eventually(t, func() error { // a cluster may be choosing who leads
				first, last, err := b.Ends(t.Context(), subject)
				if err == nil && (last != 0 || first != 0) {
					err = fmt.Errorf("records %d to %d", first, last)
				}
				return err
			})
			feedtest.Eventually(t, func() error {
				_, err := b.Append(t.Context(), subject, 0, []byte("again"))
				return err
			})
		})
	}
}

// TestLogAway: a server that is away fails calls at once, and what it had is there again.
func TestLogAway(t *testing.T) {
	t.Parallel()
	nats := feedtest.StartNATS(t, 1)
	l := open(t, nats.URL)
	var at uint64
	feedtest.Eventually(t, func() (err error) { at, err = l.Append(t.Context(), subject, 0, []byte("one")); return err })
	nats.Kill(0)
	feedtest.Eventually(t, func() error {
		if l.conn.IsConnected() {
			return errors.New("still connected")
		}
		return nil
	})
	began := time.Now()
	if _, err := l.Append(t.Context(), subject, at, []byte("two")); !errors.Is(err, feed.ErrAway) {
		t.Error(err)
	}
	if _, _, err := l.Read(t.Context(), subject, 0); !errors.Is(err, feed.ErrAway) {
		t.Error(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("calls to a log that is away took %s", took)
	}
	nats.Start(0)
	feedtest.Eventually(t, func() error { _, err := l.Append(t.Context(), subject, at, []byte("two")); return err })
	if raw, _, err := l.Read(t.Context(), subject, 0); err != nil || string(raw) != "one" {
		t.Errorf("%q, %v", raw, err)
	}
}

// TestOtherStream: a stream that is not this network's is not used.
func TestOtherStream(t *testing.T) {
	t.Parallel()
	nats := feedtest.StartNATS(t, 1)
	l := open(t, nats.URL)
	feedtest.Eventually(t, func() error { _, _, err := l.Ends(t.Context(), subject); return err })
	cfg := l.config("8")
	cfg.Name = "quorate-7"
	if _, err := l.js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Ends(t.Context(), subject); !errors.Is(err, feed.ErrOther) {
		t.Error(err)
	}
	if _, err := l.Append(t.Context(), subject, 0, []byte("one")); !errors.Is(err, feed.ErrOther) {
		t.Error(err)
	}
	if _, err := l.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "mine", Subjects: []string{"mine"}}); err != nil {
		t.Error(err)
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"nats://127.0.0.1:4222", "tls://user:secret@nats.example:4222,tls://b:4222", "nats://h"} {
		if err := CheckURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "127.0.0.1:4222", "http://h:1", "nats://", "nats://h:1/path", "nats://h:1?x", "nats://h:1,", "nats://h:x"} {
		if err := CheckURL(bad); !errors.Is(err, ErrURL) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
