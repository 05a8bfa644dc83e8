package aggregator

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/metric"
)

// Config says what an [Aggregator] works with and within which bounds. Zero
// values take the defaults given with each field.
type Config struct {
	// NetworkID is the only network whose messages are taken. Required.
	NetworkID uint32
	// Sets knows the validators. Required.
	Sets Sets
	// Peers reaches the validators. Required.
	Peers Peers
	// History knows which blocks the followed nodes have executed; without it
	// (nil) no refusal by an EVM chain's validators is ever final.
	History History
	// Store keeps results over a restart; nil keeps them in memory alone.
	Store Store
	// Notes keeps what was learned about validators over a restart; nil forgets it.
	Notes Notes

	// LastKnown returns the last set that was known of a subnet, in an earlier run too. If
	// it is not nil, kept results are served while Sets knows nothing.
	LastKnown func(subnet chain.ID) (*valset.Set, bool)

	// Timing bounds the waits of one collection. Defaults: Window 250 ms,
	// AskTimeout 3 s, ConnectWait 2 s, Retries after 50, 150, 400 and 900 ms,
	// Settle 2 s, MarginPercent 10.
	Timing Timing
	// RequestTimeout ends a request that is not answered, at most 60 s. Default 8 s.
	RequestTimeout time.Duration
	// RetryBuffer is how long a result that has the quorum but not the buffer
	// serves requests for that buffer before it is tried for again. Default 30 s.
	RetryBuffer time.Duration
	// QuarantineBase is the first term of a key that sent an invalid signature;
	// it doubles with each relapse up to QuarantineMax. Defaults 10 min and 6 h.
	QuarantineBase, QuarantineMax time.Duration

	// MaxJobs bounds collections at once. Default 2048.
	MaxJobs int
	// MaxSignatures bounds the validators of all collections together, and so
	// their memory, about 400 bytes each, and the time until the last of them is
	// done: a core decodes about 40,000 signatures a second. Default 80,000 for
	// each worker, two seconds of work.
	MaxSignatures int
	// MaxCallers bounds requests that wait for one collection. Default 4096.
	MaxCallers int
	// KeptBytes and PartBytes bound the memory of results and of single
	// signatures. Defaults 128 MiB and 64 MiB.
	KeptBytes, PartBytes int
	// Workers verify signatures. Default: one for each core.
	Workers int

	// Logger takes the log; nil discards it.
	Logger *slog.Logger
	// Metrics takes the metrics; nil keeps them private.
	Metrics *metric.Set
}

func (c *Config) fill() error {
	if c.Sets == nil || c.Peers == nil {
		return errors.New("aggregator: Sets and Peers are required")
	}
	c.Timing.Window = cmp.Or(c.Timing.Window, 250*time.Millisecond)
	c.Timing.AskTimeout = cmp.Or(c.Timing.AskTimeout, 3*time.Second)
	c.Timing.ConnectWait = cmp.Or(c.Timing.ConnectWait, 2*time.Second)
	c.Timing.Settle = cmp.Or(c.Timing.Settle, 2*time.Second)
	c.Timing.MarginPercent = cmp.Or(c.Timing.MarginPercent, 10)
	if c.Timing.Retries == nil {
		c.Timing.Retries = []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond, 900 * time.Millisecond}
	}
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 8*time.Second)
	c.RetryBuffer = cmp.Or(c.RetryBuffer, 30*time.Second)
	c.QuarantineBase = cmp.Or(c.QuarantineBase, 10*time.Minute)
	c.QuarantineMax = cmp.Or(c.QuarantineMax, 6*time.Hour)
	c.MaxJobs = cmp.Or(c.MaxJobs, 2048)
	c.MaxCallers = cmp.Or(c.MaxCallers, 4096)
	c.KeptBytes = cmp.Or(c.KeptBytes, 128<<20)
	c.PartBytes = cmp.Or(c.PartBytes, 64<<20)
	c.Workers = cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
	c.MaxSignatures = cmp.Or(c.MaxSignatures, 80_000*c.Workers)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	switch {
	case c.RequestTimeout > time.Minute:
		return fmt.Errorf("aggregator: request timeout %v is above 60 s", c.RequestTimeout)
	case c.Timing.Window > c.RequestTimeout:
		return fmt.Errorf("aggregator: window %v is above the request timeout %v", c.Timing.Window, c.RequestTimeout)
	case len(c.Timing.Retries) > 100, c.Timing.MarginPercent < 0, c.Timing.MarginPercent > 100:
		return errors.New("aggregator: at most 100 retries and a margin of 0 to 100 percent")
	case c.MaxJobs < 1, c.MaxSignatures < 1, c.MaxCallers < 1, c.Workers < 1, c.KeptBytes < 1, c.PartBytes < 1:
		return errors.New("aggregator: bounds must be positive")
	}
	return nil
}

