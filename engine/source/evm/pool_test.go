package evm

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/ingest"
	"quorate/engine/source"
)

// several returns a client of n and the others.
func several(t *testing.T, n *node, others ...*node) *Client {
	return n.client(t, func(_ *Config, below *source.Config) {
		for _, o := range others {
			below.Nodes = append(below.Nodes, nodeAt(t, o.URL))
		}
	})
}

// edits sets what a node answers, also while it is being asked.
func (n *node) edits(f func(q question, r recorded) recorded) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.edit = f
}

func (n *node) count(method string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[method]
}

const (
	noDebugAPI = `{"code":-32601,"message":"the method debug_traceBlockByHash does not exist/is not available"}`
	pruned     = `{"code":-32000,"message":"required historical state unavailable (reexec=128)"}`
)

// refuses refuses all methods of the debug API.
func refuses(refusal string) func(q question, r recorded) recorded {
	return func(q question, r recorded) recorded {
		if strings.HasPrefix(q.Method, "debug_") {
			r.Result, r.Error = nil, json.RawMessage(refusal)
		}
		return r
	}
}

// A trace comes from a node that can, whatever the others say: one without the debug
// API, without the state, too slow, with nonsense, or dead.
func TestTraceElsewhere(t *testing.T) {
	t.Parallel()
	want := traced(t)
	for name, spoil := range map[string]func(n *node){
		"no debug": func(n *node) { n.edits(refuses(noDebugAPI)) },
		"pruned":   func(n *node) { n.edits(refuses(pruned)) },
		"too slow": func(n *node) { n.edits(refuses(`{"code":-32000,"message":"execution timeout"}`)) },
		"nonsense": func(n *node) {
			n.edits(func(q question, r recorded) recorded {
				if strings.HasPrefix(q.Method, "debug_") {
					r.Result = json.RawMessage(`{}`)
				}
				return r
			})
		},
		"dead": func(n *node) {
			n.whole = func(w http.ResponseWriter, _ []question) bool {
				http.Error(w, "bootstrapping", http.StatusServiceUnavailable)
				return true
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good := newNode(t), newNode(t)
			c := several(t, bad, good)
			spoil(bad)
			for range 3 {
				b := must(c.Fetch(t.Context(), 3, 3))[0]
				if err := c.Trace(t.Context(), b); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(b, want) {
					t.Fatalf("\n got %+v\nwant %+v", b, want)
				}
			}
			if asked := bad.count("debug_traceBlockByHash"); (name == "no debug" || name == "pruned") && asked > 2 {
				t.Errorf("a node that cannot trace was asked %d times", asked)
			}
		})
	}
}

// Each node's abilities are its own: all are asked for them, and together they make
// those of the chain.
func TestFeaturesOfSeveral(t *testing.T) {
	t.Parallel()
	bare, whole := newNode(t), newNode(t)
	bare.edits(refuses(noDebugAPI))
	c := several(t, bare, whole)
	if f, err := c.Features(t.Context()); err != nil || !f.Trace || bare.count("debug_traceBlockByHash") != 1 || whole.count("debug_traceBlockByHash") != 1 {
		t.Errorf("features %+v, %v", f, err)
	}
	whole.edits(refuses(noDebugAPI))
	b := must(c.Fetch(t.Context(), 3, 3))[0]
	if err := c.Trace(t.Context(), b); !errors.Is(err, ingest.ErrUnable) || errors.Is(err, ingest.ErrIncomplete) || b.Traced {
		t.Errorf("no node has the debug API: %v", err)
	}
	// Neither is asked before some time has passed, and the error is the same.
	before := whole.count("debug_traceBlockByHash")
	if err := c.Trace(t.Context(), b); !errors.Is(err, ingest.ErrUnable) || !errors.Is(err, ErrNoTrace) || whole.count("debug_traceBlockByHash") != before {
		t.Errorf("asked again at once: %v", err)
	}
}

