package bench

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/url"
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

// Config says what to ask of whom, and how fast. Zero values take the defaults
// given with each field.
type Config struct {
	// URL is the server. Vs, if not empty, is a second one to compare it with:
	// the two are then loaded in turns. http only: it is a tool for loopback.
	URL, Vs string
	// AllowRemote allows servers that are not on a loopback address. Load on
	// somebody else's server is an attack: be sure that it is yours.
	AllowRemote bool
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
	// Concurrency bounds the requests in flight; each has a connection. Default 16.
	Concurrency int
	// Rate is the number of requests that are due each second. 0, the default, is
	// the closed loop.
	Rate float64
	// Duration is the length of the run, both servers together. Default 10 s.
	Duration time.Duration
	// Slice is how long each server is loaded at a time when there are two.
	// Default 1 s, or less so that there are 3 pairs at least.
	Slice time.Duration
	// Timeout bounds each request. Default 15 s.
	Timeout time.Duration
	// PID and VsPID are the processes of the servers, if they run on this
	// machine: their CPU time and memory are then measured. 0: they are not.
	PID, VsPID int
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

func (c *Config) fill() error {
	c.Style = cmp.Or(c.Style, Camel)
	c.Network = cmp.Or(c.Network, "fuji")
	c.Quorum = cmp.Or(c.Quorum, 67)
	c.Concurrency = cmp.Or(c.Concurrency, 16)
	c.Duration = cmp.Or(c.Duration, 10*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 15*time.Second)
	c.Slice = cmp.Or(c.Slice, min(time.Second, c.Duration/(2*minPairs)))
	switch {
	case c.Style != Camel && c.Style != Kebab:
		return fmt.Errorf("%w: style %q, want %q or %q", ErrConfig, c.Style, Camel, Kebab)
	case len(c.Messages) == 0:
		return fmt.Errorf("%w: no messages", ErrConfig)
	case c.Quorum < 0 || c.Buffer < 0 || c.Quorum+c.Buffer > 100:
		return fmt.Errorf("%w: quorum %d%% and buffer %d%%, each must be 0 to 100, and together at most 100", ErrConfig, c.Quorum, c.Buffer)
	case c.Concurrency < 1 || c.Concurrency > MaxConcurrency:
		return fmt.Errorf("%w: concurrency %d, want 1 to %d", ErrConfig, c.Concurrency, MaxConcurrency)
	case !(c.Rate >= 0 && c.Rate <= MaxRate):
		return fmt.Errorf("%w: rate %v, want 0 (as fast as answers come) to %d a second", ErrConfig, c.Rate, MaxRate)
	case c.Duration < 10*time.Millisecond || c.Duration > MaxDuration:
		return fmt.Errorf("%w: duration %s, want 10ms to %s", ErrConfig, c.Duration, MaxDuration)
	case c.Timeout < time.Millisecond || c.Timeout > 5*time.Minute:
		return fmt.Errorf("%w: timeout %s, want 1ms to 5m", ErrConfig, c.Timeout)
	case c.Vs != "" && (c.Slice < time.Millisecond || c.Slice > c.Duration/(2*minPairs)):
		return fmt.Errorf("%w: slices of %s in %s, want at least %d pairs", ErrConfig, c.Slice, c.Duration, minPairs)
	case c.VsPID != 0 && c.Vs == "":
		return fmt.Errorf("%w: a second process but no second server", ErrConfig)
	case c.PID < 0 || c.VsPID < 0:
		return fmt.Errorf("%w: a process number is positive", ErrConfig)
	case math.Ceil(c.Rate*c.Duration.Seconds()) > MaxRequests:
		return fmt.Errorf("%w: %.0f requests, at most %d", ErrConfig, c.Rate*c.Duration.Seconds(), MaxRequests)
	}
	return c.checkMessages()
}

func (c *Config) checkMessages() error {
	list := make([]string, len(c.Messages))
	for i, m := range c.Messages {
		m = strings.ToLower(strings.TrimPrefix(m, "0x"))
		if b, err := hex.DecodeString(m); err != nil || len(b) == 0 {
			return fmt.Errorf("%w: message %d is not hex", ErrConfig, i)
		}
		list[i] = m
	}
	c.Messages = list
	return nil
}

// path gives the path of the requests on a server.
func (c *Config) path() string {
	if c.Style == Kebab {
		return "/aggregate-signatures"
	}
	return "/v1/signatureAggregator/" + url.PathEscape(c.Network) + "/aggregateSignatures"
}

// appendBody appends the request for a message in hex.
func (c *Config) appendBody(dst []byte, message string) []byte {
	format := `{"message":"%s","quorumPercentage":%d,"quorumPercentageBuffer":%d}`
	if c.Style == Kebab {
		format = `{"message":"%s","quorum-percentage":%d,"quorum-percentage-buffer":%d}`
	}
	return fmt.Appendf(dst, format, message, c.Quorum, c.Buffer)
}
