package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
	"github.com/valyala/fasthttp"

	"quorate/httpapi"
	"quorate/rpc"
)

// rpcFlags are the flags of quorate serve about chain RPC.
type rpcFlags struct{ mode string }

func (f *rpcFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.mode, "chain-rpc", "safe", "methods that /ext/bc and /ext/info pass on to the nodes: safe (reading, and sending signed transactions), all (debug and admin too) or off")
}

func (f *rpcFlags) check() error {
	if _, err := rpc.ParseMode(f.mode); err != nil {
		return fmt.Errorf("--chain-rpc: %w", err)
	}
	return nil
}

// parsed returns the mode; check has found it well.
func (f *rpcFlags) parsed() rpc.Mode {
	mode, _ := rpc.ParseMode(f.mode)
	return mode
}

// serveExt makes the HTTP server serve what is below /ext, and charge for it.
func serveExt(cfg *httpapi.Config, ext *rpc.Service) {
	cfg.Ext = func(ctx *fasthttp.RequestCtx, charge httpapi.Charge) { ext.Serve(ctx, rpc.Charge(charge)) }
	cfg.ExtCost = func(ctx *fasthttp.RequestCtx) httpapi.ExtCost {
		units, operator := ext.Cost(ctx)
		return httpapi.ExtCost{Units: units, Operator: operator}
	}
}

// socketGrace is how long WebSockets may take to close at a shutdown.
const socketGrace = forwardTime

// stopSockets closes the WebSockets, which the HTTP server has let go of.
func stopSockets(ext *rpc.Service) {
	ctx, cancel := context.WithTimeout(context.Background(), socketGrace)
	defer cancel()
	_ = ext.StopSockets(ctx) // those that are left are cut with the connections
}

// clientURL is where clients reach a listener, as far as this machine knows. A
// wildcard is no address that anyone can go to: it stands for one of the machine's.
func clientURL(addr net.Addr, own func() ([]net.Addr, error)) string {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return "http://" + addr.String()
	}
	host := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	list, err := own()
	if err != nil {
		list = nil // loopback is right on this machine at least
	}
	for _, a := range list {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && p.Addr().IsGlobalUnicast() && (host.IsLoopback() || p.Addr().Is4() && !host.Is4()) {
			host = p.Addr()
		}
	}
	return "http://" + netip.AddrPortFrom(host, at.Port()).String()
}

// publicHost returns the host name of --public-url, empty without one.
func publicHost(publicURL string) string {
	u, err := url.Parse(publicURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// chainURLs returns the addresses of a chain's RPC and WebSocket at this server.
func chainURLs(base, id string) (rpcURL, wsURL string) {
	at := base + "/ext/bc/" + id
	return at + "/rpc", "ws" + strings.TrimPrefix(at, "http") + "/ws"
}
