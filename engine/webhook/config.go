package webhook

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"quorate/engine/chain"
	"quorate/engine/events"
	"quorate/engine/index"
	"quorate/engine/metric"
	"quorate/engine/store"
)

// Chain is a chain that is followed.
type Chain struct {
	Number string // of EVM, in decimal
	Hub    *events.Hub
	View   func() (*index.View, error)
}

// Config says what webhooks may take. Zero values take the defaults.
type Config struct {
	// Store keeps the records; see [Hooks.KeepIn].
	Store store.Records
	// Chain finds a chain that is followed. Required.
	Chain func(id chain.ID) (Chain, bool)
	// Network finds a primary network by the name that clients have for it, and Writer
	// writes what messages have of it. Nil: there are no such webhooks.
	Network func(name string) (Network, bool)
	Writer  Writer
	// Private lets receivers have addresses that are not of the internet.
	Private bool

	// Most bounds the webhooks, PerClient those of one client. Defaults 1,000 and 100.
	Most, PerClient int
	// Timeout bounds one delivery. Default 10 s.
	Timeout time.Duration
	// Retry is the wait after the first failure; it doubles up to MaxRetry. Defaults 1 s
	// and 5 min.
	Retry, MaxRetry time.Duration
	// Patience is for how long deliveries may fail until a webhook is made inactive.
	// Default 24 h.
	Patience time.Duration

	// Unreachable reports whether nobody can be a client any more, as those who had no API
	// key once they need one. Nil: none is.
	Unreachable func(client string) bool
	// Owners names the clients that get the webhooks of others at the start.
	Owners map[string]string

	Logger  *slog.Logger
	Metrics *metric.Set
}

// MaxAddresses bounds the addresses of a webhook.
const MaxAddresses = 100

const (
	// batch bounds the events that are read at once. Each holds its block, as long as a
	// receiver takes nothing.
	batch = 4
	// secretsPer is for how many clients there may be a secret, for each webhook.
	secretsPer = 4
	// idle is the wait for what is not there: a chain after a restart, rows that cannot
	// be read.
	idle = time.Second
	// keepPosition is how often a position is committed though nothing was delivered.
	keepPosition = time.Minute
	// commitTime bounds the wait for a commit.
	commitTime = 5 * time.Second
	// maxAnswer bounds what is read of a receiver's answer.
	maxAnswer = 64 << 10
)

func (c *Config) fill() error {
	if c.Chain == nil {
		return errors.New("webhook: Chain is required")
	}
	c.Most, c.PerClient = cmp.Or(c.Most, 1000), cmp.Or(c.PerClient, 100)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Retry, c.MaxRetry = cmp.Or(c.Retry, time.Second), cmp.Or(c.MaxRetry, 5*time.Minute)
	c.Patience = cmp.Or(c.Patience, 24*time.Hour)
	if min(c.Most, c.PerClient) < 1 || min(c.Timeout, c.Retry, c.MaxRetry, c.Patience) < 0 {
		return errors.New("webhook: bounds must be positive")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	return nil
}
