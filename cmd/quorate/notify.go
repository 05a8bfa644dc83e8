package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// notifier reports to the service manager what the server does, by the protocol of
// sd_notify(3): one datagram of lines NAME=value to the socket in NOTIFY_SOCKET. Without
// that variable it does not report.
type notifier struct {
	conn net.Conn // nil: there is no service manager
	log  *slog.Logger
	// watch is how often the manager wants to hear of the server; 0: never.
	watch    time.Duration
	end      context.CancelFunc // nil until the server is ready
	watching sync.WaitGroup
}

func newNotifier(getenv func(string) string, log *slog.Logger) *notifier {
	n := &notifier{log: log}
	path := getenv("NOTIFY_SOCKET")
	if path == "" {
		return n
	}
	// A leading @ is an abstract name, which package net knows too.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		log.Warn("the service manager cannot be notified", "err", err)
		return n
	}
	n.conn = conn
	n.tell("STATUS=starts: looks for chains and validators")
	if pid := getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return n // another process is watched
	}
	if us, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && us > 1 {
		n.watch = time.Duration(us) * time.Microsecond / 2 // sd_watchdog_enabled(3) recommends half
	}
	return n
}

func (n *notifier) tell(state string) {
	if n.conn == nil {
		return
	}
	if _, err := n.conn.Write([]byte(state)); err != nil {
		n.log.Warn("the service manager cannot be notified", "state", state, "err", err)
	}
}

// ready reports that the server serves at url, and from then on keeps the watchdog quiet.
func (n *notifier) ready(ctx context.Context, url string) {
	n.tell("READY=1\nSTATUS=serves " + url)
	if n.watch == 0 {
		return
	}
	ctx, n.end = context.WithCancel(ctx)
	n.watching.Go(func() { n.watched(ctx, url) })
}

// watched asks the server for its health until ctx ends. Any answer will do: what nodes
// and disks do is no better after a restart, but a process that does not answer itself
// for as long as the manager is patient is ended by it and started again.
func (n *notifier) watched(ctx context.Context, url string) {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		// It is this process, whatever name its certificate is for.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	every := time.NewTicker(n.watch)
	defer every.Stop()
	for {
		if err := answers(ctx, client, url, n.watch); err == nil {
			n.tell("WATCHDOG=1")
		} else if ctx.Err() == nil {
			n.log.Error("the server does not answer itself: the service manager will end it", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// answers reports why a server does not answer in time.
func answers(ctx context.Context, client *http.Client, url string, within time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %s", within))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return causeOf(ctx, err)
	}
	return resp.Body.Close()
}

// stopping reports that the stop has begun.
func (n *notifier) stopping() { n.tell("STOPPING=1\nSTATUS=finishes requests, closes databases") }

// close ends the watch.
func (n *notifier) close() error {
	if n.conn == nil {
		return nil
	}
	if n.end != nil {
		n.end()
	}
	n.watching.Wait()
	if err := n.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
