package ingest

import (
	"errors"
	"math/rand/v2"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/source"
	evmsource "quorate/engine/source/evm"
)

// Status is how a chain fares.
type Status struct {
	// Started reports whether there is any committed block; Height and Hash are those
	// of the last one.
	Started bool
	Height  uint64
	Hash    evm.Hash
	// BlockTime is the time that the last committed block states; zero if none was
	// committed since the start.
	BlockTime time.Time
	// Tip is the node's last block when it was asked last; Target the highest that
	// is known of, by hints too.
	Tip    evm.Head
	Target uint64
	// Waiting blocks are fetched and not committed; the oldest for WaitingFor.
	Waiting    int
	WaitingFor time.Duration
	// Progress is when a block was committed last, or when it turned out that there
	// is none to commit. The zero time: never.
	Progress time.Time
	// Untraced counts the blocks that were committed without their calls because
	// the node could not give them.
	Untraced uint64
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

// Target returns the highest height that is known of.
func (i *Ingest) Target() uint64 { return i.target.Load() }

// Status reports how the chain fares.
func (i *Ingest) Status() Status {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.state
	s.Target = max(i.target.Load(), s.Tip.Number)
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
	return s
}

// note records a failure that is being mended.
func (i *Ingest) note(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.noted(err)
}

// noted needs mu.
func (i *Ingest) noted(err error) {
	if i.state.Err == nil {
		i.state.Since = time.Now()
	}
	i.state.Err = err
}

// failed records the end of a round and gives the time to wait before the next.
func (i *Ingest) failed(err error) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	first := i.state.Failures == 0
	i.noted(err)
	i.state.Failures++
	i.inflight = nil
	if first {
		i.log.Warn("the chain is not followed for now", "err", err)
	} else {
		i.log.Debug("the chain is still not followed", "err", err, "failures", i.state.Failures)
	}
	return backoff(err, i.state.Failures-1)
}

// well records that nothing is wrong, and needs mu.
func (i *Ingest) well() {
	if i.state.Failures > 0 {
		i.log.Info("the chain is followed again", "after", time.Since(i.state.Since).Round(time.Millisecond))
	}
	i.state.Err, i.state.Since, i.state.Failures = nil, time.Time{}, 0
	i.state.Progress = time.Now()
}

// backoff gives the time to wait after failures in a row: short when the block
// will be there in a moment, longer the less likely it is that waiting helps.
func backoff(err error, failures int) time.Duration {
	first, most := 500*time.Millisecond, 30*time.Second
	switch {
	case errors.Is(err, evmsource.ErrNotFound), errors.Is(err, ErrBehind):
		first, most = 50*time.Millisecond, 2*time.Second
	case errors.Is(err, source.ErrUnreachable):
		first, most = 200*time.Millisecond, 15*time.Second
	}
	d := min(first<<min(failures, 10), most)
	return d - d/5 + rand.N(d/5) // so that chains do not come in step
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

// committed records a commit, and tells those who want to know.
func (i *Ingest) committed(blocks []*evm.Block) {
	txs := 0
	for _, b := range blocks {
		txs += len(b.Txs)
	}
	i.blocks.Add(float64(len(blocks)))
	i.txs.Add(float64(txs))
	last := blocks[len(blocks)-1]

	i.mu.Lock()
	i.well()
	i.state.Started, i.state.Height, i.state.Hash = true, last.Number, last.Hash
	i.state.BlockTime = time.UnixMilli(int64(last.TimeMilli)) // of a real clock
	for left := len(blocks); left > 0 && len(i.inflight) > 0; {
		sp := i.inflight[0]
		n := min(left, sp.left)
		sp.left -= n
		left -= n
		if sp.left == 0 {
			i.inflight = i.inflight[1:]
		}
	}
	m := &i.meter
	m.blocks += len(blocks)
	m.txs += txs
	now := time.Now()
	tell, line := m.step(now)
	p := Progress{
		Chain: i.cfg.Name, Height: last.Number, Target: max(i.target.Load(), last.Number),
		BlocksPerSecond: m.blockRate, TxsPerSecond: m.txRate,
	}
	i.mu.Unlock()

	if p.BlocksPerSecond > 0 {
		p.Left = time.Duration(float64(p.Target-p.Height) / p.BlocksPerSecond * float64(time.Second)).Round(time.Second)
	}
	atHead := p.Height == p.Target
	if i.cfg.OnProgress != nil && (tell || atHead) {
		i.cfg.OnProgress(p)
	}
	if line && p.Target-p.Height >= lineBehind {
		i.log.Info("catching up", "height", p.Height, "of", p.Target, "percent", int(100*p.Share()),
			"blocks/s", int(p.BlocksPerSecond), "txs/s", int(p.TxsPerSecond), "left", p.Left)
	}
}

// step updates the rates, and says whether it is time to tell them.
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
