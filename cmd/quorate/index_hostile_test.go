package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/evmchain"
	"quorate/devnet/torture"
)

// hostileChain is a chain of a node that misbehaves in one way.
type hostileChain struct {
	name  string // of the health check
	fault devnet.EVMFault
	tells string // what health says of it, besides how long it lasts
	lag   bool   // shows only as long as the chain does not grow

	chain *evmchain.Chain
	said  string // by health, last
	red   time.Duration
	well  time.Duration
}

// hostileKinds are dealt to the chains of a network: the first to the C-Chain,
// whose calls end sooner, the others to the L1s'.
func hostileKinds() []*hostileChain {
	return []*hostileChain{
		{name: "C", fault: devnet.EVMFaultSilence, tells: "no answer in time"},
		{name: "other-parent", fault: devnet.EVMFaultWrongParent, tells: "does not fit the block's hash: block"},
		{name: "truncated", fault: devnet.EVMFaultTruncated, tells: "malformed JSON"},
		{name: "huge", fault: devnet.EVMFaultHuge, tells: "longer than allowed"},
		{name: "few-receipts", fault: devnet.EVMFaultMissingReceipts, tells: "receipts of"},
		{name: "other-id", fault: devnet.EVMFaultOtherID, tells: "answer to another request"},
		{name: "backwards", fault: devnet.EVMFaultBackwards, tells: "the node is behind", lag: true},
		{name: "busy", fault: devnet.EVMFaultBusy, tells: "429"},
		{name: "well", fault: devnet.EVMFaultNone},
	}
}

// chainsFile writes a chains file of the L1s' chains, called by names.
func chainsFile(t *testing.T, d *devnet.Devnet, names ...string) string {
	t.Helper()
	text := "chains:\n"
	for i, f := range d.Facts("").EVMChains[1:] {
		text += fmt.Sprintf("- rpc: %s\n  ws: %s\n  blockchain-id: %s\n  subnet-id: %s\n  names: [%s]\n",
			f.RPCURL, f.WSURL, f.BlockchainID, f.SubnetID, names[i])
	}
	path := filepath.Join(t.TempDir(), "chains.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// maxHostileRSS bounds what a server may take more at its worst moment while
// the nodes misbehave: one of them sends 100 MB again and again.
const maxHostileRSS = 1 << 30

// hostileNetwork deals the ways to misbehave to the chains of a network.
func hostileNetwork(t *testing.T) (d *devnet.Devnet, kinds []*hostileChain, chains []*evmchain.Chain, file string) {
	t.Helper()
	kinds = hostileKinds()
	d = startNetwork(t, devnet.Config{EVMChains: len(kinds) - 1, Blocks: torture.Pick(12, 40), TxsPerBlock: torture.Pick(2, 4)})
	var names []string
	for i, k := range kinds {
		id := d.World().CChainID()
		if i > 0 {
			id = d.World().L1s()[i-1].ChainID
			names = append(names, k.name)
		}
		k.chain = d.EVMChain(id)
		chains = append(chains, k.chain)
	}
	return d, kinds, chains, chainsFile(t, d, names...)
}

// TestHostileNode: each chain's node misbehaves in another way, all at once. Health
// tells of each while it lasts, chains get well by themselves, memory stays
// bounded, and no chain's rows differ from those of an honest run.
func TestHostileNode(t *testing.T) {
	campaign(t)
	t.Parallel()
	d, kinds, chains, file := hostileNetwork(t)
	dir := t.TempDir()
	// With the race detector the 100 MB are dear, so that in short few ask for them at once.
	c := startChild(t, d, dir, "--chains-file", file, "--health-check-frequency", "250ms", "--log-display-level", "error",
		"--limits", "fetch-concurrency="+strconv.Itoa(torture.Pick(1, 4)), "--limits", "trace-concurrency="+strconv.Itoa(torture.Pick(1, 4)))
	for _, of := range chains {
		awaitIndexed(t, c.url, of)
	}
	before := c.peakRSS(t)
	for _, k := range kinds {
		d.SetEVMFault(k.chain.Config().ID, k.fault)
		if !k.lag {
			advance(k.chain, torture.Pick(12, 30))
		}
	}
	started := time.Now()
	poll(t, 250*time.Millisecond, "all chains are red, then well", func() bool {
		done := true
		checks := healthOf(t, c.url).Checks
		for _, k := range kinds {
			k.look(t, d, c.url, checks[k.name].Error, time.Since(started))
			done = done && k.well > 0
		}
		return done || time.Since(started) > patience/2
	})
	for _, k := range kinds {
		switch {
		case k.well == 0:
			t.Errorf("%s: red after %s, not well since; health says %q", k.name, k.red, k.said)
		default:
			t.Logf("%s: red after %s, well after %s: %s", k.name, k.red, k.well, k.said)
		}
		d.SetEVMFault(k.chain.Config().ID, devnet.EVMFaultNone)
	}
	awaitHealth(t, c.url, http.StatusOK)
	grown := c.peakRSS(t) - before
	t.Logf("resident memory: at most %d MiB before, %d MiB more with faults", before>>20, grown>>20)
	if grown > raceFactor*maxHostileRSS {
		t.Errorf("the server took %d MiB more", grown>>20)
	}
	c.stop(t)
	for _, k := range kinds {
		if digest(t, dir, k.chain) != honestDigest(t, d, k.chain) {
			t.Errorf("%s: rows differ from those of an honest run", k.name)
		}
	}
}

// look takes note of how the chain fares. Once health has told of the fault, the
// node gets well.
func (k *hostileChain) look(t *testing.T, d *devnet.Devnet, url, said string, now time.Duration) {
	t.Helper()
	now = now.Round(time.Millisecond)
	if said != "" {
		k.said = said
	}
	switch {
	case k.fault != devnet.EVMFaultNone && k.red == 0:
		if strings.Contains(said, k.tells) {
			k.red = now
			advance(k.chain, torture.Pick(8, 20))
			d.SetEVMFault(k.chain.Config().ID, devnet.EVMFaultNone)
		}
	case k.well == 0 && said == "" && isIndexed(t, url, k.chain):
		k.well = now
	}
}
