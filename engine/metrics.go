package engine

import (
	"bytes"
	"io"
	"strconv"

	"github.com/VictoriaMetrics/metrics"
)

// WriteMetrics writes the metrics of every network in the Prometheus text
// format, each series labelled with its network's ID.
func (e *Engine) WriteMetrics(w io.Writer) {
	nets := e.networks.Load()
	if nets == nil {
		return
	}
	for _, n := range *nets {
		writeLabelled(w, n.metrics, `network="`+strconv.FormatUint(uint64(n.id), 10)+`"`)
	}
}

// writeLabelled adds a label to every series of a set.
func writeLabelled(w io.Writer, set *metrics.Set, label string) {
	var plain, out bytes.Buffer
	set.WritePrometheus(&plain)
	for line := range bytes.Lines(plain.Bytes()) {
		name, rest, hasLabels := bytes.Cut(line, []byte("{"))
		if !hasLabels {
			name, rest, _ = bytes.Cut(line, []byte(" "))
		}
		out.Write(name)
		out.WriteString("{" + label)
		if hasLabels {
			out.WriteString(",")
		} else {
			out.WriteString("} ")
		}
		out.Write(rest)
	}
	// A reader that has gone away is no concern of the metrics.
	_, _ = w.Write(out.Bytes())
}
