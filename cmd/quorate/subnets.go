package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"quorate/engine"
	"quorate/engine/chain"
)

// subnetFlags are the flags of quorate serve about whose validators sign.
type subnetFlags struct {
	tracked, allowed []string
	lookback         uint64
}

func (f *subnetFlags) add(flags, limits *pflag.FlagSet) {
	group(flags, groupSigning, func(flags *pflag.FlagSet) {
		flags.StringSliceVar(&f.tracked, "track-subnets", nil, "IDs of subnets whose validators are followed and connected from the start on, so that no request is a cold one")
		flags.StringSliceVar(&f.allowed, "allowed-subnets", nil, "IDs of the only subnets, besides the primary network and tracked ones, whose validators sign here (default all)")
	})
	limits.Uint64Var(&f.lookback, "max-height-lookback", 4096, "how many P-Chain blocks below the proposed height a request's pChainHeight may be; 0 for no limit")
}

func (f *subnetFlags) check() error {
	return f.configure(new(engine.Config))
}

func (f *subnetFlags) configure(cfg *engine.Config) error {
	var errs [2]error
	cfg.TrackedSubnets, errs[0] = parseSubnets("--track-subnets", f.tracked)
	cfg.AllowedSubnets, errs[1] = parseSubnets("--allowed-subnets", f.allowed)
	cfg.MaxHeightLookback = f.lookback
	return errors.Join(errs[:]...)
}

func parseSubnets(flag string, texts []string) ([]chain.ID, error) {
	var out []chain.ID
	for _, s := range texts {
		id, err := chain.ParseIDHexOrCB58(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not a subnet ID", flag, s)
		}
		out = append(out, id)
	}
	return out, nil
}
