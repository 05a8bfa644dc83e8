package p2p

import "quorate/engine/metric"

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
	bytesIn, bytesOut metric.Counter
	dials             metric.Counter
	dialFailures      [failKinds]metric.Counter
	disconnects       metric.Counter
	requests          metric.Counter // opened
	asked             metric.Counter // frames queued to peers
	busy              metric.Counter // refused with ErrBusy
	answers           metric.Counter // delivered or dropped because the request was closed
	refusals          metric.Counter // of answers: AppErrors
	expired           metric.Counter // questions without an answer in time
	unexpected        metric.Counter // answers nobody waits for from that peer
	malformed         metric.Counter // frames that do not parse
	violations        [violations]metric.Counter
	dropped           metric.Counter // links ended for what the peer sent
	claims            metric.Counter // signed addresses taken into the book
	badClaims         metric.Counter // signed addresses refused
	discoverFailures  metric.Counter
}

func newInstruments(set *metric.Set, n *Network) *instruments {
	counter := func(name, help string, labels ...string) metric.Counter {
		return set.Counter("quorate_p2p_"+name, help, labels...)
	}
	m := &instruments{
		bytesIn:          counter("received_bytes_total", "Bytes received from peers."),
		bytesOut:         counter("sent_bytes_total", "Bytes sent to peers."),
		dials:            counter("dials_total", "Attempts to connect to a validator."),
		disconnects:      counter("disconnects_total", "Links to validators that ended."),
		requests:         counter("requests_total", "Requests put to validators, each to several."),
		asked:            counter("questions_total", "Questions sent, one for each validator asked."),
		busy:             counter("questions_refused_busy_total", "Questions not sent because too many to that validator were open."),
		answers:          counter("answers_total", "Answers of validators."),
		refusals:         counter("answers_refusing_total", "Answers of validators that refuse."),
		expired:          counter("questions_expired_total", "Questions without an answer in time."),
		unexpected:       counter("answers_unexpected_total", "Answers to no open question."),
		malformed:        counter("messages_malformed_total", "Messages that could not be parsed."),
		dropped:          counter("peers_dropped_total", "Links ended for what the peer sent."),
		claims:           counter("claims_accepted_total", "Signed addresses of validators taken over from peers."),
		badClaims:        counter("claims_refused_total", "Signed addresses of validators refused."),
		discoverFailures: counter("discover_failures_total", "Failures to ask the node for addresses of validators."),
	}
	for k := range failKinds {
		m.dialFailures[k] = counter("dial_failures_total", "Attempts to connect that failed, by how far they came.", "kind", k.String())
	}
	for v := range violations {
		m.violations[v] = counter("violations_total", "Breaches of the protocol by peers.", "kind", v.String())
	}
	gauge := func(name, help string, value func(Stats) int) {
		set.GaugeFunc("quorate_p2p_"+name, help, func() float64 { return float64(value(n.Stats())) })
	}
	gauge("peers_wanted", "Validators to be connected to.", func(s Stats) int { return s.Wanted })
	gauge("peers_connected", "Validators connected.", func(s Stats) int { return s.Connected })
	gauge("peers_ready", "Validators connected and past the handshake.", func(s Stats) int { return s.Ready })
	gauge("peers_turned_away", "Validators that close our links right after TLS again and again: many of them mean that another server uses our certificate.", func(s Stats) int { return s.TurnedAway })
	gauge("peers_on_request", "Validators that have a link only for the time of a request, as they take this server for a validator.", func(s Stats) int { return s.OnRequest })
	gauge("requests_open", "Requests that wait for answers.", func(s Stats) int { return s.OpenRequests })
	n.perPeer(set)
	return m
}

// maxPeerSeries bounds the validators that have metrics of their own.
const maxPeerSeries = 4096

// perPeer adds the metrics of single validators: of those that were ever asked,
// or that broke the protocol, as a network may have thousands.
func (n *Network) perPeer(set *metric.Set) {
	met := func(yield func(id string, p *Peer)) {
		left := maxPeerSeries
		for p := range n.Peers() {
			if left == 0 {
				return
			}
			if p.Asked > 0 || p.Violations > 0 {
				left--
				yield(p.NodeID.String(), &p)
			}
		}
	}
	set.Gauges("quorate_p2p_peer_latency_seconds", "Percentiles of the times that a validator's last answers took, about a thousand.",
		[]string{"node_id", "percentile"}, func(emit func(float64, ...string)) {
			met(func(id string, p *Peer) {
				if p.Answered > 0 {
					emit(p.P50.Seconds(), id, "50")
					emit(p.P99.Seconds(), id, "99")
				}
			})
		})
	set.Counters("quorate_p2p_peer_questions_total", "Questions to a validator by what became of them: answered, refused, or silent when no answer came in time.",
		[]string{"node_id", "outcome"}, func(emit func(float64, ...string)) {
			met(func(id string, p *Peer) {
				emit(float64(p.Answered-p.Refused), id, "answered")
				emit(float64(p.Refused), id, "refused")
				emit(float64(p.Expired), id, "silent")
			})
		})
	set.Counters("quorate_p2p_peer_violations_total", "Breaches of the protocol by a validator.",
		[]string{"node_id"}, func(emit func(float64, ...string)) {
			met(func(id string, p *Peer) {
				if p.Violations > 0 {
					emit(float64(p.Violations), id)
				}
			})
		})
}
