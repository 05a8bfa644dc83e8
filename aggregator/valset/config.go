package valset

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
)

// Errors of a [Keeper]; errors.Is tells them apart.
var (
	// ErrUnknownSubnet: there is no such subnet.
	ErrUnknownSubnet = errors.New("unknown subnet")
	// ErrNoValidators: the subnet exists, but has no validators at the height.
	ErrNoValidators = errors.New("subnet without validators")
	// ErrNotAllowed: [Config].Allowed does not have the subnet.
	ErrNotAllowed = errors.New("subnet is not served")
	// ErrUnknownChain: there is no such blockchain.
	ErrUnknownChain = errors.New("unknown blockchain")
	// ErrHeight: the height is above what the node's P-Chain has reached.
	ErrHeight = errors.New("height is above the P-Chain's")
	// ErrLookback: the height is further back than [Config].MaxLookback.
	ErrLookback = errors.New("height is too far back")
	// ErrSubnets: requests are under way for as many other subnets as are followed at once.
	ErrSubnets = errors.New("too many subnets are asked for at once")
	// ErrBusy: too many questions to the node are waiting already.
	ErrBusy = errors.New("too many questions to the node are waiting")
	// ErrSource: the node that knows did not answer, or not usefully, or not for too long.
	ErrSource = errors.New("validator sets cannot be read from the node")
)

// Source knows validator sets: a client of a node's P-Chain. Its errors may have
// the methods NotFound (no such chain or subnet), FutureHeight (the node has not
// reached the height) and NoMethod (the node cannot tell), which give a bool;
// others are failures.
type Source interface {
	// ProposedHeight is asked often and must be cheap.
	ProposedHeight(ctx context.Context) (uint64, error)
	// AllValidatorsAt returns the sets of all subnets that have validators. After
	// NoMethod, ValidatorsAt is used instead.
	AllValidatorsAt(ctx context.Context, height uint64) (map[chain.ID][]Member, error)
	// ValidatorsAt returns one subnet's set; it is empty for an unknown subnet.
	ValidatorsAt(ctx context.Context, subnet chain.ID, height uint64) ([]Member, error)
	// L1Validators returns the validators of an L1 that pay from a balance, those that are
	// out of balance too; none of a subnet that is no L1.
	L1Validators(ctx context.Context, subnet chain.ID) ([]L1Validator, error)
	// L1Fee returns what an active L1 validator pays now, in nAVAX a second.
	L1Fee(ctx context.Context) (uint64, error)
	// SubnetOf returns the subnet that validates a blockchain.
	SubnetOf(ctx context.Context, blockchain chain.ID) (chain.ID, error)
	// ConversionOf returns the conversion that made a subnet an L1, zero if it is none.
	ConversionOf(ctx context.Context, subnet chain.ID) (chain.ID, error)
	Epochs
}

// Epochs knows the epochs of blockchains.
type Epochs interface {
	// EpochOf returns the number of the epoch that a blockchain is in, and the height
	// at which it checks messages until the next one begins.
	EpochOf(ctx context.Context, blockchain chain.ID) (number, height uint64, err error)
}

func notFound(err error) bool {
	var e interface{ NotFound() bool }
	return errors.As(err, &e) && e.NotFound()
}

func futureHeight(err error) bool {
	var e interface{ FutureHeight() bool }
	return errors.As(err, &e) && e.FutureHeight()
}

func noMethod(err error) bool {
	var e interface{ NoMethod() bool }
	return errors.As(err, &e) && e.NoMethod()
}

