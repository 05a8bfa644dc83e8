package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"quorate/e2e/quorate"
)

const (
	// pagesWait bounds all visits.
	pagesWait = 20 * time.Minute
	// firstPageRequests is what the first page may ask for until it is loaded, its stream
	// of events apart.
	firstPageRequests = 3
)

// pageFacts are the members of the facts file that pages are about.
type pageFacts struct {
	ChainID, Address, NFTOwner, ERC20Token, NFTContract, ERC1155Contract string
	SpamToken, HostileToken, BlockID, TxHash, FailedTxHash, WarpTxHash   string
	OddTokens                                                            map[string]string
	NodeIDs, RewardAddresses                                             []string
	SubnetID                                                             string
	VertexHeight                                                         int
	Signature                                                            struct{ Message string }
	EVMChains                                                            []evmFacts
}

// pageVisit is what pages.mjs prints of a visit.
type pageVisit struct {
	Page, Scheme, Live      string
	Width, Status, Requests int
	Overflow                int
	Changed                 bool
	Errors, Foreign, Faults []string
}

// paths returns an address of each page that facts alone lead to.
func (f *pageFacts) paths() []string {
	chain := "/chain/" + f.ChainID
	list := []string{
		"/", "/search?q=2", "/api", "/api/supportedChains", "/icm", "/signatures", "/validators", "/validators?largest=2&what=if", "/ops", "/signatures/message",
		"/primary", "/primary/validators", "/primary/delegations", "/primary/subnets", "/primary/blockchains", "/primary/vertices",
		"/primary/p", "/primary/x", "/primary/c", "/primary/p/block/1", "/primary/x/block/1", "/primary/subnet/" + f.SubnetID,
		chain, chain + "/blocks", chain + "/txs", chain + "/metrics", chain + "/metrics/txCount", chain + "/icm",
		chain + "/block/" + f.BlockID, chain + "/address/" + f.Address, chain + "/address/" + f.NFTOwner + "?tab=nfts", chain + "/token/" + f.ERC20Token,
		chain + "/nft/" + f.NFTContract, chain + "/nft/" + f.ERC1155Contract, chain + "/token/" + f.HostileToken, chain + "/token/" + f.SpamToken,
	}
	for _, hash := range []string{f.TxHash, f.FailedTxHash, f.WarpTxHash} {
		list = append(list, chain+"/tx/"+hash)
	}
	for _, name := range slices.Sorted(maps.Keys(f.OddTokens)) {
		list = append(list, chain+"/token/"+f.OddTokens[name])
	}
	return append(list, "/primary/validator/"+f.NodeIDs[0], "/primary/address/"+f.RewardAddresses[0])
}