// A block that every node gives up on is incomplete; where one node cannot say
// anything the other's word counts.
func TestGivenUpByAll(t *testing.T) {
	t.Parallel()
	slow := `{"code":-32000,"message":"execution timeout"}`
	for name, second := range map[string]string{"both": slow, "the other has no debug": noDebugAPI, "the other is pruned": pruned} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := newNode(t), newNode(t)
			a.edits(refuses(slow))
			b.edits(refuses(second))
			c := several(t, b, a)
			block := must(c.Fetch(t.Context(), 3, 3))[0]
			if err := c.Trace(t.Context(), block); !errors.Is(err, ingest.ErrIncomplete) || errors.Is(err, ingest.ErrUnable) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// lacking makes a node one that has no blocks from a height on.
func lacking(from string) func(q question, r recorded) recorded {
	return func(q question, r recorded) recorded {
		if q.Method == "eth_getBlockByNumber" && string(q.Params) >= `["`+from {
			r.Result, r.Error = json.RawMessage("null"), nil
		}
		return r
	}
}

// A node that is behind is not used for what it has not got.
func TestLaggingNode(t *testing.T) {
	t.Parallel()
	behind, whole := newNode(t), newNode(t)
	behind.edits(lacking("0x2"))
	c := several(t, behind, whole)
	for range 5 {
		if got, err := c.Fetch(t.Context(), 0, 3); err != nil || len(got) != 4 {
			t.Fatalf("%d blocks, %v", len(got), err)
		}
	}
	if n := behind.count("eth_getBlockByNumber"); n > 4 {
		t.Errorf("a node that is behind was asked for %d blocks", n)
	}
	if head, err := c.Tip(t.Context()); err != nil || head.Height != 3 {
		t.Errorf("tip %+v, %v", head, err)
	}
	whole.edits(lacking("0x3"))
	if got, err := c.Fetch(t.Context(), 0, 3); !errors.Is(err, ErrNotFound) || len(got) != 3 {
		t.Errorf("no node has block 3: %d blocks, %v", len(got), err)
	}
}

// finalizedAt makes a node know the tag, as a block of its own.
func finalizedAt(n *node, height string) func(q question, r recorded) recorded {
	return func(q question, r recorded) recorded {
		if q.Method == "eth_getBlockByNumber" && strings.HasPrefix(string(q.Params), `["finalized"`) {
			r = n.answers[key("eth_getBlockByNumber", []byte(`["`+height+`",true]`))]
		}
		return r
	}
}

// What a node has not finalized does not count, though it gives it.
func TestFinalized(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.edits(finalizedAt(n, "0x2"))
	c := n.client(t, nil)
	if head, err := c.Tip(t.Context()); err != nil || head.Height != 2 {
		t.Fatalf("tip %+v, %v", head, err)
	}
	if got, err := c.Fetch(t.Context(), 1, 3); !errors.Is(err, ErrNotFound) || len(got) != 2 {
		t.Errorf("%d blocks, %v", len(got), err)
	}
	n.edits(finalizedAt(n, "0x3"))
	if got, err := c.Fetch(t.Context(), 1, 3); err != nil || len(got) != 3 {
		t.Errorf("%d blocks, %v", len(got), err)
	}
	asked := n.count("eth_getBlockByNumber")
	if got, err := c.Fetch(t.Context(), 2, 3); err != nil || len(got) != 2 || n.count("eth_getBlockByNumber") != asked+2 {
		t.Errorf("%d blocks, %v, %d calls", len(got), err, n.count("eth_getBlockByNumber")-asked)
	}
}

// Each node has a vote on whether it has a block, and one that stands alone against
// as many others is not asked for a while.
func TestWitness(t *testing.T) {
	t.Parallel()
	a, liar, behind := newNode(t), newNode(t), newNode(t)
	id := chain.ID(hash("0xf91bb99cb222bf5325dd40bf384061cb5470615a0f51da35734941d8a5da94ae"))
	liar.replace("eth_getBlockByNumber", `"hash":"0xf91b`, `"hash":"0xf91c`)
	behind.edits(lacking("0x1"))
	c := several(t, liar, a, behind)
	if with, against, err := c.Witness(t.Context(), 3, id); err != nil || with != 1 || against != 1 {
		t.Errorf("%d with, %d against, %v", with, against, err)
	}
	liar.mu.Lock()
	before := len(liar.batches)
	liar.mu.Unlock()
	if got, err := c.Fetch(t.Context(), 2, 3); err != nil || len(got) != 2 {
		t.Errorf("%d blocks, %v", len(got), err)
	}
	if n := len(liar.batches); n != before {
		t.Errorf("the one that has another block was asked %d times", n-before)
	}
	alone := several(t, liar)
	if with, against, err := alone.Witness(t.Context(), 3, id); err != nil || with != 0 || against != 1 {
		t.Errorf("alone: %d with, %d against, %v", with, against, err)
	}
	if got, err := alone.Fetch(t.Context(), 1, 2); err != nil || len(got) != 2 {
		t.Errorf("a node that stands alone is asked: %d blocks, %v", len(got), err)
	}
	if _, _, err := several(t, behind).Witness(t.Context(), 3, id); !errors.Is(err, ErrNotFound) {
		t.Errorf("no vote: %v", err)
	}
}

// What a node refused is asked of it again after some time, and what is known of it
// is forgotten when it comes back from a failure.
func TestAbilitiesPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := source.Open("http://127.0.0.1:1", "http://127.0.0.1:2")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var p pool
		a, b := s.Nodes()[0], s.Nodes()[1]
		fit := func(height uint64) (list []source.Node) {
			return s.Fit(source.Choice{Rank: p.forTrace(height)})
		}
		is := func(what string, height uint64, want ...source.Node) {
			t.Helper()
			if got := fit(height); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %d nodes, want %d", what, len(got), len(want))
			}
		}
		is("nothing known", 7, a, b)
		p.traced(b)
		is("one can", 7, b, a)
		p.untraced(b, 7, noState)
		is("pruned below 7", 7, a)
		is("above", 8, b, a)
		p.untraced(a, 7, noMethod)
		is("none", 7)
		<-time.After(againAfter)
		is("again", 7, b, a)
		p.blame(7) // nobody gave it
		p.gave(b, 7, 1)
		p.blame(7)
		if got := s.Fit(source.Choice{Rank: p.forBlocks(9)}); !reflect.DeepEqual(got, []source.Node{a, b}) {
			t.Errorf("blamed, and still first")
		}
		p.disagrees(a)
		is("another chain", 7, b)
		p.keep([]source.Node{b})
		is("forgotten", 7, b, a)
	})
}
