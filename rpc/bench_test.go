package rpc

import (
	"strings"
	"testing"

	"github.com/goccy/go-json"
)

// The two ways to read calls: in place and strictly, as parseCalls does, and by the
// JSON library that the project uses elsewhere, which takes names of members in any
// case and the last of several, as nodes do, so that what it read would have to be
// rewritten all the same.
func BenchmarkReadCalls(b *testing.B) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x18d2b83012401dc79b640da29c11b7ddfb280bc7","data":"0x70a08231000000000000000000000000f0fb59801acdf310f93ec4932b6a2f9e6a53f03b"},"latest"]}`
	batch := "[" + strings.Repeat(call+",", 99) + call + "]"
	for name, body := range map[string]string{"one": call, "batch of 100": batch} {
		text := []byte(body)
		b.Run(name+"/in place", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if c := parseCalls(text); c.fault != nil || !c.exact {
					b.Fatal(c.fault)
				}
			}
		})
		b.Run(name+"/go-json", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			type member struct {
				Version string          `json:"jsonrpc"`
				ID      json.RawMessage `json:"id"`
				Method  string          `json:"method"`
				Params  json.RawMessage `json:"params"`
			}
			for b.Loop() {
				var err error
				if text[0] == '[' {
					var list []member
					err = json.Unmarshal(text, &list)
				} else {
					err = json.Unmarshal(text, &member{})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
