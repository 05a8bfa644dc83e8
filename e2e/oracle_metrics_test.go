package e2e

import (
	"context"
	"encoding/json"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"quorate/e2e/oracle"
)

// metrics compares the metrics of a chain, and those of the group in which it is
// with others.
func (j *judge) metrics(t *testing.T, depth oracle.Depth) {
	t.Helper()
	m := oracle.NewMetrics(j.chain)
	name := j.cfg.Name
	j.part(t, "metrics", func(ctx context.Context, k *oracle.Checker) {
		if err := k.WaitMetrics(ctx, name, m); err != nil {
			t.Fatal(err)
		}
		k.Metrics(ctx, name, m, depth)
	})
	j.part(t, "windows", func(ctx context.Context, k *oracle.Checker) { k.Windows(ctx, name, m) })
	j.part(t, "refused", func(ctx context.Context, k *oracle.Checker) { k.MetricRefusals(ctx, name) })
	j.part(t, "average TPS", func(ctx context.Context, k *oracle.Checker) { k.AvgTPS(ctx, name, m) })
}

// groups compares the metrics of the groups of chains; the server follows no
// others, and none of mainnet.
func (j *judge) groups(t *testing.T, chains ...*oracle.Chain) {
	t.Helper()
	m := oracle.NewMetrics(chains...)
	j.part(t, "total", func(ctx context.Context, k *oracle.Checker) {
		k.Metrics(ctx, "total", m, oracle.Pages)
		k.Windows(ctx, "total", m)
		k.MetricRefusals(ctx, "total")
	})
	j.part(t, "testnet", func(ctx context.Context, k *oracle.Checker) { k.Metrics(ctx, "testnet", m, oracle.Whole) })
	j.part(t, "mainnet", func(ctx context.Context, k *oracle.Checker) {
		k.Metrics(ctx, "mainnet", oracle.NewMetrics(), oracle.Whole)
	})
}

// holders compares who held more of each token than a threshold, in both forms.
func (j *judge) holders(t *testing.T) {
	t.Helper()
	j.part(t, "holders", func(ctx context.Context, k *oracle.Checker) { k.Holders(ctx, j.cfg.Name) })
	sdk := j.checker(t, true)
	sdk.Holders(t.Context(), j.cfg.Name)
	if err := sdk.Err(); err != nil {
		t.Errorf("holders in the form for the SDKs: %v", err)
	}
}

// part makes some comparisons and tells of them.
func (j *judge) part(t *testing.T, name string, f func(ctx context.Context, k *oracle.Checker)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), oracleWait)
	defer cancel()
	k, begin := j.checker(t, false), time.Now()
	f(ctx, k)
	n := k.Tally()
	t.Logf("%-12s %5d lists, %6d rows, %5d pages, %5d requests in %v", name, n.Lists, n.Rows, n.Pages, n.Requests,
		time.Since(begin).Round(time.Millisecond))
	if err := k.Err(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// noticesMetrics checks that the comparison is no formality: it finds what is
// wrong. The chain is spoilt by it.
func (j *judge) noticesMetrics(t *testing.T) {
	t.Helper()
	k := j.checker(t, false)
	find := func(what string) {
		t.Helper()
		k.Metrics(t.Context(), j.cfg.Name, oracle.NewMetrics(j.chain), oracle.Whole)
		if k.Err() == nil {
			t.Errorf("%s is not noticed", what)
		}
	}
	last := j.chain.Blocks[len(j.chain.Blocks)-1]
	last.Time++
	find("a second")
	last.Time--
	last.GasUsed++
	find("a unit of gas")
	last.GasUsed--
	for _, tx := range j.chain.Txs {
		if tx.Value.ToInt().Sign() == 0 && len(tx.Transfers) == 1 {
			tx.From[0]++
			find("another sender")
			tx.From[0]--
			break
		}
	}
	for _, tx := range j.chain.Txs {
		for _, tr := range tx.Transfers {
			if tr.Kind == oracle.ERC20 {
				tr.Value = new(big.Int).Add(tr.Value, big.NewInt(1))
			}
		}
	}
	k.Holders(t.Context(), j.cfg.Name)
	if k.Err() == nil {
		t.Error("wrong balances are not noticed")
	}
}

// TestOracleMetrics holds the metrics and the lists of holders against the raw
// answers of a simulated node: two years of blocks at odd times, on the C-Chain
// and on the chain of an L1.
func TestOracleMetrics(t *testing.T) {
	beside(t)
	d, chains := startEVMDevnet(t, "--blocks", "2200", "--txs-per-block", "4", "--block-interval", "0", "--evm-chains", "1", "--scenario", "{irregular-times: true}")
	c, l1 := chains[0], chains[1]
	file := filepath.Join(testDir(t), "chains.json")
	b, err := json.Marshal(map[string]any{"chains": []any{map[string]any{
		"rpc": l1.RPCURL, "ws": l1.WSURL, "blockchain-id": l1.BlockchainID, "subnet-id": l1.SubnetID, "name": "First L1",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s := startIndexer(t, d.URL, "--chains-file", file)
	first := newJudge(t, s, c.RPCURL, c.ChainID, avaxCoin)
	first.want(t, everything...)
	second := newJudge(t, s, l1.RPCURL, l1.BlockchainID, oracle.Coin{})
	if m := oracle.NewMetrics(first.chain); quiet(m, "day") < 100 || quiet(m, "month") < 2 {
		t.Errorf("%d days and %d months without transactions, so little is compared about gaps", quiet(m, "day"), quiet(m, "month"))
	}
	first.metrics(t, oracle.AllPages)
	second.metrics(t, oracle.Pages)
	first.groups(t, first.chain, second.chain)
	first.holders(t)
	second.noticesMetrics(t)
}

// quiet counts the intervals in which nothing happened.
func quiet(m *oracle.Metrics, interval string) (n int) {
	points, _ := m.Points("txCount", interval)
	for _, p := range points {
		if p.Value.Sign() == 0 {
			n++
		}
	}
	return n
}

// TestOracleMetricsUntraced holds the metrics against a node without debug API:
// nobody knows of contracts then.
func TestOracleMetricsUntraced(t *testing.T) {
	beside(t)
	d, chains := startEVMDevnet(t, "--blocks", "200", "--txs-per-block", "3", "--block-interval", "0", "--scenario", "{history-interval: 1h, irregular-times: true}")
	proxy := httptest.NewServer(withoutDebug(t, d.URL))
	defer proxy.Close()
	s := startIndexer(t, proxy.URL)
	j := newJudge(t, s, proxy.URL+"/ext/bc/C/rpc", chains[0].ChainID, avaxCoin)
	if j.chain.Traced {
		t.Fatal("the node traces")
	}
	j.metrics(t, oracle.Pages)
	j.groups(t, j.chain)
	j.holders(t)
}
