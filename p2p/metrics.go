package p2p

import (
	"fmt"

	"github.com/VictoriaMetrics/metrics"
)

// dialFailure says how far an attempt to connect came.
type dialFailure uint8

const (
	failTCP       dialFailure = iota // no TCP connection
	failBare                         // closed before a byte of TLS: the remote limits new links
	failTLS                          // TLS failed
	failWrongNode                    // another node answers at the address
	failHandshake                    // the link ended before the remote's valid Handshake
	failKinds
)

func (k dialFailure) String() string {
	return [failKinds]string{"tcp", "bare_close", "tls", "wrong_node", "handshake"}[k]
}

// instruments are the counters of one network.
type instruments struct {
	bytesIn, bytesOut *metrics.Counter
	dials             *metrics.Counter
	dialFailures      [failKinds]*metrics.Counter
	disconnects       *metrics.Counter
	requests          *metrics.Counter // opened
	asked             *metrics.Counter // frames queued to peers
	busy              *metrics.Counter // refused with ErrBusy
	answers           *metrics.Counter // delivered or dropped because the request was closed
	refusals          *metrics.Counter // of answers: AppErrors
	expired           *metrics.Counter // questions without an answer in time
	unexpected        *metrics.Counter // answers nobody waits for from that peer
	malformed         *metrics.Counter // frames that do not parse
	violations        [violations]*metrics.Counter
	dropped           *metrics.Counter // links ended for what the peer sent
	claims            *metrics.Counter // signed addresses taken into the book
	badClaims         *metrics.Counter // signed addresses refused
	discoverFailures  *metrics.Counter
}

func newInstruments(set *metrics.Set, n *Network) *instruments {
	counter := func(name string) *metrics.Counter {
		return set.GetOrCreateCounter("quorate_p2p_" + name)
	}
	m := &instruments{
		bytesIn:          counter("received_bytes_total"),
		bytesOut:         counter("sent_bytes_total"),
		dials:            counter("dials_total"),
		disconnects:      counter("disconnects_total"),
		requests:         counter("requests_total"),
		asked:            counter("questions_total"),
		busy:             counter("questions_refused_busy_total"),
		answers:          counter("answers_total"),
		refusals:         counter("answers_refusing_total"),
		expired:          counter("questions_expired_total"),
		unexpected:       counter("answers_unexpected_total"),
		malformed:        counter("messages_malformed_total"),
		dropped:          counter("peers_dropped_total"),
		claims:           counter("claims_accepted_total"),
		badClaims:        counter("claims_refused_total"),
		discoverFailures: counter("discover_failures_total"),
	}
	for k := range failKinds {
		m.dialFailures[k] = counter(fmt.Sprintf(`dial_failures_total{kind=%q}`, k))
	}
	for v := range violations {
		m.violations[v] = counter(fmt.Sprintf(`violations_total{kind=%q}`, v))
	}
	gauge := func(name string, value func(Stats) int) {
		set.GetOrCreateGauge("quorate_p2p_"+name, func() float64 { return float64(value(n.Stats())) })
	}
	gauge("peers_wanted", func(s Stats) int { return s.Wanted })
	gauge("peers_connected", func(s Stats) int { return s.Connected })
	gauge("peers_ready", func(s Stats) int { return s.Ready })
	gauge("requests_open", func(s Stats) int { return s.OpenRequests })
	return m
}
