package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow/engine/avalanche/vertex"
	"github.com/ava-labs/avalanchego/utils/formatting"
	"github.com/ava-labs/avalanchego/vms/avm/block"
	"github.com/ava-labs/avalanchego/vms/avm/fxs"
	"github.com/ava-labs/avalanchego/vms/avm/txs"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/components/verify"
	"github.com/ava-labs/avalanchego/vms/nftfx"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	"github.com/ava-labs/avalanchego/vms/propertyfx"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"

	"quorate/e2e/localnet"
	"quorate/e2e/quorate"
)

const (
	// vertexCount is the number of vertices before the stop vertex, of which two and two
	// have the same height.
	vertexCount = 60
	vertexPage  = 7
	vertexBegin = 1_600_000_000 // when the first one was accepted
)

// graph is an X-Chain from before its linearisation, and two blocks behind it, made by
// avalanchego's own packages.
type graph struct {
	chain    ids.ID
	parser   block.Parser
	vertices []vertex.StatelessVertex
	blocks   []block.Block
	txs      map[ids.ID]vertex.StatelessVertex // the first vertex of each
}

func newGraph(t *testing.T, chain ids.ID) *graph {
	t.Helper()
	g := &graph{chain: chain, txs: map[ids.ID]vertex.StatelessVertex{}}
	var err error
	if g.parser, err = block.NewParser([]fxs.Fx{&secp256k1fx.Fx{}, &nftfx.Fx{}, &propertyfx.Fx{}}); err != nil {
		t.Fatal(err)
	}
	var before, row []ids.ID
	var last []byte
	for i := range vertexCount {
		raws := [][]byte{g.tx(t, i, 0)}
		if i%3 == 0 {
			raws = append(raws, g.tx(t, i, 1))
		}
		if i%10 == 9 { // what stands in two vertices
			raws = append(raws, last)
		}
		last = raws[0]
		v, err := vertex.Build(chain, uint64(i/2), before, raws)
		if err != nil {
			t.Fatal(err)
		}
		g.add(v)
		if row = append(row, v.ID()); len(row) == 2 {
			before, row = row, nil
		}
	}
	stop, err := vertex.BuildStopVertex(chain, vertexCount/2, before)
	if err != nil {
		t.Fatal(err)
	}
	g.add(stop)
	parent := stop.ID()
	for h := range 3 {
		var list []*txs.Tx
		if h > 0 { // the first block is made by the stop vertex
			tx, err := g.parser.ParseTx(g.tx(t, vertexCount+h, 0))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, tx)
		}
		b, err := block.NewStandardBlock(parent, uint64(h), time.Unix(vertexBegin+1000+int64(h), 0), list, g.parser.Codec())
		if err != nil {
			t.Fatal(err)
		}
		g.blocks, parent = append(g.blocks, b), b.ID()
	}
	return g
}

func (g *graph) add(v vertex.StatelessVertex) {
	g.vertices = append(g.vertices, v)
	for _, raw := range v.Txs() {
		id := ids.ID(sha256.Sum256(raw))
		if _, known := g.txs[id]; !known {
			g.txs[id] = v
		}
	}
}

// tx makes a transaction: one that creates an asset, or one that pays.
func (g *graph) tx(t *testing.T, number, place int) []byte {
	t.Helper()
	base := avax.BaseTx{NetworkID: localnet.NetworkID, BlockchainID: g.chain, Memo: fmt.Appendf(nil, "transaction %d.%d", number, place)}
	owner := secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{{byte(number), byte(place)}}}
	tx := &txs.Tx{}
	if number%2 == 0 {
		tx.Unsigned = &txs.CreateAssetTx{
			BaseTx: txs.BaseTx{BaseTx: base}, Name: fmt.Sprintf("Asset %d", number), Symbol: "AST", Denomination: byte(number % 9),
			States: []*txs.InitialState{{FxIndex: 0, Outs: []verify.State{&secp256k1fx.TransferOutput{Amt: uint64(number + 1), OutputOwners: owner}}}},
		}
	} else {
		base.Outs = []*avax.TransferableOutput{{Asset: avax.Asset{ID: ids.ID{7}}, Out: &secp256k1fx.TransferOutput{Amt: uint64(number), OutputOwners: owner}}}
		tx.Unsigned = &txs.BaseTx{BaseTx: base}
	}
	if err := tx.Initialize(g.parser.Codec()); err != nil {
		t.Fatal(err)
	}
	return tx.Bytes()
}