// found returns addresses of further pages, of what the server's API says there is.
func (f *pageFacts) found(t *testing.T, s *server) []string {
	t.Helper()
	var messages struct {
		Messages []struct {
			MessageID, Status string
			SourceTransaction struct{ TxHash string }
		}
	}
	s.read(t, "/v1/icm/messages?pageSize=100", &messages)
	byState := map[string]string{} // pages of messages
	for _, m := range messages.Messages {
		byState[m.Status] = "/icm/" + m.MessageID
	}
	if len(messages.Messages) == 0 {
		t.Fatal("there are no interchain messages")
	}
	list := append(slices.Sorted(maps.Values(byState)), "/tx/"+messages.Messages[0].SourceTransaction.TxHash)

	var nfts struct{ Tokens []struct{ TokenID string } }
	s.read(t, "/v1/chains/"+f.ChainID+"/nfts/collections/"+f.NFTContract+"/tokens?pageSize=1", &nfts)
	var vertices struct{ Vertices []struct{ VertexHash string } }
	s.read(t, fmt.Sprintf("/v1/networks/fuji/blockchains/x-chain/vertices:listByHeight?vertexHeight=%d", f.VertexHeight), &vertices)
	var txs struct {
		Transactions []struct {
			TxHash       string
			EmittedUtxos []struct {
				Asset struct{ AssetID, Symbol string }
			}
		}
	}
	s.read(t, "/v1/networks/fuji/blockchains/x-chain/transactions?pageSize=100", &txs)
	asset := ""
	for _, tx := range txs.Transactions {
		for _, u := range tx.EmittedUtxos {
			if u.Asset.Symbol != "AVAX" {
				asset = u.Asset.AssetID
			}
		}
	}
	if len(nfts.Tokens) == 0 || len(vertices.Vertices) == 0 || asset == "" {
		t.Fatalf("%d NFTs, %d vertices, %d transactions of the X-Chain, asset %q", len(nfts.Tokens), len(vertices.Vertices), len(txs.Transactions), asset)
	}
	list = append(list, "/chain/"+f.ChainID+"/nft/"+f.NFTContract+"/"+nfts.Tokens[0].TokenID, "/primary/vertex/"+vertices.Vertices[0].VertexHash,
		"/primary/asset/"+asset, "/primary/x/tx/"+txs.Transactions[0].TxHash)
	for _, chain := range []string{"p", "c"} {
		s.read(t, "/v1/networks/fuji/blockchains/"+chain+"-chain/transactions?pageSize=1", &txs)
		list = append(list, "/primary/"+chain+"/tx/"+txs.Transactions[0].TxHash)
	}

	a, err := s.client.Aggregate(t.Context(), quorate.Request{Message: f.Signature.Message})
	if err != nil || a.Status != 201 {
		t.Fatalf("sign a message: %v, %s", err, a)
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(f.Signature.Message, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	id := sha256.Sum256(raw)
	// The first, since the last messages alone are remembered.
	return append([]string{"/signatures/0x" + hex.EncodeToString(id[:]), "/search?q=quo"}, list...)
}

// read decodes an answer of the API.
func (s *server) read(t *testing.T, path string, into any) {
	t.Helper()
	a, err := s.client.Get(t.Context(), path)
	if err == nil {
		err = json.Unmarshal(a.Body, into)
	}
	if err != nil || a.Status != 200 {
		t.Fatalf("%s: %v, %s", path, err, a)
	}
}

// servePages runs a server that follows a simulated network with an L1, with which the
// C-Chain exchanges messages.
func servePages(t *testing.T) (*server, *pageFacts) {
	t.Helper()
	dir := testDir(t)
	path, chains := filepath.Join(dir, "facts.json"), filepath.Join(dir, "chains.json")
	d := launch(t, quorate.Config{
		Args:  []string{"devnet", "--http-port", freePort(t), "--facts-file", path, "--evm-chains", "1", "--blocks", "800", "--scenario", "{primary-blocks: 3000}"},
		Ready: "devnet ready", LogPath: filepath.Join(dir, "devnet.log"),
	})
	var f pageFacts
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil || len(f.EVMChains) != 2 {
		t.Fatalf("%v, %d chains", err, len(f.EVMChains))
	}
	l1 := f.EVMChains[1]
	writeJSON(t, chains, map[string]any{"chains": []any{map[string]any{
		"rpc": l1.RPCURL, "ws": l1.WSURL, "blockchain-id": l1.BlockchainID, "subnet-id": l1.SubnetID, "name": "First L1",
	}}})
	s := startIndexer(t, d.URL, "--chains-file", chains, "--api-admin-enabled")
	for _, c := range f.EVMChains {
		s.waitIndexed(t, sdkFacts{ChainID: c.ChainID, EndBlock: 800})
	}
	s.waitPrimary(t)
	return s, &f
}

// TestPages opens every page in a browser, narrow and wide, light and dark: nothing fails
// in them, nothing is asked of another host, nothing is wider than the screen, there is
// no serious fault of accessibility, and live parts change by themselves. Screenshots stay
// in the folder that is printed, that of QUORATE_SCREENSHOTS if it is set.
func TestPages(t *testing.T) {
	beside(t)
	program, browser := installSDKs(t), findBrowser(t)
	s, f := servePages(t)
	paths := append(f.found(t, s), f.paths()...)
	judgePages(t, program, browser, s.URL, paths, map[string]string{"/": "#blocks", "/chain/" + f.ChainID: "main", "/signatures": "#rates"})
}

// judgePages visits pages, wide and narrow, light and dark, in make torture in each
// combination, and those of live until the part that a selector names has changed.
func judgePages(t *testing.T, program, browser, server string, paths []string, live map[string]string) {
	t.Helper()
	folder, err := os.Getenv("QUORATE_SCREENSHOTS"), error(nil)
	if folder == "" {
		folder, err = os.MkdirTemp("", "quorate-pages-")
	} else {
		folder = filepath.Join(folder, t.Name())
		err = os.MkdirAll(folder, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("screenshots are in %s", folder)
	visits := visitPages(t, program, browser, server, folder, map[string]any{"visit": paths, "live": live, "whole": torture})
	views := 2
	if torture {
		views = 4
	}
	if want := views*len(paths) + len(live); len(visits) != want {
		t.Errorf("%d visits, want %d", len(visits), want)
	}
	for _, v := range visits {
		what := v.Page + " " + strconv.Itoa(v.Width) + " " + v.Scheme
		if v.Status != 200 {
			t.Errorf("%s: status %d", what, v.Status)
		}
		if len(v.Errors)+len(v.Foreign)+len(v.Faults) > 0 || v.Overflow > 0 {
			t.Errorf("%s: errors %q, requests to others %q, faults %q, %d px too wide", what, v.Errors, v.Foreign, v.Faults, v.Overflow)
		}
		if v.Page == "/" && v.Requests > firstPageRequests {
			t.Errorf("%s: %d requests until it is loaded, not %d", what, v.Requests, firstPageRequests)
		}
		if v.Live != "" && !v.Changed {
			t.Errorf("%s: %s does not change by itself", v.Page, v.Live)
		}
	}
}

// visitPages runs pages.mjs.
func visitPages(t *testing.T, program, browser, server, folder string, list any) []pageVisit {
	t.Helper()
	b, err := json.Marshal(list)
	file := filepath.Join(testDir(t), "pages.json")
	if err == nil {
		err = os.WriteFile(file, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), pagesWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "--experimental-websocket", "--no-warnings", "pages.mjs", browser, server, file, folder)
	cmd.Dir, cmd.WaitDelay = program, time.Second
	// The browser's helpers write into its profile until they end, which may be after it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	if err := cmd.Cancel(); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
	var visits []pageVisit
	for line := range bytes.Lines(out) {
		var v pageVisit
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("pages.mjs printed %s: %v", line, err)
		}
		visits = append(visits, v)
	}
	t.Logf("%d visits in %v", len(visits), time.Since(begin).Round(time.Second))
	return visits
}
