package ingest

import (
	"time"

	"quorate/engine/chain"
)

// Status is how a chain is followed.
type Status struct {
	// Started reports whether there is any committed block; Head is the last one.
	// Its time is zero if none was committed since the start.
	Started bool
	chain.Head
	// Tip is the node's last block when it was asked last; Target the highest that
	// is known of, by hints too.
	Tip    chain.Head
	Target uint64
	// Left is the time until the target at the present rate; 0 if it is not known.
	Left time.Duration
	// Waiting blocks are fetched and not committed; the oldest for WaitingFor.
	Waiting    int
	WaitingFor time.Duration
	// Progress is when a block was committed last, or when it turned out that there
	// is none to commit. The zero time: never.
	Progress time.Time
	// Incomplete counts the blocks that were committed as they were, since no node
	// has ever completed any.
	Incomplete uint64
	// Missing counts the gaps, Unable those of them that were committed while no block
	// could be completed; Gaps are the lowest.
	Missing int
	Unable  int
	Gaps    []Gap
	// Unreadable is the block before which the chain stands; nil: none.
	Unreadable *UnreadableError
	// Err is what is wrong now, nil if all is well; since when, and how many
	// failures in a row.
	Err      error
	Since    time.Time
	Failures int
}

// Behind returns how many known blocks are not committed.
func (s *Status) Behind() uint64 {
	switch {
	case !s.Started:
		return s.Target + 1
	case s.Target > s.Height:
		return s.Target - s.Height
	}
	return 0
}

// maxBehind is how many blocks a chain may lack without being called behind: more than
// arrive while a group of blocks is committed.
const maxBehind = 64

// Syncing reports whether so much is not committed that what is shows the past, or
// nothing.
func (s *Status) Syncing() bool {
	return !s.Started || s.Behind() > maxBehind || s.Unreadable != nil
}

// Target returns the highest height that is known of.
func (i *Ingest[B]) Target() uint64 { return i.target.Load() }

// maxListed bounds the gaps in a status.
const maxListed = 100

// Status reports how the chain is followed.
func (i *Ingest[B]) Status() Status {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.state
	s.Target = max(i.target.Load(), s.Tip.Height)
	var oldest time.Time
	for _, sp := range i.inflight {
		if sp.left > 0 {
			s.Waiting += sp.left
			if oldest.IsZero() || sp.fetched.Before(oldest) {
				oldest = sp.fetched
			}
		}
	}
	if !oldest.IsZero() {
		s.WaitingFor = time.Since(oldest)
	}
	if i.cfg.Repairs != nil {
		s.Missing, s.Unable, s.Gaps = i.cfg.Repairs.list(maxListed)
	}
	return s
}

// warnAfter is how many failures in a row are worth a line in the log: a single
// one is often mended in a moment.
const warnAfter = 3

// failed records a failure; what failed is tried again.
func (i *Ingest[B]) failed(err error) {
	i.retries.Inc()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.state.Err == nil {
		i.state.Since = time.Now()
	}
	i.state.Err = err
	i.state.Failures++
	switch u := unreadable(err); {
	case i.state.Failures < warnAfter:
	case u != nil: // and no other node has had another block meanwhile
		i.stands(u)
		return
	case !i.warned:
		i.warned = true
		i.log.Warn("the chain is not followed for now", "err", err)
		return
	}
	i.log.Debug("the chain is not followed for now", "err", err, "failures", i.state.Failures)
}

// well records that nothing is wrong, and needs mu.
func (i *Ingest[B]) well() {
	s := &i.state
	if u := s.Unreadable; u != nil && s.Height >= u.Height {
		s.Unreadable, i.warned = nil, true
	}
	if i.warned {
		i.log.Info("the chain is followed again", "after", time.Since(s.Since).Round(time.Millisecond))
	}
	s.Err, s.Since, s.Failures, i.warned = nil, time.Time{}, 0, false
	s.Progress = time.Now()
}

// Progress is how far a chain is.
type Progress struct {
	Chain          string
	Height, Target uint64
	// BlocksPerSecond and TxsPerSecond are means over the last 10 s or so.
	BlocksPerSecond, TxsPerSecond float64
	// Left is the time until the target at this rate; 0 if it is not known.
	Left time.Duration
}

// Share returns how much is done, 0 to 1.
func (p Progress) Share() float64 {
	if p.Target == 0 {
		return 1
	}
	return float64(p.Height) / float64(p.Target)
}

const (
	// tellEvery is the least time between two calls of OnProgress, lineEvery
	// between two lines in the log.
	tellEvery = 200 * time.Millisecond
	lineEvery = 5 * time.Second
	// lineBehind is how far behind it must be to be worth a line.
	lineBehind = 100
	// meanOver is the time over which rates are means.
	meanOver = 10 * time.Second
)

// meter measures rates.
type meter struct {
	at, told, line time.Time
	blocks, txs    int     // since at
	blockRate      float64 // per second
	txRate         float64
}

// committed records a commit, and reports progress.
func (i *Ingest[B]) committed(links []chain.Link) {
	txs := 0
	for k := range links {
		txs += links[k].Txs
	}
	i.blocks.Add(float64(len(links)))
	i.txs.Add(float64(txs))
	last := links[len(links)-1].Head

	i.mu.Lock()
	i.state.Started, i.state.Head = true, last
	i.well()
	for left := len(links); left > 0 && len(i.inflight) > 0; {
		sp := i.inflight[0]
		n := min(left, sp.left)
		sp.left -= n
		left -= n
		if sp.left > 0 || last.Height < sp.to {
			break
		}
		i.inflight = i.inflight[1:]
	}
	m := &i.meter
	m.blocks += len(links)
	m.txs += txs
	now := time.Now()
	tell, line := m.step(now)
	p := Progress{
		Chain: i.cfg.Name, Height: last.Height, Target: max(i.target.Load(), last.Height),
		BlocksPerSecond: m.blockRate, TxsPerSecond: m.txRate,
	}
	if p.BlocksPerSecond > 0 {
		p.Left = time.Duration(float64(p.Target-p.Height) / p.BlocksPerSecond * float64(time.Second)).Round(time.Second)
	}
	i.state.Left = p.Left
	i.mu.Unlock()
	atHead := p.Height == p.Target
	if i.cfg.OnProgress != nil && (tell || atHead) {
		i.cfg.OnProgress(p)
	}
	if line && p.Target-p.Height >= lineBehind {
		i.log.Info("catching up", "height", p.Height, "of", p.Target, "percent", int(100*p.Share()),
			"blocks/s", int(p.BlocksPerSecond), "txs/s", int(p.TxsPerSecond), "left", p.Left)
	}
}

// step updates the rates, and reports whether it is time to tell them.
func (m *meter) step(now time.Time) (tell, line bool) {
	if m.at.IsZero() {
		m.at, m.line, m.blocks, m.txs = now, now, 0, 0
	}
	if tell = now.Sub(m.told) >= tellEvery; !tell {
		return false, false
	}
	m.told = now
	if dt := now.Sub(m.at).Seconds(); dt > 0 {
		w := min(1, dt/meanOver.Seconds())
		if m.blockRate == 0 {
			w = 1
		}
		m.blockRate += w * (float64(m.blocks)/dt - m.blockRate)
		m.txRate += w * (float64(m.txs)/dt - m.txRate)
		m.at, m.blocks, m.txs = now, 0, 0
	}
	if line = now.Sub(m.line) >= lineEvery; line {
		m.line = now
	}
	return tell, line
}

// Held returns the bytes of the blocks that are fetched and not committed.
func (i *Ingest[B]) Held() int64 { return i.held.Load() }
