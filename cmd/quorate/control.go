package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"quorate/engine"
)

// A server answers the commands that work on its data folder through a socket in
// that folder: who may read the folder may ask, and no one else can.

const (
	controlName = "control.sock"
	resultsPath = "/results"
)

// errNoServer is returned when no server uses a data folder.
var errNoServer = errors.New("no server uses the data folder")

// control is the socket of a server.
type control struct {
	server *http.Server
	ln     net.Listener
	ended  chan error
}

// socketAt calls f with a name of the socket in a folder that is short enough for a
// socket's address: names of sockets are at most 107 bytes long.
func socketAt(dir string, f func(name string) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close() // nothing was written
	name := filepath.Join(dir, controlName)
	if len(name) > 100 {
		name = "/proc/self/fd/" + strconv.Itoa(int(d.Fd())) + "/" + controlName
	}
	return f(name)
}

// openControl listens in a data folder that belongs to this process, until ctx ends.
func openControl(ctx context.Context, dir string, eng *engine.Engine) (*control, error) {
	c := &control{ended: make(chan error, 1)}
	err := socketAt(dir, func(name string) (err error) {
		// That of a process that was killed: the folder is ours.
		if err := os.Remove(filepath.Join(dir, controlName)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		c.ln, err = net.Listen("unix", name)
		if ln, ok := c.ln.(*net.UnixListener); ok {
			ln.SetUnlinkOnClose(false) // by a name that may be no name any more
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen in the data folder: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+resultsPath, func(w http.ResponseWriter, _ *http.Request) {
		if err := eng.Disk().BackupResults(w); err != nil {
			panic(http.ErrAbortHandler) // so that what was sent is not taken for all
		}
	})
	mux.HandleFunc("POST "+reindexPath, func(w http.ResponseWriter, r *http.Request) { serveReindex(w, r, eng) })
	mux.HandleFunc("GET /{$}", func(http.ResponseWriter, *http.Request) {})
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { c.ended <- c.server.Serve(c.ln) }()
	context.AfterFunc(ctx, func() { _ = c.server.Close() }) // before the databases; close reports errors
	return c, nil
}

// close ends what is under way and removes the socket.
func (c *control) close(dir string) error {
	err := c.server.Close()
	if e := <-c.ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	if e := os.Remove(filepath.Join(dir, controlName)); !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}

// served reports whether a server uses a data folder.
func served(ctx context.Context, dir string) bool {
	return askServer(ctx, dir, http.MethodGet, "/", nil, io.Discard) == nil
}

// askResults copies the kept results of the server that uses a data folder.
func askResults(ctx context.Context, dir string, w io.Writer) error {
	return askServer(ctx, dir, http.MethodGet, resultsPath, nil, w)
}

// askServer sends a request to the server that uses a data folder, and copies its answer.
func askServer(ctx context.Context, dir, method, path string, body io.Reader, w io.Writer) error {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
		err = socketAt(dir, func(name string) (err error) {
			conn, err = new(net.Dialer).DialContext(ctx, "unix", name)
			return err
		})
		return conn, err
	}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, method, "http://control"+path, body)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return errNoServer
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", answer.Status)
	}
	_, err = io.Copy(w, answer.Body)
	return err
}
