package evm

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/source"
)

// BenchmarkFetch asks a node that needs no time for anything but the bytes.
func BenchmarkFetch(b *testing.B) {
	const blocks = 128
	var answers [blocks][2][]byte
	parent := evm.Hash{}
	for i := range answers {
		m := bigAfter(parent, uint64(i), benchTxs)
		answers[i][0], answers[i][1] = m.json()
		parent = m.block.Hash
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var qs []struct {
			ID     int
			Params []any
		}
		if err != nil || json.Unmarshal(body, &qs) != nil {
			return
		}
		out := []byte("[")
		for i, q := range qs {
			at, err := hexUint([]byte(q.Params[0].(string)))
			if err != nil {
				return
			}
			out = fmt.Appendf(out, `{"jsonrpc":"2.0","id":%d,"result":%s},`, q.ID, answers[at][i%2])
		}
		out[len(out)-1] = ']'
		_, _ = w.Write(out)
	}))
	defer s.Close()
	n, err := source.Open(s.URL)
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	c, err := New(Config{Node: n, Path: "/"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		got, err := c.Fetch(b.Context(), 0, blocks-1)
		if err != nil || len(got) != blocks {
			b.Fatal(len(got), err)
		}
	}
	b.ReportMetric(float64(b.N)*blocks*benchTxs/b.Elapsed().Seconds(), "txs/s")
	b.ReportMetric(float64(c.pace.next()), "blocks/request")
}
