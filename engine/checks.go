package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"quorate/engine/health"
	"quorate/p2p"
)

// When the checks of what all chains share turn red.
const (
	silence     = time.Minute     // without a message in either direction
	maxFailRate = 0.9             // of sends
	maxAnswer   = 5 * time.Minute // of the oldest question
)

type (
	networkMessage struct {
		Peers        int     `json:"connectedPeers"`
		SendFailRate float64 `json:"sendFailRate"`
		// OnRequest counts peers that have a link only for the time of a request, for which
		// Note has the reason.
		OnRequest int    `json:"peersOnRequest,omitempty"`
		Note      string `json:"note,omitempty"`
		// Empty until a first message, and while all peers are such.
		Received string `json:"timeSinceLastMsgReceived,omitempty"`
		Sent     string `json:"timeSinceLastMsgSent,omitempty"`
	}
	routerMessage struct {
		Longest     string `json:"longestRunningRequest"`
		Outstanding int    `json:"outstandingRequests"`
	}
)

// onRequest is why peers have links only for the time of a request.
const onRequest = "nodes that take every peer for a validator (--sybil-protection-enabled=false) would wait for this server's votes: links to them are open only for the time of a request"

// registerChecks registers what does not depend on a chain.
func (e *Engine) registerChecks() error {
	var nfts error
	if e.cfg.Metadata.On && !e.cfg.NoIndex {
		nfts = e.checker.Register(health.Check{Name: "nft-metadata", Run: e.metadata.check})
	}
	var peers error
	if !e.cfg.nodeless() { // who has no node has no peers
		peers = errors.Join(
			e.checker.Register(health.Check{Name: "network", Run: e.networks.checkNetwork}),
			e.checker.Register(health.Check{Name: "router", Run: e.networks.checkRouter}),
		)
	}
	if e.facts != nil {
		peers = errors.Join(peers, e.checker.Register(e.facts.Check()))
	}
	return errors.Join(
		nfts, peers,
		e.checker.Register(health.Check{Name: "bootstrapped", Readiness: true, Run: e.networks.checkBootstrapped}),
		e.checker.Register(health.Check{Name: "database", Run: e.disk.checkDatabase}),
		e.checker.Register(health.Check{Name: "diskspace", Run: e.disk.checkSpace}),
	)
}

var (
	errStarting = errors.New("starting: the followed nodes have not all answered yet")
	errClosed   = errors.New("the database is not open")
)

func (n *Networks) checkBootstrapped(ctx context.Context) (any, error) {
	waiting := []string{}
	all := n.All()
	if len(all) == 0 {
		return waiting, errStarting
	}
	var errs []error
	for _, one := range all {
		further, err := one.CheckBootstrapped(ctx)
		errs = append(errs, err)
		for _, s := range further {
			if !slices.Contains(waiting, s) {
				waiting = append(waiting, s)
			}
		}
	}
	if len(waiting) > 0 {
		errs = append(errs, errors.New("subnets not bootstrapped"))
	}
	return waiting, errors.Join(errs...)
}

// activity adds up all networks: the worst of each figure.
func (n *Networks) activity() (p2p.Activity, error) {
	var all p2p.Activity
	nets := n.All()
	if len(nets) == 0 {
		return all, errStarting
	}
	first := true
	for _, one := range nets {
		a := one.Activity()
		all.Ready += a.Ready
		all.OnRequest += a.OnRequest
		all.Outstanding += a.Outstanding
		all.Longest = max(all.Longest, a.Longest)
		all.SendFailRate = max(all.SendFailRate, a.SendFailRate)
		switch {
		case a.Quiet(): // to hear nothing is no trouble there
		case first:
			all.LastReceived, all.LastSent, first = a.LastReceived, a.LastSent, false
		default:
			all.LastReceived = earlier(all.LastReceived, a.LastReceived)
			all.LastSent = earlier(all.LastSent, a.LastSent)
		}
	}
	return all, nil
}

// earlier returns the earlier of two times; never is the earliest.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (n *Networks) checkNetwork(context.Context) (any, error) {
	a, err := n.activity()
	msg := networkMessage{Peers: a.Ready, SendFailRate: a.SendFailRate}
	if err != nil {
		return msg, err
	}
	if msg.OnRequest = a.OnRequest; a.OnRequest > 0 {
		msg.Note = onRequest
	}
	var reasons []error
	for _, one := range n.All() {
		if err := one.CheckVersions(); err != nil {
			reasons = append(reasons, err)
		}
	}
	if a.Ready < 1 {
		reasons = append(reasons, fmt.Errorf("not connected to a minimum of 1 peer(s) only %d", a.Ready))
	}
	for _, d := range []struct {
		last time.Time
		text *string
		what string
	}{{a.LastReceived, &msg.Received, "received"}, {a.LastSent, &msg.Sent, "sent"}} {
		if a.Quiet() {
			break
		}
		if d.last.IsZero() {
			reasons = append(reasons, fmt.Errorf("no message %s yet", d.what))
			continue
		}
		since := max(time.Since(d.last), 0)
		*d.text = since.String()
		if since > silence {
			reasons = append(reasons, fmt.Errorf("no messages %s for %s, more than %s", d.what, since.Round(time.Millisecond), silence))
		}
	}
	if a.SendFailRate > maxFailRate {
		reasons = append(reasons, fmt.Errorf("%.2f of the messages could not be sent, more than %.2f", a.SendFailRate, maxFailRate))
	}
	if len(reasons) > 0 {
		return msg, fmt.Errorf("network layer is unhealthy reason: %w", joined(reasons))
	}
	return msg, nil
}

// joined writes errors on one line.
func joined(errs []error) error {
	err := errs[0]
	for _, e := range errs[1:] {
		err = fmt.Errorf("%w, %w", err, e)
	}
	return err
}

func (n *Networks) checkRouter(context.Context) (any, error) {
	a, err := n.activity()
	msg := routerMessage{Longest: a.Longest.String(), Outstanding: a.Outstanding}
	if err == nil && a.Longest > maxAnswer {
		err = fmt.Errorf("a request has waited for %s, more than %s", a.Longest.Round(time.Millisecond), maxAnswer)
	}
	return msg, err
}
