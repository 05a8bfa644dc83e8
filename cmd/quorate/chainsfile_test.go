package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/engine/chain"
	"quorate/engine/source"
	"quorate/httpapi/view"
)

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// anID returns the text of a chain ID.
func anID(b byte) string { return chain.ID{b}.String() }

func TestChainsFile(t *testing.T) {
	t.Parallel()
	const wavax = "0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7"
	full := `
chains:
  - rpc: https://node.example:9650/ext/bc/x/rpc?key=1
    ws: wss://node.example:9650/ext/bc/x/ws
    blockchain-id: ` + anID(1) + `
    subnet-id: ` + anID(2) + `
    vm-id: ` + anID(3) + `
    names: [games, play]
    name: Games
    description: A chain of games
    explorer-url: https://explorer.example
    logo-uri: https://logo.example/l.svg
    public-rpc: https://rpc.example
    public-ws: wss://ws.example
    multicall: "` + wavax + `"
    features: [nftIndexing, teleporter]
    wrapped-tokens: ["` + wavax + `"]
    private: true
    token: {name: Gold, symbol: GLD, decimals: 6, logo-uri: https://logo.example/g.svg, description: Pays fees}
  - rpc: http://127.0.0.1:1/rpc
    blockchain-id: ` + anID(4) + "\n"
	list, err := readChains(writeFile(t, "chains.yaml", full))
	if err != nil || len(list) != 2 {
		t.Fatalf("%d chains, %v", len(list), err)
	}
	c, d := list[0], list[0].Details
	if !isAt(t, c.RPC, "https://node.example:9650/ext/bc/x/rpc?key=1") || !isAt(t, c.WS, "https://node.example:9650/ext/bc/x/ws") ||
		c.ID != (chain.ID{1}) || c.Subnet != (chain.ID{2}) || c.VM != (chain.ID{3}) || strings.Join(c.Names, " ") != "games play" {
		t.Errorf("%+v", c)
	}
	if d.Name != "Games" || d.Description != "A chain of games" || d.ExplorerURL != "https://explorer.example" ||
		d.LogoURI != "https://logo.example/l.svg" || d.RPCURL != "https://rpc.example" || d.WSURL != "wss://ws.example" ||
		d.Multicall != wavax || len(d.Features) != 2 || d.Features[1] != view.FeatureTeleporter || !d.Private ||
		d.TokenName != "Gold" || d.TokenSymbol != "GLD" || d.TokenDecimals != 6 || d.TokenLogoURI != "https://logo.example/g.svg" || d.TokenDescription != "Pays fees" ||
		len(d.Wrapped) != 1 || d.Wrapped[0].String() != wavax {
		t.Errorf("%+v", d)
	}
	if c = list[1]; !isAt(t, c.RPC, "http://127.0.0.1:1/rpc") || c.ID != (chain.ID{4}) || !c.WS.Zero() || len(c.Names) != 0 || !c.Subnet.IsZero() {
		t.Errorf("%+v", c)
	}
	// JSON is YAML too.
	list, err = readChains(writeFile(t, "chains.json", `{"chains":[{"rpc":"http://127.0.0.1:1/rpc","blockchain-id":"`+anID(4)+`"}]}`))
	if err != nil || len(list) != 1 || list[0].ID != (chain.ID{4}) {
		t.Errorf("JSON: %+v, %v", list, err)
	}
}

func TestBadChainsFile(t *testing.T) {
	t.Parallel()
	id := "blockchain-id: " + anID(1)
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "no list of chains"},
		{"no list", "chains: 7", "chains"},
		{"an empty list", "chains: []", "no list of chains"},
		{"another list", "networks: []", "networks"},
		{"no YAML", "chains: [", "chains.yaml"},
		{"unknown key", "chains:\n- {rpc: 'http://h/rpc', " + id + ", rcp: x}", "rcp"},
		{"unknown key of the token", "chains:\n- {rpc: 'http://h/rpc', " + id + ", token: {sign: x}}", "sign"},
		{"no rpc", "chains:\n- {" + id + "}", "chain 1: rpc"},
		{"rpc of another scheme", "chains:\n- {rpc: 'ws://h/rpc', " + id + "}", "chain 1: rpc"},
		{"rpc without a host", "chains:\n- {rpc: 'http:///rpc', " + id + "}", "chain 1: rpc"},
		{"ws of another scheme", "chains:\n- {rpc: 'http://h/rpc', ws: 'http://h/ws', " + id + "}", "chain 1: ws"},
		{"no ID", "chains:\n- {rpc: 'http://h/rpc'}", "blockchain-id"},
		{"a wrong ID", "chains:\n- {rpc: 'http://h/rpc', blockchain-id: 2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByN}", "blockchain-id"},
		{"a wrong subnet", "chains:\n- {rpc: 'http://h/rpc', " + id + ", subnet-id: x}", "subnet-id"},
		{"a wrong VM", "chains:\n- {rpc: 'http://h/rpc', " + id + ", vm-id: x}", "vm-id"},
		{"the same twice", "chains:\n- {rpc: 'http://h/rpc', " + id + "}\n- {rpc: 'http://i/rpc', " + id + "}", "chain 2: the blockchain ID is there twice"},
		{"an unknown feature", "chains:\n- {rpc: 'http://h/rpc', " + id + ", features: [magic]}", "magic"},
		{"no address", "chains:\n- {rpc: 'http://h/rpc', " + id + ", wrapped-tokens: [WAVAX]}", "wrapped-tokens"},
		{"too many decimals", "chains:\n- {rpc: 'http://h/rpc', " + id + ", token: {decimals: 256}}", "decimals"},
	} {
		list, err := readChains(writeFile(t, "chains.yaml", c.text))
		if err == nil {
			t.Errorf("%s: %+v", c.name, list)
			continue
		}
		if !strings.Contains(err.Error(), "--chains-file") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := readChains(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "--chains-file") {
		t.Errorf("no file: %v", err)
	}
}