// Config says what a [Keeper] reads and how often. Zero values take the
// defaults given with each field.
type Config struct {
	// Source is asked for everything. Required.
	Source Source
	// Keys is shared between keepers; nil makes an own cache.
	Keys *KeyCache

	// Poll is how often the proposed height is asked for. Default 200 ms.
	Poll time.Duration
	// BalancePoll is how often the balances of L1 subnets in use are read. Default 2 s.
	BalancePoll time.Duration
	// InUse is how long after the last request a subnet counts as in use:
	// its balances are followed and its nodes wanted. Default 1 h.
	InUse time.Duration
	// MaxInUse bounds the subnets in use that are not tracked: their nodes are dialed, and
	// clients choose them. Beyond it the one that was not asked for longest is given up, but
	// none that was within RequestTimeout, how long a request lasts at most. Default 64 and 1 min.
	MaxInUse       int
	RequestTimeout time.Duration
	// MinBalance marks L1 validators below it as underfunded, in nAVAX; 2,048 is
	// four times what a validator pays for each second at the lowest fee. Default 2048.
	MinBalance uint64
	// MaxStale is how long the last known sets serve while the node does not
	// confirm them. Longer bridges longer outages, but risks messages that a
	// quorum of old validators signed. Default 5 min.
	MaxStale time.Duration
	// CallTimeout bounds one call to the source. Default 10 s.
	CallTimeout time.Duration
	// Heights bounds the sets at heights of the past that are kept, besides those
	// of epochs. Default 256.
	Heights int
	// MaxLookback is how many blocks below the proposed height a height may be:
	// the further back, the more work it is for the node. Zero: no limit.
	MaxLookback uint64
	// EpochPoll is how often the epochs of followed chains are asked for. Default 1 s.
	EpochPoll time.Duration

	// Tracked are subnets that always count as in use: their validators are
	// wanted from the start on. See also [Keeper.Track].
	Tracked []chain.ID
	// Allowed, if not empty, are the only subnets besides the primary network and
	// tracked ones whose sets are given. So no client can make us follow others.
	Allowed []chain.ID

	// OnChange, if not nil, is called with what [Keeper.Wanted] returns whenever that
	// changes, by one goroutine in order. It must not block and must not change the slice.
	OnChange func(wanted []chain.NodeID)

	// Logger takes the log; nil discards it.
	Logger *slog.Logger
	// Metrics takes the metrics; nil keeps them private.
	Metrics *metric.Set
}

func (c *Config) fill() error {
	if c.Source == nil {
		return errors.New("valset: Source is required")
	}
	c.Poll = cmp.Or(c.Poll, 200*time.Millisecond)
	c.BalancePoll = cmp.Or(c.BalancePoll, 2*time.Second)
	c.InUse = cmp.Or(c.InUse, time.Hour)
	c.MaxInUse = cmp.Or(c.MaxInUse, 64)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, time.Minute)
	c.MinBalance = cmp.Or(c.MinBalance, 2048)
	c.MaxStale = cmp.Or(c.MaxStale, 5*time.Minute)
	c.CallTimeout = cmp.Or(c.CallTimeout, 10*time.Second)
	c.EpochPoll = cmp.Or(c.EpochPoll, time.Second)
	c.Heights = cmp.Or(c.Heights, 256)
	if c.Poll < 0 || c.BalancePoll < 0 || c.InUse < 0 || c.MaxInUse < 0 || c.RequestTimeout < 0 || c.MaxStale < 0 || c.CallTimeout < 0 || c.EpochPoll < 0 || c.Heights < 0 {
		return errors.New("valset: times and bounds must not be negative")
	}
	if c.Keys == nil {
		c.Keys = NewKeyCache(0)
	}
	if c.OnChange == nil {
		c.OnChange = func([]chain.NodeID) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	return nil
}

// counters are the metrics of a keeper.
type counters struct {
	polls, pollErrors, loads, exact, balanceErrors, displaced, refused metric.Counter
}

func newCounters(k *Keeper) counters {
	set := k.cfg.Metrics
	set.GaugeFunc("quorate_valset_height", "P-Chain height of the validator sets in use.", func() float64 {
		if s := k.snap.Load(); s != nil {
			return float64(s.height)
		}
		return 0
	})
	set.GaugeFunc("quorate_valset_age_seconds", "Time since the node last confirmed the validator sets.", func() float64 {
		if !k.Ready() {
			return 0
		}
		return k.age(k.clock()).Seconds()
	})
	set.GaugeFunc("quorate_valset_epoch_heights", "P-Chain heights of running epochs whose validator sets are at hand.", func() float64 { return float64(len(k.EpochHeights())) })
	counter := func(name, help string) metric.Counter { return set.Counter("quorate_valset_"+name+"_total", help) }
	return counters{
		polls: counter("polls", "Polls of the P-Chain height."), pollErrors: counter("poll_errors", "Polls of the P-Chain that failed."), loads: counter("loads", "Loads of all validator sets."),
		exact: counter("exact_fetches", "Validator sets fetched at a named height."), balanceErrors: counter("balance_errors", "Polls of the balances of validators that failed."),
		displaced: counter("subnets_displaced", "Subnets that were followed no longer as clients asked for others."),
		refused:   counter("subnets_refused", "Requests for a subnet while requests were under way for as many others as are followed."),
	}
}
