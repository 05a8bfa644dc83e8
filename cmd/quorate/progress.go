package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"quorate/engine/ingest"
)

// barBehind is how many blocks a chain must be behind for a bar.
const barBehind = 100

// display is standard error with a bar at its end while a chain catches up, if
// it is a terminal. Log lines go above the bar.
type display struct {
	terminal bool

	mu    sync.Mutex // guards what follows
	w     io.Writer
	bar   *progressbar.ProgressBar // nil while none is shown
	chain string                   // whose bar it is: the first that is behind
}

func newDisplay(w io.Writer) *display { return &display{terminal: isTerminal(w), w: w} }

// isTerminal reports whether someone looks at what is written to w.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := file.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// Write writes log lines.
func (d *display) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bar != nil {
		_ = d.bar.Clear() // what cannot be drawn is no loss, here and below
	}
	return d.w.Write(p)
}

// progress draws how far a chain is.
func (d *display) progress(p ingest.Progress) {
	if !d.terminal {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	behind := p.Target > p.Height && p.Target-p.Height >= barBehind
	switch {
	case d.bar != nil && d.chain != p.Chain:
		return
	case !behind && d.bar != nil:
		_ = d.bar.Finish()
		d.bar = nil
		return
	case !behind:
		return
	case d.bar == nil:
		d.chain = p.Chain
		d.bar = progressbar.NewOptions64(int64(p.Target),
			progressbar.OptionSetWriter(d.w), progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
	}
	d.bar.ChangeMax64(int64(p.Target)) // heights are far below 2^63
	d.bar.Describe(fmt.Sprintf("chain %s, %.0f blocks/s, %s left", p.Chain, p.BlocksPerSecond, p.Left))
	_ = d.bar.Set64(int64(p.Height))
}

const (
	// lineEvery is the time between two lines of a meter where there is no bar.
	lineEvery = 5 * time.Second
	// shareSteps are the steps of a bar that shows a share.
	shareSteps = 1000
)

// meter shows how far a command is: by a bar on a terminal, else by lines.
type meter struct {
	w    io.Writer
	what string // what is measured, of bytes and exports
	bars bool
	bar  *progressbar.ProgressBar

	began, last time.Time // last is when the last line was written
	done        int64     // bytes
}

// newMeter returns a meter whose first line comes after a while.
func newMeter(w io.Writer, what string) *meter {
	now := time.Now()
	return &meter{w: w, what: what, bars: isTerminal(w), began: now, last: now}
}

// newChainMeter returns a meter whose first line comes at once.
func newChainMeter(w io.Writer) *meter { return &meter{w: w, bars: isTerminal(w)} }

// show draws a bar with a title, or writes a line. What cannot be drawn is no loss.
func (m *meter) show(done, of int64, title string, line func() string, options ...progressbar.Option) {
	if !m.bars {
		if now := time.Now(); now.Sub(m.last) >= lineEvery {
			m.last = now
			_, _ = fmt.Fprintln(m.w, line())
		}
		return
	}
	if m.bar == nil {
		m.bar = progressbar.NewOptions64(of, append(options, progressbar.OptionSetWriter(m.w),
			progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription(title))...)
	}
	m.bar.Describe(title)
	_ = m.bar.Set64(done)
}

// bytes shows how many bytes are done and how long the others will take; of is 0 if it is
// not known how many there are.
func (m *meter) bytes(done, of int64) {
	m.done = done
	m.show(done, cmp.Or(of, -1), m.what, func() string {
		if of == 0 || done == 0 {
			return fmt.Sprintf("%s: %d bytes", m.what, done)
		}
		left := time.Duration(float64(time.Since(m.began)) * float64(of-done) / float64(done))
		return fmt.Sprintf("%s: %d of %d bytes, %s left", m.what, done, of, left.Round(time.Second))
	}, progressbar.OptionShowBytes(true))
}

// chain shows how many blocks of a chain are done.
func (m *meter) chain(name string, done, of uint64) { m.count("chain "+name, "blocks", done, of) }

func (m *meter) count(name, unit string, done, of uint64) {
	m.show(int64(done), int64(of), name[:min(len(name), 22)], func() string { return fmt.Sprintf("%s: %d of %d %s", name, done, of, unit) },
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString(unit))
}

// share shows which share of something is done, of which there are some rows.
func (m *meter) share(done float64, rows string) {
	m.show(int64(done*shareSteps), shareSteps, m.what+", "+rows+" rows", func() string {
		return fmt.Sprintf("%s: %.1f%%, %s rows", m.what, 100*done, strings.TrimSpace(rows))
	})
}

func (m *meter) finish() {
	if m.bar != nil {
		_ = m.bar.Finish()
		m.bar = nil
	}
}