// TestServeBadChainsFile: a mistake in the file ends the server before it serves.
func TestServeBadChainsFile(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "chains.yaml", "chains:\n- {rpc: 'http://h/rpc'}")
	code, out, errs := quorate(t, "", "serve", "--node-url", "http://127.0.0.1:1", "--http-port", "0", "--data-dir", t.TempDir(), "--chains-file", path)
	if code == 0 || out != "" || !strings.Contains(errs, "blockchain-id") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	code, _, errs = quorate(t, "", "serve", "--node-url", "http://127.0.0.1:1", "--http-port", "0", "--data-dir", t.TempDir(), noIndex, "--chains-file", path)
	if code != exitUsage || !strings.Contains(errs, "--chains-file needs --index") {
		t.Errorf("without an index: exit %d, %q", code, errs)
	}
}

// TestServeChainsFile: the chain of an L1 is followed and served by its number,
// its blockchain ID and its names.
func TestServeChainsFile(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{EVMChains: 1, Blocks: 60, TxsPerBlock: 4})
	l1 := d.EVMChain(d.World().L1s()[0].ChainID)
	facts := d.Facts("").EVMChains[1]
	p := serveIndexed(t, d, "--chains-file", chainsFile(t, d, "games"), "--health-check-frequency", "250ms")
	awaitIndexed(t, p.url, l1)
	pages := map[string]int{}
	balances := func(name string) {
		t.Helper()
		status, page := get(t, p.url+"/v1/chains/"+name+"/addresses/"+facts.Address+"/balances:listErc20?pageSize=100")
		if status != http.StatusOK || !strings.Contains(string(page), facts.ERC20Token) {
			t.Errorf("%s: status %d, balances %s", name, status, page)
		}
		pages[string(page)]++
	}
	for _, name := range []string{facts.ChainID, facts.BlockchainID, "games"} {
		base := p.url + "/v1/chains/" + name
		status, body := get(t, base+"/transactions/"+facts.TxHash)
		var tx struct {
			NativeTransaction struct{ TxHash, BlockHash string }
		}
		if err := json.Unmarshal(body, &tx); status != http.StatusOK || err != nil || tx.NativeTransaction.TxHash != facts.TxHash ||
			tx.NativeTransaction.BlockHash != facts.BlockHash {
			t.Errorf("%s: status %d, %v, %s", name, status, err, body)
		}
	}
	// What contracts say of themselves is known some time after their blocks.
	poll(t, 50*time.Millisecond, "each name has the same answer", func() bool {
		clear(pages)
		for _, name := range []string{facts.ChainID, facts.BlockchainID, "games"} {
			balances(name)
		}
		return len(pages) == 1
	})
	// The C-Chain is another chain.
	_, number := cChain(d)
	if status, body := get(t, p.url+"/v1/chains/"+number+"/transactions/"+facts.TxHash); status != http.StatusNotFound {
		t.Errorf("the L1's transaction on the C-Chain: status %d, %s", status, body)
	}
	if status, body := get(t, p.url+"/v1/chains/99999/transactions"); status != http.StatusNotFound {
		t.Errorf("a chain that is not followed: status %d, %s", status, body)
	}
	l1.Advance()
	awaitIndexed(t, p.url, l1)
	if r := awaitHealth(t, p.url, http.StatusOK); r.Checks["games"].Message == nil {
		t.Errorf("no check games in %v", r)
	}
	p.stop(t)
}

// TestChainNotThere: health tells of a chain of the file whose node does not
// answer from the start, and the others are served.
func TestChainNotThere(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{EVMChains: 1, Blocks: 30})
	l1 := d.World().L1s()[0].ChainID
	d.SetEVMFault(l1, devnet.EVMFaultBusy)
	p := serveIndexed(t, d, "--chains-file", chainsFile(t, d, "games"), "--health-check-frequency", "250ms")
	// The chain is asked for again every ten seconds.
	started := time.Now()
	poll(t, 100*time.Millisecond, "health tells of the chain", func() bool {
		return strings.Contains(healthOf(t, p.url).Checks["games"].Error, "429") || time.Since(started) > 20*time.Second
	})
	if healthOf(t, p.url).Healthy {
		t.Error("health does not tell of a chain that is not followed")
	}
	d.SetEVMFault(l1, devnet.EVMFaultNone)
	awaitIndexed(t, p.url, d.EVMChain(l1))
	awaitHealth(t, p.url, http.StatusOK)
	p.stop(t)
}

func isAt(t *testing.T, e source.Endpoint, url string) bool {
	t.Helper()
	want, err := source.ParseEndpoint(url)
	if err != nil {
		t.Fatal(err)
	}
	return e.Same(want)
}
