package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/holiman/uint256"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
	"quorate/httpapi/reply"
)

// expect asks for a path and compares the status and a part of the body.
func expect(t *testing.T, s *Server, path string, status int, part string) *fasthttp.Response {
	t.Helper()
	resp := get(s, path)
	if resp.StatusCode() != status || !strings.Contains(string(resp.Body()), part) {
		t.Errorf("%s: %d %s, want %d %q", path, resp.StatusCode(), resp.Body(), status, part)
	}
	if retry := len(resp.Header.Peek("Retry-After")) > 0; retry != (status == 503) {
		t.Errorf("%s: %d with Retry-After: %v", path, status, retry)
	}
	return resp
}

// TestNodeDown: what is indexed is answered, what is not is a 503 and no 404,
// and the message tells nothing of the node.
func TestNodeDown(t *testing.T) {
	t.Parallel()
	c := sampleChain()
	c.down = errDown
	s := dataServer(t, Config{}, c)
	expect(t, s, asAlice+"/transactions", 200, "transactions")
	expect(t, s, asAlice+"/balances:getNative", 200, `"balance":"5000000000000000014"`)
	expect(t, s, base+"/blocks/10/transactions", 200, "transactions")
	const why = "chain 43112 cannot answer this now: its node does not answer"
	for _, path := range []string{
		base + "/blocks/15/transactions", base + "/blocks/0x" + strings.Repeat("11", 32) + "/transactions",
		base + "/transactions/0x" + strings.Repeat("11", 32), asAlice + "/balances:getNative?blockNumber=15",
		base + "/addresses/" + bob.String() + "/balances:getNative", base + "/addresses/" + bob.String() + "/balances:listErc20",
		base + "/addresses/" + bob.String() + "/balances:listErc721",
	} {
		if resp := expect(t, s, path, 503, why); strings.Contains(string(resp.Body()), "10.1.2.3") {
			t.Errorf("%s: %s", path, resp.Body())
		}
	}
	none := secondChain()
	none.down = errDown
	s = dataServer(t, Config{}, none)
	expect(t, s, "/v1/chains/777/transactions", 503, "chain 777 cannot answer this now: its node does not answer")
	none.down = nil
	expect(t, s, "/v1/chains/777/transactions", 503, "its first block is awaited")
}

// TestNodeBalance: what the index does not know is asked of the node, at the
// height of the view.
func TestNodeBalance(t *testing.T) {
	t.Parallel()
	c := sampleChain()
	var asked []string
	var old error // of heights
	c.node = func(height *uint64) (*uint256.Int, error) {
		if height == nil {
			asked = append(asked, "latest")
			return uint256.NewInt(2), nil
		}
		asked = append(asked, fmt.Sprint(*height))
		return uint256.NewInt(1), old
	}
	s := dataServer(t, Config{}, c)
	f := func(query string, status int, part, want string) {
		t.Helper()
		asked = nil
		expect(t, s, base+"/addresses/"+bob.String()+"/balances:getNative"+query, status, part)
		if got := strings.Join(asked, " "); got != want {
			t.Errorf("%s: asked for %q, want %q", query, got, want)
		}
	}
	f("", 200, `"balance":"1"`, "14")
	f("?blockNumber=11", 200, `"balance":"1"`, "11")
	old = errors.New("missing trie node")
	f("", 200, `"balance":"2"`, "14 latest")
	f("?blockNumber=11", 503, "the balance at block 11 is not indexed and its node does not give it", "11")
	asked = nil
	expect(t, s, asAlice+"/balances:getNative", 200, "5000000000000000014")
	if asked != nil {
		t.Errorf("the node was asked for what is indexed: %v", asked)
	}
	c.node = nil
	f("?currency=eur", 503, "cannot answer this now", "")
}

