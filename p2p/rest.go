package p2p

import "errors"

// A node that runs without sybil protection takes every peer for a validator: it polls us
// about each block, and accepts none while our votes are missing. We have no blocks to vote
// about, and a vote for whatever is asked would help each of several such nodes to a block of
// its own. So a node that polls us has a link only while somebody waits for its answers: to
// it, we are no validator when there is none. On mainnet and fuji no node runs so, and a poll
// is one more message that we did not ask for.

// errResting ends the link to a node that polls us and that nobody asks anything.
var errResting = errors.New("the node polls us, and no request needs it")

// polled notes that the node asks us for a vote.
func (p *peer) polled() {
	if p.net.cfg.public() {
		return
	}
	if !p.polls.Swap(true) {
		p.net.cfg.Logger.Warn("a node takes this server for a validator, as nodes with --sybil-protection-enabled=false do: the link to it is open only for the time of a request, or its chains would wait for votes",
			"node", p.id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest()
}

// rest needs mu. It ends the link of a node that polls us if nobody waits for its answers;
// whoever asks it next has it dialed.
func (p *peer) rest() {
	l := p.link
	if l == nil || !p.polls.Load() || p.state.Load() != stateReady || p.questions.waiting() > 0 {
		return
	}
	p.link = nil
	p.questions.clear() // only those that nobody waits for
	p.state.Store(stateResting)
	l.fail(errResting)
}

// idle reports whether the node polls us and nobody asks it anything.
func (p *peer) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.Load() == stateResting && p.questions.waiting() == 0
}

// sendWaiting needs mu. It puts questions that came while the node rested into the mailbox
// of its new link.
func (p *peer) sendWaiting(l *link) {
	t := &p.questions
	t.unread.restart(len(t.asked))
	for _, q := range t.asked {
		if !q.req.gate.enter() {
			continue
		}
		if l.out.TrySend(q.req.frame) != nil {
			l.fail(errOverrun) // there are no more than the window
		}
		q.req.gate.leave()
	}
}
