package e2e

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

// realPages returns an address of each page that a network without history has, from what
// the server's API says.
func realPages(t *testing.T, s *server) (paths []string, chain string) {
	t.Helper()
	ask := func(path string, into any) {
		t.Helper()
		a, err := s.client.Get(t.Context(), path)
		if err == nil {
			err = json.Unmarshal(a.Body, into)
		}
		if err != nil || a.Status != 200 {
			t.Fatalf("%s: %v, %s", path, err, a)
		}
	}
	var chains struct{ Chains []struct{ ChainID string } }
	ask("/v1/chains", &chains)
	var txs struct {
		Transactions []struct {
			TxHash, BlockNumber string
			From                struct{ Address string }
		}
	}
	var validators struct{ Validators []struct{ NodeID string } }
	ask("/v1/chains/C/transactions?pageSize=1", &txs)
	ask("/v1/networks/fuji/validators?pageSize=1", &validators)
	if len(chains.Chains) == 0 || len(txs.Transactions) == 0 || len(validators.Validators) == 0 {
		t.Fatalf("%d chains, %d transactions, %d validators", len(chains.Chains), len(txs.Transactions), len(validators.Validators))
	}
	chain, tx := "/chain/"+chains.Chains[0].ChainID, txs.Transactions[0]
	return []string{
		"/", "/search?q=" + tx.TxHash, "/api", "/icm", "/signatures", "/validators", "/ops", "/signatures/message",
		"/primary", "/primary/validators", "/primary/delegations", "/primary/subnets", "/primary/blockchains", "/primary/vertices",
		"/primary/p", "/primary/x", "/primary/c", "/primary/c/block/1", "/primary/validator/" + validators.Validators[0].NodeID,
		chain, chain + "/blocks", chain + "/txs", chain + "/metrics", chain + "/metrics/txCount", chain + "/icm",
		chain + "/block/" + tx.BlockNumber, chain + "/tx/" + tx.TxHash, chain + "/address/" + tx.From.Address,
	}, chain
}

// TestPagesOfNetwork opens the pages of a server that follows a real network, whose
// C-Chain accepts blocks meanwhile.
func TestPagesOfNetwork(t *testing.T) {
	inTurn(t)
	program, browser, w := installSDKs(t), findBrowser(t), useNetwork(t)
	s := startIndexer(t, w.entry(), "--api-admin-enabled", "--genesis-file", localGenesis(t, testDir(t)))
	messages := w.emit(t, 3)
	s.awaitMetric(t, "quorate_index_height", "C", float64(messages[2].Block))
	s.awaitMetric(t, "quorate_index_height", "C-containers", float64(messages[2].Block))
	paths, chain := realPages(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for {
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-time.After(2 * time.Second):
			}
			if _, err := w.emitter.Send(ctx, payloads(1)); err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
		}
	}()
	judgePages(t, program, browser, s.URL, paths, map[string]string{"/": "#blocks", chain: "main", "/signatures": "#rates"})
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("emit messages: %v", err)
	}
}