// TestBroken: rows that cannot be read are a defect, whose cause is not told.
func TestBroken(t *testing.T) {
	t.Parallel()
	c := ownSample()
	c.spoil()
	s := dataServer(t, Config{}, c)
	for _, path := range []string{
		asAlice + "/transactions", asAlice + "/transactions:listErc721", asAlice + "/balances:listErc20", asAlice + "/balances:listErc721",
		asAlice + "/balances:getNative", base + "/tokens/" + gold.String() + "/transfers", base + "/blocks/10/transactions",
		base + "/blocks/" + numbered(10, 0xb).String() + "/transactions", base + "/transactions", base + "/transactions/" + sampleTx(1).String(),
		"/v1/signatureAggregator/fuji/aggregateSignatures/" + sampleTx(1).String(),
	} {
		if resp := expect(t, s, path, 500, `"message":"internal error"`); strings.Contains(string(resp.Body()), "row") {
			t.Errorf("%s: %s", path, resp.Body())
		}
	}
}

// TestLookupFails: an error while a row is written is the whole answer.
func TestLookupFails(t *testing.T) {
	t.Parallel()
	c := ownSample()
	c.spoil(store.TableTokenMeta)
	expect(t, dataServer(t, Config{}, c), asAlice+"/transactions", 500, `"message":"internal error"`)
}

func TestCompression(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain())
	plain := get(s, asAlice+"/transactions").Body()
	f := func(accept, want string) {
		t.Helper()
		resp := get(s, asAlice+"/transactions", "Accept-Encoding", accept)
		if got := string(resp.Header.Peek("Content-Encoding")); got != want {
			t.Errorf("%q: encoding %q, want %q", accept, got, want)
		}
		if got := unpack(t, want, resp.Body()); !bytes.Equal(got, plain) {
			t.Errorf("%q: another body", accept)
		}
		if want != "" && len(resp.Body()) > len(plain)/3 {
			t.Errorf("%q: %d of %d bytes", accept, len(resp.Body()), len(plain))
		}
	}
	f("", "")
	f("gzip, deflate", "gzip") // as the SDKs
	f("gzip, deflate, br, zstd", "zstd")
	f("GZIP", "gzip")
	f("x-gzip", "gzip")
	f("br, deflate", "")
	f("*", "zstd")
	f("identity", "")
	f("gzip;q=1.0, zstd;q=0.5", "gzip")
	f("gzip ; q=0.001 ,zstd; q=0", "gzip")
	f("*;q=0.1, zstd;q=0", "gzip")
	f("gzip;q=0, zstd;q=0.000, *", "")
	f("gzip;q=2, zstd;q=x, *;q=0", "")
	f("gzip;q=1.5;x", "")
	f(",,;;,", "")

	// Small bodies and errors go as they are.
	for _, path := range []string{"/v1/chains/C/blocks/11/transactions", "/v1/chains/1/transactions", asAlice + "/transactions?pageSize=0"} {
		if resp := get(s, path, "Accept-Encoding", "gzip"); len(resp.Header.Peek("Content-Encoding")) != 0 {
			t.Errorf("%s is compressed", path)
		}
	}
	never := dataServer(t, Config{CompressMin: -1}, sampleChain())
	if resp := get(never, asAlice+"/transactions", "Accept-Encoding", "gzip"); !bytes.Equal(resp.Body(), plain) {
		t.Error("compressed although switched off")
	}
	// Many at once share the compressors.
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := []string{"gzip", "zstd"}[i%2]
			for range 20 {
				if !bytes.Equal(unpack(t, name, get(s, asAlice+"/transactions", "Accept-Encoding", name).Body()), plain) {
					t.Errorf("%s: another body", name)
				}
			}
		})
	}
	wg.Wait()
}

func unpack(t *testing.T, name string, b []byte) []byte {
	t.Helper()
	var err error
	switch name {
	case "gzip":
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			b, err = io.ReadAll(r)
		}
	case "zstd":
		var r *zstd.Decoder
		if r, err = zstd.NewReader(nil); err == nil {
			defer r.Close()
			b, err = r.DecodeAll(b, nil)
		}
	}
	if err != nil {
		t.Error(err)
	}
	return b
}

func FuzzAcceptEncoding(f *testing.F) {
	f.Add([]byte("gzip;q=0.5, zstd;q=1.0, *;q=0"))
	f.Add([]byte("gzip;q=,;q=1"))
	f.Fuzz(func(t *testing.T, accept []byte) {
		if name := reply.Encoding(accept); name != "" && name != "gzip" && name != "zstd" {
			t.Errorf("%q gives %q", accept, name)
		}
	})
}

