package main

import (
	"fmt"
	"io"
	"os"
	"sync"

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