// serve answers as a node's Index API, and as its avm, and has the rest answered by the
// node at another URL.
func (g *graph) serve(t *testing.T, rest string) string {
	t.Helper()
	u, err := url.Parse(rest)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(u)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var of []container
		switch strings.TrimSuffix(r.URL.Path, "/") {
		case "/ext/index/X/vtx":
			of = g.index(vertexBytes(g.vertices))
		case "/ext/index/X/block", "/ext/bc/X", "/ext/bc/" + g.chain.String():
			of = g.index(blockBytes(g.blocks)) // the one at height 0 is in no index
			if strings.HasPrefix(r.URL.Path, "/ext/index/") {
				of = of[1:]
				for i := range of {
					of[i].Index = strconv.Itoa(i)
				}
			}
		default:
			proxy.ServeHTTP(w, r)
			return
		}
		answerIndex(t, w, r, of)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// container is what the Index API returns.
type container struct {
	ID        ids.ID              `json:"id"`
	Bytes     string              `json:"bytes"`
	Timestamp time.Time           `json:"timestamp"`
	Encoding  formatting.Encoding `json:"encoding"`
	Index     string              `json:"index"`
}

func vertexBytes(of []vertex.StatelessVertex) (list [][]byte) {
	for _, v := range of {
		list = append(list, v.Bytes())
	}
	return list
}

func blockBytes(of []block.Block) (list [][]byte) {
	for _, b := range of {
		list = append(list, b.Bytes())
	}
	return list
}

func (g *graph) index(of [][]byte) (list []container) {
	for i, raw := range of {
		text, err := formatting.Encode(formatting.Hex, raw)
		if err != nil {
			panic(err)
		}
		list = append(list, container{sha256.Sum256(raw), text, time.Unix(vertexBegin+int64(i), 0).UTC(), formatting.Hex, strconv.Itoa(i)})
	}
	return list
}

// answerIndex answers a call to an index, or to the chain that it is of.
func answerIndex(t *testing.T, w http.ResponseWriter, r *http.Request, of []container) {
	var q struct {
		ID     json.RawMessage
		Method string
		Params struct{ StartIndex, NumToFetch, Index, Height json.Number }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		t.Errorf("%s: %v", r.URL.Path, err)
	}
	number := func(n json.Number) int {
		i, err := strconv.Atoi(string(n))
		if err != nil {
			return -1
		}
		return i
	}
	var result any
	switch q.Method {
	case "index.getLastAccepted":
		result = of[len(of)-1]
	case "index.getContainerByIndex":
		if i := number(q.Params.Index); i >= 0 && i < len(of) {
			result = of[i]
		}
	case "index.getContainerRange":
		if from := number(q.Params.StartIndex); from >= 0 && from < len(of) {
			result = map[string]any{"containers": of[from:min(from+number(q.Params.NumToFetch), len(of))]}
		}
	case "avm.getHeight":
		result = map[string]any{"height": strconv.Itoa(len(of) - 1)}
	case "avm.getBlockByHeight":
		if h := number(q.Params.Height); h >= 0 && h < len(of) {
			result = map[string]any{"block": of[h].Bytes, "encoding": "hex"}
		}
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": q.ID}
	if answer["result"] = result; result == nil {
		delete(answer, "result")
		answer["error"] = map[string]any{"code": -32000, "message": q.Method + ": not found"}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		t.Log(err)
	}
}

// TestVertices follows an X-Chain whose first transactions are in vertices made by
// avalanchego's own package, and reads them from the index over archive and rows to the
// answers.
func TestVertices(t *testing.T) {
	beside(t)
	dir := testDir(t)
	sim := launch(t, quorate.Config{
		Args: []string{"devnet", "--seed", "7", "--http-port", freePort(t), "--validators", "5", "--blocks", "2",
			"--scenario", "{primary-blocks: 50, height-interval: 0s}"},
		Ready: "devnet ready", LogPath: filepath.Join(dir, "devnet.log"),
	})
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	chains, err := platformvm.NewClient(sim.URL).GetBlockchains(ctx) //nolint:staticcheck // it names the X-Chain
	if err != nil {
		t.Fatal(err)
	}
	var x ids.ID
	for _, c := range chains {
		if c.Name == "X-Chain" {
			x = c.ID
		}
	}
	g := newGraph(t, x)
	s := primaryServer(t, dir, g.serve(t, sim.URL))
	s.awaitMetric(t, "quorate_index_height", "X", float64(len(g.blocks)-1))
	g.judge(ctx, t, s)
	s.kill(t) // the rows come from the archive as well
	s.restart(t)
	s.awaitMetric(t, "quorate_index_height", "X", float64(len(g.blocks)-1))
	g.judge(ctx, t, s)
}

// wanted is a vertex as it is to be answered.
func (g *graph) wanted(i int) map[string]any {
	v := g.vertices[i]
	list := []string{}
	for _, raw := range v.Txs() {
		list = append(list, ids.ID(sha256.Sum256(raw)).String())
	}
	parents := []string{}
	for _, id := range v.ParentIDs() {
		parents = append(parents, id.String())
	}
	return map[string]any{
		"vertexHash": v.ID().String(), "parentHashes": parents, "vertexHeight": v.Height(), "vertexIndex": i, "vertexTimestamp": vertexBegin + i,
		"txCount": len(list), "transactions": list, "vertexSizeBytes": len(v.Bytes()),
	}
}

// judge compares all answers about vertices.
func (g *graph) judge(ctx context.Context, t *testing.T, s *server) {
	t.Helper()
	const path = "/v1/networks/fuji/blockchains/x-chain/"
	var all []any
	for i := range g.vertices {
		want := g.wanted(i)
		all = append([]any{want}, all...)
		sameJSON(t, s.body(ctx, t, path+"vertices/"+g.vertices[i].ID().String()), want)
	}
	sameJSON(t, s.walk(ctx, t, path+"vertices?pageSize="+strconv.Itoa(vertexPage), "vertices"), all)
	heights := map[uint64][]any{}
	for i, v := range g.vertices {
		heights[v.Height()] = append(heights[v.Height()], g.wanted(i))
	}
	for h, want := range heights {
		at := path + "vertices:listByHeight?pageSize=1&vertexHeight=" + strconv.FormatUint(h, 10)
		sameJSON(t, s.walk(ctx, t, at+"&sortOrder=asc", "vertices"), want)
		if len(want) == 2 {
			want = []any{want[1], want[0]}
		}
		sameJSON(t, s.walk(ctx, t, at, "vertices"), want)
	}
	for id, v := range g.txs {
		var got struct {
			TxHash, ChainFormat, TxType, Memo string
			Vertices                          []struct {
				Hash              string
				Height, Timestamp uint64
			}
		}
		if err := json.Unmarshal(s.body(ctx, t, path+"transactions/"+id.String()), &got); err != nil {
			t.Fatal(err)
		}
		if got.TxHash != id.String() || got.ChainFormat != "non-linear" || len(got.Vertices) != 1 || got.Vertices[0].Hash != v.ID().String() || got.Vertices[0].Height != v.Height() {
			t.Errorf("transaction %s is %+v, want one in %s", id, got, v.ID())
		}
	}
	if got := len(s.walk(ctx, t, path+"transactions?pageSize=50", "transactions")); got != len(g.txs)+len(g.blocks)-1 {
		t.Errorf("%d transactions, want %d", got, len(g.txs)+len(g.blocks)-1)
	}
	for i, b := range g.blocks[1:] {
		var got struct{ BlockHash, ParentHash string }
		if err := json.Unmarshal(s.body(ctx, t, path+"blocks/"+strconv.Itoa(i+1)), &got); err != nil {
			t.Fatal(err)
		}
		if got.BlockHash != b.ID().String() || got.ParentHash != b.Parent().String() {
			t.Errorf("block %d is %+v, want %s over %s", i+1, got, b.ID(), b.Parent())
		}
	}
}

// body reads an answer of 200.
func (s *server) body(ctx context.Context, t *testing.T, path string) []byte {
	t.Helper()
	a, err := s.client.Get(ctx, path)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%s: %v, %v", path, a, err)
	}
	return a.Body
}

// walk reads all pages of a list.
func (s *server) walk(ctx context.Context, t *testing.T, path, member string) (all []any) {
	t.Helper()
	for next := path; ; {
		var page map[string]any
		if err := json.Unmarshal(s.body(ctx, t, next), &page); err != nil {
			t.Fatal(err)
		}
		list, ok := page[member].([]any)
		if !ok {
			t.Fatalf("%s: no %s in %v", next, member, page)
		}
		all = append(all, list...)
		token, ok := page["nextPageToken"].(string)
		if !ok {
			return all
		}
		next = path + "&pageToken=" + url.QueryEscape(token)
	}
}

// sameJSON compares what was answered with what should be.
func sameJSON(t *testing.T, got, want any) {
	t.Helper()
	plain := func(v any) string {
		raw, ok := v.([]byte)
		if !ok {
			raw, _ = json.Marshal(v)
		}
		var o any
		if err := json.Unmarshal(raw, &o); err != nil {
			return err.Error()
		}
		b, _ := json.Marshal(o)
		return string(b)
	}
	if a, b := plain(got), plain(want); a != b {
		t.Errorf("got  %.1000s\nwant %.1000s", a, b)
	}
}
