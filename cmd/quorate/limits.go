package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/VictoriaMetrics/metrics"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/valyala/fasthttp"

	"quorate/httpapi"
	"quorate/httpapi/limit"
)

// limitFlags are the flags of quorate serve about API keys and rates.
type limitFlags struct {
	keysFile, rate string
	requireKey     bool
	units          int64
	proxies        []string
}

func (f *limitFlags) add(flags *pflag.FlagSet) {
	group(flags, groupLimits, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.keysFile, "api-keys-file", "", "file (YAML or JSON) of API keys and their tiers, read again when it changes; see quorate key")
		flags.BoolVar(&f.requireKey, "require-api-key", false, "refuse requests below /v1 without an API key, metrics apart")
		flags.StringVar(&f.rate, "rate-limit", "auto", "limit the rate of each client: on, off, or auto, which is off when only this machine can connect")
		flags.Int64Var(&f.units, "rate-limit-units", 6000, "compute units a minute for a client without an API key")
		flags.StringSliceVar(&f.proxies, "trusted-proxies", nil, "addresses or prefixes of proxies whose X-Forwarded-For is believed")
	})
}

func (f *limitFlags) check() error {
	switch f.rate {
	case "on", "off", "auto":
	default:
		return fmt.Errorf("--rate-limit %q is neither on, off nor auto", f.rate)
	}
	if f.requireKey && f.keysFile == "" {
		return errors.New("--require-api-key needs --api-keys-file")
	}
	_, err := f.prefixes()
	return err
}

func (f *limitFlags) prefixes() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range f.proxies {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(s); err == nil {
				p = netip.PrefixFrom(a, a.BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxies: %q is neither an address nor a prefix", s)
		}
		out = append(out, p)
	}
	return out, nil
}

// off tells whether rates pass unchecked for a server on that host.
func (f *limitFlags) off(host string) bool {
	if f.rate != "auto" {
		return f.rate == "off"
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// configure makes the HTTP server ask for keys and keep clients within rates.
func (f *limitFlags) configure(cfg *httpapi.Config, c chains, host string, log *slog.Logger, set *metrics.Set) error {
	proxies, err := f.prefixes()
	if err != nil {
		return err
	}
	l, err := limit.New(limit.Config{
		KeysFile: f.keysFile, RequireKey: f.requireKey, UnitsPerMinute: f.units, NoLimit: f.off(host),
		TrustedProxies: proxies, Logger: log, Metrics: set,
	})
	if err != nil {
		return err
	}
	cfg.Client = func(ctx *fasthttp.RequestCtx) string { return l.Client(headers(ctx), remoteOf(ctx)) }
	cfg.Admit = func(ctx *fasthttp.RequestCtx, pattern string, units int) bool {
		d := l.Admit(headers(ctx), remoteOf(ctx), limit.Route{Pattern: pattern, Chain: c.named(ctx.Path()), Public: isMetrics(pattern)}, units)
		if !d.Allow {
			httpapi.Refuse(ctx, d.Status, d.Message, d.RetryAfter)
		}
		return d.Allow
	}
	return nil
}

// headers gives the reader of a request's headers.
func headers(ctx *fasthttp.RequestCtx) func(name string) []byte {
	return func(name string) []byte { return limit.Header(&ctx.Request.Header, name) }
}

// remoteOf returns the address of a request's peer; an unknown one is a client of its own.
func remoteOf(ctx *fasthttp.RequestCtx) netip.Addr {
	remote, _ := netip.AddrFromSlice(ctx.RemoteIP())
	return remote.Unmap()
}

// isMetrics tells whether a route is of the metrics API, which needs no key.
func isMetrics(pattern string) bool {
	return strings.HasPrefix(pattern, "/v2/") || strings.HasPrefix(pattern, "/v1/avg_tps/")
}

// named gives the EVM chain number that a path names, empty for none.
func (c chains) named(path []byte) string {
	parts := strings.SplitN(string(path), "/", 5)
	if len(parts) < 4 || parts[2] != "chains" && parts[2] != "avg_tps" {
		return ""
	}
	name := parts[3]
	if strings.Trim(name, "0123456789") == "" {
		return name
	}
	if found, ok := c.Chain(name); ok {
		return found.Info().ChainID
	}
	return ""
}

func keyCommand() *cobra.Command {
	var tier string
	cmd := &cobra.Command{
		Use:   "key NAME",
		Short: "Make an API key",
		Long: `Makes a random API key for --api-keys-file and prints it, for the only time, with
the entry for the file: the file has the key's hash, never the key. Clients send
the key in the header x-service-api-key.`,
		Example: "  quorate key acme --tier partner",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return limit.WriteNewKey(cmd.OutOrStdout(), args[0], tier)
		},
	}
	cmd.Flags().StringVar(&tier, "tier", "default", "tier of the key, as the file names it")
	return cmd
}
