package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quorate/engine/metric"
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

func (f *limitFlags) add(flags, limits *pflag.FlagSet) {
	group(flags, groupLimits, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.keysFile, "api-keys-file", "", "file (YAML or JSON) of API keys and their tiers, read again when it changes; see quorate key")
		flags.BoolVar(&f.requireKey, "require-api-key", false, "refuse requests without an API key, but for metrics and health")
		flags.StringVar(&f.rate, "rate-limit", "auto", "limit the rate of each client: on, off, or auto, which is off when only this machine can connect and there are no --trusted-proxies")
		flags.StringSliceVar(&f.proxies, "trusted-proxies", nil, "addresses or prefixes of proxies whose X-Forwarded-For is believed")
	})
	limits.Int64Var(&f.units, "rate-limit-units", 6000, "compute units a minute for a client without an API key")
}

func (f *limitFlags) check() error {
	switch f.rate {
	case "on", "off", "auto":
	default:
		return fmt.Errorf("--rate-limit %q is neither on, off nor auto", f.rate)
	}
	if f.units < 1 || f.units > limit.MaxRate {
		return fmt.Errorf("limits.rate-limit-units %d must be 1 to %d; --rate-limit=off lets every rate pass", f.units, limit.MaxRate)
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

// off reports whether rates pass unchecked for a server on that host.
func (f *limitFlags) off(host string) bool {
	if f.rate != "auto" {
		return f.rate == "off"
	}
	if len(f.proxies) > 0 {
		return false // a proxy is there to let others in
	}
	return onlyThisMachine(host)
}

// configure makes the HTTP server ask for keys and keep clients within rates.
func (f *limitFlags) configure(cfg *httpapi.Config, host string, log *slog.Logger, set *metric.Set) error {
	proxies, err := f.prefixes()
	if err != nil {
		return err
	}
	cfg.Limits, err = limit.New(limit.Config{
		KeysFile: f.keysFile, RequireKey: f.requireKey, UnitsPerMinute: f.units, NoLimit: f.off(host),
		TrustedProxies: proxies, Logger: log, Metrics: set,
	})
	return err
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
		Args:    exactly(1, "the name of whom the key is for"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return limit.WriteNewKey(cmd.OutOrStdout(), args[0], tier)
		},
	}
	cmd.Flags().StringVar(&tier, "tier", "default", "tier of the key, as the file names it")
	return cmd
}
