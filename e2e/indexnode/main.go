// Command indexnode serves the P- and the X-Chain of a simulated network through
// avalanchego's own Index API: its indexer, its database and its JSON-RPC server, as a
// node has them. What is measured against it is measured against what real nodes run,
// with as much history as is wanted, which a local network does not have.
//
// The headers of blocks are signed again by RSA keys of 4096 bits, as those of nearly all
// real validators: with --as-is they stay as the simulated network made them. All else
// that a client asks is passed on to the simulated network's node.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"quorate/e2e/localnet"
)

func main() {
	from := flag.String("from", "http://127.0.0.1:9850", "address of the simulated network's node: bin/quorate devnet")
	port := flag.Uint("http-port", 9860, "port to listen at on 127.0.0.1")
	asIs := flag.Bool("as-is", false, "leave headers as they are, signed by ECDSA keys")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *from, uint16(*port), *asIs); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "indexnode:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, from string, port uint16, asIs bool) (err error) {
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
	return serve(ctx, port, h.mux)
}

// serve answers until ctx ends.
func serve(ctx context.Context, port uint16, handler http.Handler) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
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
