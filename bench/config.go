package bench

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// ErrConfig is wrapped by errors about a [Config]: nothing was sent.
var ErrConfig = errors.New("invalid benchmark")

// Style names a form of the request.
type Style string

const (
	// Camel is POST /v1/signatureAggregator/{network}/aggregateSignatures.
	Camel Style = "camel"
	// Kebab is POST /aggregate-signatures, as the relayer's own aggregator has it.
	Kebab Style = "kebab"
)

// Bounds of a run: it is a tool to measure with, not to flood with.
const (
	MaxConcurrency = 4096
	MaxRate        = 1_000_000
	MaxDuration    = time.Hour
	// MaxRequests bounds the requests of one run.
	MaxRequests = 20_000_000
)

// Load says whom to ask, and how fast. Zero values take the defaults given with
// each field.
type Load struct {
	// URL is the server. http only: it is a tool for loopback.
	URL string
	// AllowRemote allows servers that are not on a loopback address. Load on
	// somebody else's server is an attack: be sure that it is yours.
	AllowRemote bool
	// Concurrency bounds the requests in flight; each has a connection. Default 16.
	Concurrency int
	// Rate is the number of requests that are due each second. 0, the default, is
	// the closed loop.
	Rate float64
	// Duration is the length of the run, both servers together if there are two.
	// Default 10 s.
	Duration time.Duration
	// Slice is how long each server is loaded at a time when there are two.
	// Default 1 s, or less so that there are 3 pairs at least.
	Slice time.Duration
	// Timeout bounds each request. Default 15 s.
	Timeout time.Duration
	// PID is the process of the server, if it runs on this machine: its CPU time
	// and memory are then measured. 0: they are not.
	PID int
	// Progress, if not nil, is told how far the run is several times a second,
	// from one goroutine at a time.
	Progress func(Progress)
}

// Progress is a point in a run.
type Progress struct {
	Elapsed, Total time.Duration
	OK, Failed     int64
}

// minPairs is how many pairs of slices a comparison has at least.
const minPairs = 3

// fill fills in defaults and checks the rest. compared tells that there are two servers.
func (l *Load) fill(compared bool) error {
	l.Concurrency = cmp.Or(l.Concurrency, 16)
	l.Duration = cmp.Or(l.Duration, 10*time.Second)
	l.Timeout = cmp.Or(l.Timeout, 15*time.Second)
	l.Slice = cmp.Or(l.Slice, min(time.Second, l.Duration/(2*minPairs)))
	switch {
	case l.Concurrency < 1 || l.Concurrency > MaxConcurrency:
		return fmt.Errorf("%w: --concurrency %d, want 1 to %d", ErrConfig, l.Concurrency, MaxConcurrency)
	case !(l.Rate >= 0 && l.Rate <= MaxRate):
		return fmt.Errorf("%w: --rate %v, want 0 (as fast as answers come) to %d a second", ErrConfig, l.Rate, MaxRate)
	case l.Duration < 10*time.Millisecond || l.Duration > MaxDuration:
		return fmt.Errorf("%w: --duration %s, want 10ms to %s", ErrConfig, l.Duration, MaxDuration)
	case l.Timeout < time.Millisecond || l.Timeout > 5*time.Minute:
		return fmt.Errorf("%w: --timeout %s, want 1ms to 5m", ErrConfig, l.Timeout)
	case compared && (l.Slice < time.Millisecond || l.Slice > l.Duration/(2*minPairs)):
		return fmt.Errorf("%w: --slice %s in --duration %s, want at least %d pairs", ErrConfig, l.Slice, l.Duration, minPairs)
	case l.PID < 0:
		return fmt.Errorf("%w: a process number is positive", ErrConfig)
	case math.Ceil(l.Rate*l.Duration.Seconds()) > MaxRequests:
		return fmt.Errorf("%w: %.0f requests, at most %d", ErrConfig, l.Rate*l.Duration.Seconds(), MaxRequests)
	}
	return nil
}

// Config says which messages to have signed. Zero values take the defaults
// given with each field.
type Config struct {
	Load
	// Vs, if not empty, is a second server to compare the first with: the two are
	// then loaded in turns. VsPID is its process.
	Vs    string
	VsPID int
	// Style is the form of the requests. Default [Camel].
	Style Style
	// Network is part of the path with Camel. Default "fuji".
	Network string
	// Messages are unsigned warp messages in hex. Each is asked for once, and the
	// run ends early when none is left, unless Repeat. Required.
	Messages []string
	// Repeat asks for the same messages again and again, after one round that is
	// not measured: a server that keeps its results answers from memory.
	Repeat bool
	// Quorum and Buffer go into each request, in percent. Defaults 67 and 0.
	Quorum, Buffer int
}

func (c *Config) fill() error {
	c.Style = cmp.Or(c.Style, Camel)
	c.Network = cmp.Or(c.Network, "fuji")
	c.Quorum = cmp.Or(c.Quorum, 67)
	switch {
	case c.Style != Camel && c.Style != Kebab:
		return fmt.Errorf("%w: --style %q, want %q or %q", ErrConfig, c.Style, Camel, Kebab)
	case len(c.Messages) == 0:
		return fmt.Errorf("%w: no messages", ErrConfig)
	case c.Quorum < 0 || c.Buffer < 0 || c.Quorum+c.Buffer > 100:
		return fmt.Errorf("%w: --quorum %d%% and --buffer %d%%, each must be 0 to 100, and together at most 100", ErrConfig, c.Quorum, c.Buffer)
	case c.VsPID != 0 && c.Vs == "":
		return fmt.Errorf("%w: a second process but no second server", ErrConfig)
	case c.VsPID < 0:
		return fmt.Errorf("%w: a process number is positive", ErrConfig)
	}
	if err := c.Load.fill(c.Vs != ""); err != nil {
		return err
	}
	var err error
	c.Messages, err = checkMessages(c.Messages)
	return err
}

// checkMessages returns the messages in the form that answers begin with.
func checkMessages(messages []string) ([]string, error) {
	list := make([]string, len(messages))
	for i, m := range messages {
		m = strings.ToLower(strings.TrimPrefix(m, "0x"))
		if b, err := hex.DecodeString(m); err != nil || len(b) == 0 {
			return nil, fmt.Errorf("%w: message %d is not hex", ErrConfig, i)
		}
		list[i] = m
	}
	return list, nil
}
