// Command indexnode serves the P- and the X-Chain of a simulated network through
// avalanchego's own Index API: its indexer, its database and its JSON-RPC server, as a
// node has them. What is measured against it is measured against what real nodes run,
// with as much history as is wanted, which a local network does not have.
//
// Its arguments are the address of the simulated network's node and where to listen, such
// as http://127.0.0.1:9850 and 127.0.0.1:9860. The headers of blocks are signed again by RSA
// keys of 4096 bits, as those of nearly all real validators; with as-is as a third argument
// they stay as the simulated network made them. All else that a client asks is passed on to
// the simulated network's node.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"quorate/e2e/localnet"
)

func main() {
	args := os.Args[1:]
	asIs := len(args) == 3 && args[2] == "as-is"
	if len(args) != 2 && !asIs {
		fmt.Fprintln(os.Stderr, "usage: indexnode http://HOST:PORT-OF-DEVNET HOST:PORT [as-is]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, args[0], args[1], asIs); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "indexnode:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, from, at string, asIs bool) (err error) {
	origin, err := url.Parse(from)
	if err != nil {
		return err
	}
	var keys []signer
	if !asIs {
		release, err := localnet.FindRelease(ctx)
		if err != nil {
			return err
		}
		if keys, err = readSigners(release.Dir); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "indexnode-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := newHistory(from, dir, keys)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	begin := time.Now()
	count, err := h.load(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "indexnode: %d containers in %v\n", count, time.Since(begin).Round(time.Second))
	h.mux.Handle("/", httputil.NewSingleHostReverseProxy(origin))
	return serve(ctx, at, h.mux)
}

// serve answers until ctx ends.
func serve(ctx context.Context, at string, handler http.Handler) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	fmt.Printf("indexnode ready http://%s\n", l.Addr())
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(end)
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