// TestSignTransaction asks for the messages of transactions.
func TestSignTransaction(t *testing.T) {
	t.Parallel()
	c, main := ownSample(), secondChain()
	hash := func(n byte) evm.Hash { return sampleTx(100 + n) }
	twenty := make([][]byte, 20)
	for i := range twenty {
		twenty[i] = []byte{byte(i)}
	}
	id := chain.ID(sha256.Sum256([]byte("one")))
	c.grow(warpTx(hash(1), []byte("one")), warpTx(hash(2), twenty...), warpTx(hash(3), make([][]byte, 65)...),
		warpTx(hash(4), []byte("a"), []byte("fails"), []byte("c")), warpTx(hash(5)))
	agg := fake(func(_ context.Context, req *aggregator.Request) (*aggregator.Result, error) {
		if string(req.Message) == "fails" {
			return nil, &aggregator.Error{Kind: aggregator.Unreachable, Msg: "too few"}
		}
		if req.Quorum != aggregator.DefaultQuorum || req.Buffer != 0 || req.SigningSubnetID != nil || req.PChainHeight != 0 {
			return nil, fmt.Errorf("odd request %+v", req)
		}
		return &aggregator.Result{Signed: append([]byte{0xff}, req.Message...)}, nil
	})
	s := dataServer(t, Config{Networks: networks{agg}}, c, main)
	f := func(network, tx string, status int, part string) {
		t.Helper()
		expect(t, s, "/v1/signatureAggregator/"+network+"/aggregateSignatures/"+tx, status, part)
	}
	f("fuji", hash(1).String(), 201, `{"signedMessage":"ff6f6e65"}`)
	f("testnet", "0X"+strings.ToUpper(hash(1).String()[2:]), 201, `{"signedMessage":"ff6f6e65"}`)
	all := make([]string, 20)
	for i := range all {
		all[i] = fmt.Sprintf(`"ff%02x"`, i)
	}
	f("fuji", hash(2).String(), 201, `{"signedMessage":"ff00","signedMessages":[`+strings.Join(all, ",")+`]}`)
	f("fuji", hash(3).String(), 400, "has 65 warp messages; at most 64")
	f("fuji", hash(4).String(), 503, "too few")
	f("fuji", hash(5).String(), 404, "has no warp message")
	f("fuji", hash(99).String(), 404, "does not exist or is not indexed yet")
	f("fuji", "0x12", 400, "txHash must be")
	f("mainnet", hash(1).String(), 404, "no node of network mainnet")
	f("x", hash(1).String(), 404, "is unknown")
	// A message's own ID, after transactions.
	f("fuji", "0x"+hex.EncodeToString(id[:]), 201, `{"signedMessage":"ff6f6e65"}`)
	f("fuji", id.String(), 201, `{"signedMessage":"ff6f6e65"}`)
	f("fuji", chain.ID{9}.String(), 404, "does not exist on the P-Chain or is not indexed yet, and no warp message has this ID")
	f("fuji", hash(99).String(), 404, "or is not indexed yet, and no warp message has this ID")
	c.grow(warpTx(evm.Hash(id), []byte("of the transaction")))
	f("fuji", "0x"+hex.EncodeToString(id[:]), 201, hex.EncodeToString([]byte("of the transaction")))
	f("fuji", id.String(), 201, `{"signedMessage":"ff6f6e65"}`)
	older := c.older(store.TableWarpIDs)
	expect(t, dataServer(t, Config{Networks: networks{agg}}, older), "/v1/signatureAggregator/fuji/aggregateSignatures/"+hash(99).String(), 503,
		"the warp messages of chain 43112 are being indexed by their IDs")
	c.down = errDown
	f("fuji", hash(1).String(), 201, "ff6f6e65")
	f("fuji", id.String(), 201, "ff6f6e65")
	f("fuji", hash(99).String(), 503, "chain 43112 does not go on: its node does not answer")
}
