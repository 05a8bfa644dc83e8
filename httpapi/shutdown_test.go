package httpapi

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// serving returns a running server whose end the test itself brings about.
func serving(t *testing.T, cfg Config) (s *Server, addr string, served chan error) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served = make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	return s, ln.Addr().String(), served
}

func TestShutdownAnswersWhatIsInFlight(t *testing.T) {
	t.Parallel()
	agg, entered, release := blocking()
	s, addr, served := serving(t, Config{Networks: networks{agg}})
	busy, unused := dial(t, addr), dial(t, addr)
	busy.send(goodPost)
	<-entered
	eventually(t, "both connections open", func() bool { return s.conns.len() == 2 })

	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	<-s.conns.stopped
	unused.closed() // at once, without waiting for the other
	if c, err := net.Dial("tcp", addr); err == nil {
		_ = c.Close()
		t.Error("a connection was accepted during the shutdown")
	}
	if s.work.Err() != nil {
		t.Error("work in flight was told to stop")
	}
	close(release)
	if resp, _ := busy.reply("POST"); resp.StatusCode != 201 {
		t.Errorf("got %s", resp.Status)
	}
	busy.closed()
	if err := errors.Join(<-done, <-served); err != nil {
		t.Error(err)
	}
	if n := s.conns.len(); n != 0 {
		t.Errorf("%d connections left", n)
	}
	if s.work.Err() == nil {
		t.Error("the context of requests outlives the server")
	}
}

func TestShutdownClosesResting(t *testing.T) {
	t.Parallel()
	s, addr, served := serving(t, Config{Networks: networks{signs("")}})
	c := dial(t, addr)
	c.send(goodPost)
	c.reply("POST")
	if err := errors.Join(s.Shutdown(context.Background()), <-served); err != nil {
		t.Error(err)
	}
	c.closed()
}

func TestShutdownByForce(t *testing.T) {
	t.Parallel()
	agg, entered, _ := blocking()
	s, addr, served := serving(t, Config{Networks: networks{agg}})
	busy, slow := dial(t, addr), dial(t, addr)
	busy.send(goodPost)
	<-entered
	slow.send("POST / HTTP/1.1\r\n")
	eventually(t, "the half request read", func() bool {
		s.conns.mu.Lock()
		defer s.conns.mu.Unlock()
		n := 0
		for c := range s.conns.open {
			if c.used.Load() {
				n++
			}
		}
		return n == 2
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := s.inFlight.Load(); n != 0 {
		t.Errorf("%d requests left", n)
	}
	if n := s.conns.len(); n != 0 {
		t.Errorf("%d connections left", n)
	}
}

func TestRunStopsWithContext(t *testing.T) {
	t.Parallel()
	agg, entered, release := blocking()
	s, err := New(Config{Networks: networks{agg}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, ln) }()
	c := dial(t, ln.Addr().String())
	c.send(goodPost)
	<-entered
	stop()
	<-s.conns.stopped
	close(release)
	if resp, _ := c.reply("POST"); resp.StatusCode != 201 {
		t.Errorf("got %s", resp.Status)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRunEndedBefore: a server that is asked to end before it serves ends like any other.
func TestRunEndedBefore(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for range 20 { // either may come first, the end or the listener
		s, err := New(Config{Networks: networks{signs("")}})
		if err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Run(ctx, ln); err != nil {
			t.Fatal(err)
		}
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Fatalf("the listener is left open: %v", err)
		}
	}
}

func TestServerServesOnce(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Networks: networks{signs("")}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(ln); !errors.Is(err, ErrUsed) {
		t.Errorf("error %v, want %v", err, ErrUsed)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is left open: %v", err)
	}
}
