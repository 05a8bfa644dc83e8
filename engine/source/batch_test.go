package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// batchNode answers each batch with what answer gives for its IDs.
func batchNode(t *testing.T, answer func(ids []uint64) string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var requests []request
		if err := json.NewDecoder(r.Body).Decode(&requests); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var ids []uint64
		for _, q := range requests {
			ids = append(ids, q.ID)
		}
		_, _ = io.WriteString(w, answer(ids))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestCallBatch(t *testing.T) {
	t.Parallel()
	s := batchNode(t, func(ids []uint64) string { // in another order
		return fmt.Sprintf(` [{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"no such method"}}, {"result":null,"id":%d},{"id":%d,"result":{"a":[1]},"error":null}]`, ids[2], ids[1], ids[0])
	})
	c := newTestClient(t, Config{Nodes: at(t, s.URL)})
	var got []string
	decode := func(b []byte) error { got = append(got, string(b)); return nil }
	calls := []BatchCall{{Method: "one", Params: []int{1}, Decode: decode}, {Method: "two", Decode: decode}, {Method: "three", Decode: decode}, {Method: "four"}}[:3]
	for range 2 { // calls may be used again
		got = nil
		if err := c.CallBatch(t.Context(), "/", calls); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != `[{"a":[1]} null]` {
			t.Errorf("results %v", got)
		}
		var rpc *RPCError
		if calls[0].Err != nil || calls[1].Err != nil || !errors.As(calls[2].Err, &rpc) || rpc.Code != -32601 || !strings.HasPrefix(calls[2].Err.Error(), "three: ") {
			t.Errorf("errors %v, %v, %v", calls[0].Err, calls[1].Err, calls[2].Err)
		}
	}
	if err := c.CallBatch(t.Context(), "/", nil); err != nil {
		t.Errorf("nothing to ask: %v", err)
	}
}

func TestCallBatchBadAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"empty":        "",
		"cut":          `[{"id":%d,"result":1},{"id":%d,"res`,
		"missing":      `[{"id":%d,"result":1}]`,
		"no id":        `[{"id":%d,"result":1},{"result":1}]`,
		"null id":      `[{"id":%d,"result":1},{"id":null,"result":1}]`,
		"text id":      `[{"id":%d,"result":1},{"id":"%d","result":1}]`,
		"alien":        `[{"id":%d,"result":1},{"id":9%d,"result":1}]`,
		"alien more":   `[{"id":%d,"result":1},{"id":%d,"result":1},{"id":77777,"result":1}]`,
		"twice":        `[{"id":%[1]d,"result":1},{"id":%[1]d,"result":1}]`,
		"neither":      `[{"id":%d,"result":1},{"id":%d}]`,
		"error odd":    `[{"id":%d,"result":1},{"id":%d,"error":"no"}]`,
		"one object":   `{"id":%d,"result":1}`,
		"a number":     `7`,
		"rest":         `[{"id":%d,"result":1},{"id":%d,"result":1}] x`,
		"not decoded":  `[{"id":%d,"result":2},{"id":%d,"result":1}]`,
		"object's end": `{"id":%d,"error":{"code":1,"message":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			liar := batchNode(t, func(ids []uint64) string {
				n := strings.Count(answer, "%d")
				switch {
				case strings.Contains(answer, "%["):
					return fmt.Sprintf(answer, ids[0])
				case n == 1:
					return fmt.Sprintf(answer, ids[0])
				case n == 2:
					return fmt.Sprintf(answer, ids[0], ids[1])
				}
				return answer
			})
			decode := func(b []byte) error {
				if string(b) != "1" {
					return errors.New("not a one")
				}
				return nil
			}
			calls := []BatchCall{{Method: "a", Decode: decode}, {Method: "b", Decode: decode}}
			c := newTestClient(t, Config{Nodes: at(t, liar.URL)})
			if err := c.CallBatch(t.Context(), "/", calls); !errors.Is(err, ErrBadAnswer) {
				t.Errorf("got %v", err)
			}
			// The next node is asked, and the calls come out clean.
			honest := batchNode(t, func(ids []uint64) string {
				return fmt.Sprintf(`[{"id":%d,"result":1},{"id":%d,"result":1}]`, ids[0], ids[1])
			})
			c = newTestClient(t, Config{Nodes: at(t, liar.URL, honest.URL)})
			if err := c.CallBatch(t.Context(), "/", calls); err != nil || calls[0].Err != nil || calls[1].Err != nil {
				t.Errorf("with a second node: %v, %v, %v", err, calls[0].Err, calls[1].Err)
			}
		})
	}
}

func TestCallBatchRefused(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}`,
		`[{"jsonrpc":"2.0","id":%d,"error":{"code":-32600,"message":"batch too large"}}]`,
	} {
		s := batchNode(t, func(ids []uint64) string { return strings.Replace(answer, "%d", fmt.Sprint(ids[0]), 1) })
		c := newTestClient(t, Config{Nodes: at(t, s.URL)})
		var rpc *RPCError
		if err := c.CallBatch(t.Context(), "/", make([]BatchCall, 2)); !errors.As(err, &rpc) || rpc.Message != "batch too large" {
			t.Errorf("%s: got %v", answer, err)
		}
	}
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	c := newTestClient(t, Config{Nodes: at(t, s.URL)})
	if err := c.CallBatch(t.Context(), "/", make([]BatchCall, 1)); !errors.Is(err, ErrBadAnswer) {
		t.Errorf("no such path: %v", err)
	}
	if err := c.CallBatch(t.Context(), "/", []BatchCall{{Params: func() {}}}); err == nil {
		t.Error("parameters that cannot be written were sent")
	}
}

func TestTimeoutIsTold(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := batchNode(t, func([]uint64) string { <-release; return "" })
	defer close(release)
	c := newTestClient(t, Config{Nodes: at(t, s.URL), Timeout: 1e9})
	if err := c.CallBatch(t.Context(), "/", make([]BatchCall, 1)); !errors.Is(err, ErrTimeout) || !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

func FuzzBatch(f *testing.F) {
	f.Add([]byte(`[{"id":1,"result":{}},{"id":2,"error":{"code":-32000,"message":"x"}}]`))
	f.Add([]byte(`{"id":null,"error":{"code":-32600,"message":"batch too large"}}`))
	f.Add([]byte(`[{"id":1,"result":null},{"id":1,"result":[[]]}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		decoded := 0
		decode := func(b []byte) error {
			decoded++
			if len(b) == 0 {
				t.Error("an empty result")
			}
			return nil
		}
		calls := []BatchCall{{Method: "a", Decode: decode}, {Method: "b", Decode: decode}}
		if decodeBatch(reply{status: 200, body: body}, 1, calls) != nil {
			return
		}
		for i := range calls {
			if calls[i].Err != nil {
				decoded++
			}
		}
		if decoded != len(calls) {
			t.Errorf("%d of %d calls answered", decoded, len(calls))
		}
	})
}
