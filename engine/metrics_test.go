package engine

import (
	"bytes"
	"testing"

	"github.com/VictoriaMetrics/metrics"
)

func TestWriteLabelled(t *testing.T) {
	set := metrics.NewSet()
	set.GetOrCreateCounter("plain_total").Add(3)
	set.GetOrCreateCounter(`kind_total{kind="a b{"}`).Add(4)
	var b bytes.Buffer
	writeLabelled(&b, set, `network="5"`)
	want := "kind_total{network=\"5\",kind=\"a b{\"} 4\nplain_total{network=\"5\"} 3\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
