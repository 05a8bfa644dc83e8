package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"quorate/engine"
	"quorate/engine/webhook"
	"quorate/httpapi/limit"
	primaryapi "quorate/httpapi/primary"
)

// webhookFlags are the flags of quorate serve about webhooks.
type webhookFlags struct {
	private, keyless bool
	owners           []string
	most, perClient  int
	patience         time.Duration
}

func (f *webhookFlags) add(flags, limits *pflag.FlagSet) {
	group(flags, groupEvents, func(flags *pflag.FlagSet) {
		flags.StringSliceVar(&f.owners, "webhooks-owner", nil, "ADDRESS=NAME: from now on the webhooks that this address made without an API key are those of the key with this name")
	})
	limits.BoolVar(&f.private, "webhooks-private", false, "deliver to addresses that are not of the internet, such as this machine's: every client that can make webhooks can then reach those")
	limits.BoolVar(&f.keyless, "webhooks-keyless", false, "let clients without an API key have webhooks, which belong to their address: on a server that only its own machine can reach")
	limits.IntVar(&f.most, "webhooks", 1000, "webhooks that there may be")
	limits.IntVar(&f.perClient, "webhooks-per-client", 100, "those of one API key, or with limits.webhooks-keyless of one address")
	limits.DurationVar(&f.patience, "webhooks-patience", 24*time.Hour, "how long deliveries to a receiver may fail until its webhook is made inactive")
}

func (f *webhookFlags) check(host string, proxies []string) error {
	if f.keyless && (!onlyThisMachine(host) || len(proxies) > 0) {
		return errors.New("limits.webhooks-keyless is for a server that only its own machine can reach, without --trusted-proxies: make API keys with quorate key, and name their file with --api-keys-file")
	}
	for _, o := range f.owners {
		if address, name, _ := strings.Cut(o, "="); limit.IsKey(address) || address == "" || name == "" {
			return fmt.Errorf("--webhooks-owner %q is not of the form ADDRESS=NAME", o)
		}
	}
	if f.most < 1 || f.perClient < 1 || f.patience <= 0 {
		return errors.New("limits.webhooks and limits.webhooks-per-client must be at least 1, and limits.webhooks-patience positive")
	}
	return nil
}

func (f *webhookFlags) configure(cfg *engine.Config) {
	cfg.Webhooks = webhook.Config{Writer: primaryapi.WebhookParts{}, Private: f.private, Most: f.most, PerClient: f.perClient, Patience: f.patience, Owners: make(map[string]string)}
	for _, o := range f.owners {
		address, name, _ := strings.Cut(o, "=")
		cfg.Webhooks.Owners[address] = limit.KeyClient(name)
	}
	if !f.keyless {
		cfg.Webhooks.Unreachable = func(client string) bool { return !limit.IsKey(client) }
	}
}