// counters are the aggregator's metrics.
type counters struct {
	set                                  *metric.Set
	kept, fresh, joined, loaded          metric.Counter
	reused, scouted                      metric.Counter
	signers, fewest, narrow              metric.Counter
	shedAnswers, overloaded, storeErrors metric.Counter
	duration                             metric.Histogram
	batches                              *batchCounters
}

// batchCounters tell how well final checks are batched.
type batchCounters struct{ checks, batches metric.Counter }

func (b *batchCounters) observe(n int) {
	b.batches.Inc()
	b.checks.Add(float64(n))
}

func newCounters(set *metric.Set) *counters {
	request := func(how string) metric.Counter {
		return set.Counter("quorate_aggregator_requests_total", "Requests for a signed message, by how they were answered.", "answer", how)
	}
	// From the start on, so that the first of them is a growth.
	for k := range kindNames {
		failures(set, k)
	}
	for _, fault := range []string{"signature", "encoding", "length", "subgroup", "infinity"} {
		faulty(set, fault)
	}
	return &counters{
		set:  set,
		kept: request("kept"), fresh: request("collected"), joined: request("joined"), loaded: request("loaded"),
		reused: request("reused"), scouted: set.Counter("quorate_aggregator_scouted_total", "Messages tried on a few validators before the others."),
		shedAnswers: set.Counter("quorate_aggregator_answers_shed_total", "Answers of validators dropped because too many were waiting."),
		overloaded:  request("overloaded"),
		storeErrors: set.Counter("quorate_aggregator_store_errors_total", "Results that could not be read or written."),
		duration:    set.Histogram("quorate_aggregator_collect_seconds", "Time to collect the signatures of a message."),
		signers:     set.Counter("quorate_aggregator_signers_total", "Signers in new signed messages."),
		fewest:      set.Counter("quorate_aggregator_fewest_signers_total", "The fewest signers that could have reached what was asked for in new signed messages, had every validator answered at once."),
		narrow:      set.Counter("quorate_aggregator_narrow_total", "New signed messages whose signers are not a quorum at the height of each epoch that is followed, where a destination may check them."),
		batches: &batchCounters{
			checks:  set.Counter("quorate_aggregator_checks_total", "Final checks of aggregated signatures."),
			batches: set.Counter("quorate_aggregator_check_batches_total", "Batches in which final checks were made."),
		},
	}
}

// given counts the signers of a new result; covers reports whether they are a quorum at
// each height where it may be checked.
func (c *counters) given(set *valset.Set, k *kept, covers bool) {
	all := make([]int32, len(set.Validators))
	for i := range all {
		all[i] = int32(i) // set sizes are bounded
	}
	least := min(k.result.Weight, need(k.result.Total, k.percent)) // less than the buffer may be all there is
	c.signers.Add(float64(k.signers.Count()))
	c.fewest.Add(float64(len(fewest(all, func(i int32) uint64 { return set.Validators[i].Weight }, aim{weight: least}, nil))))
	if !covers {
		c.narrow.Inc()
	}
}

func (c *counters) failure(k Kind) {
	failures(c.set, k).Inc()
}

func failures(set *metric.Set, k Kind) metric.Counter {
	return set.Counter("quorate_aggregator_failures_total", "Messages that could not be signed, by reason.", "kind", k.String())
}

// refusal counts by code; codes are the remote's, so unusual ones share a label.
func (c *counters) refusal(code int32) {
	label := "other"
	if code >= -4 && code <= 17 {
		label = fmt.Sprint(code)
	}
	c.set.Counter("quorate_aggregator_refusals_total", "Refusals of validators, by the code they gave.", "code", label).Inc()
}

func (c *counters) lie(kind string) {
	faulty(c.set, kind).Inc()
}

func faulty(set *metric.Set, fault string) metric.Counter {
	return set.Counter("quorate_aggregator_invalid_total", "Answers of validators that hold no valid signature, by fault.", "kind", fault)
}
