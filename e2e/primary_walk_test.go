package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"github.com/ava-labs/avalanchego/utils/constants"
	platformapi "github.com/ava-labs/avalanchego/vms/platformvm/api"

	"quorate/e2e/ledger"
	"quorate/e2e/verify"
)

// walkedPage is the size of the pages that lists are walked with while blocks arrive.
const walkedPage = 3

// walked is a list that is walked from one end to the other, again and again.
type walked struct {
	chain, list, id string
	ascending       bool
	walks           [][]string
}

// A walker walks lists until it is stopped.
type walker struct {
	lists []*walked
	stop  context.CancelFunc
	done  chan error
}

// walkAll begins to walk the blocks and transactions of all chains, both ways where the
// list has both.
func (s *server) walkAll(ctx context.Context) *walker {
	ctx, stop := context.WithCancel(ctx)
	w := &walker{stop: stop, done: make(chan error, 1)}
	for _, chain := range []string{"p-chain", "x-chain", "c-chain"} {
		w.lists = append(w.lists,
			&walked{chain: chain, list: "blocks", id: "blockHash"},
			&walked{chain: chain, list: "transactions", id: "txHash"},
			&walked{chain: chain, list: "transactions", id: "txHash", ascending: true})
	}
	go func() { w.done <- w.run(ctx, s) }()
	return w
}

func (w *walker) run(ctx context.Context, s *server) error {
	for {
		for _, l := range w.lists {
			ids, ok, err := l.walk(ctx, s)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				return err
			case ok:
				l.walks = append(l.walks, ids)
			}
		}
	}
}

// walk reads all pages; ok is false while the chain's first block is awaited.
func (l *walked) walk(ctx context.Context, s *server) (ids []string, ok bool, err error) {
	path := "/v1/networks/fuji/blockchains/" + l.chain + "/" + l.list + "?pageSize=" + strconv.Itoa(walkedPage)
	if l.ascending {
		path += "&sortOrder=asc"
	}
	for next := path; ; {
		a, err := s.client.Get(ctx, next)
		if err != nil {
			return nil, false, err
		}
		if a.Status == http.StatusServiceUnavailable && len(l.walks) == 0 && next == path {
			return nil, false, nil
		}
		var page map[string]json.RawMessage
		var items []map[string]any
		if err := json.Unmarshal(a.Body, &page); err != nil {
			return nil, false, err
		}
		if err := json.Unmarshal(page[l.list], &items); err != nil {
			return nil, false, fmt.Errorf("%s: %w in %v", next, err, a)
		}
		for _, item := range items {
			ids = append(ids, fmt.Sprint(item[l.id]))
		}
		var token string
		if page["nextPageToken"] == nil {
			return ids, true, nil
		}
		if err := json.Unmarshal(page["nextPageToken"], &token); err != nil {
			return nil, false, err
		}
		next = path + "&pageToken=" + url.QueryEscape(token)
	}
}

// judge ends the walks. Each has to have all that there was when it began, in order and
// once: from the newest of that time to the first, or from the first to at least that.
func (w *walker) judge(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	w.stop()
	if err := <-w.done; err != nil {
		t.Error(err)
	}
	walks, grown := 0, 0
	for _, list := range w.lists {
		all := idsOf(l, list.chain, list.list)
		seen := 0
		for _, ids := range list.walks {
			walks++
			if !list.ascending {
				ids = slices.Clone(ids)
				slices.Reverse(ids)
			}
			if len(ids) < seen || len(ids) > len(all) || !slices.Equal(ids, all[:min(len(ids), len(all))]) {
				t.Errorf("%s of %s (ascending: %v): %v after %d, want the first of %v", list.list, list.chain, list.ascending, ids, seen, all)
				break
			}
			if len(ids) > seen {
				grown++
			}
			seen = len(ids)
		}
		if len(list.walks) == 0 {
			t.Errorf("%s of %s were never walked", list.list, list.chain)
		}
	}
	t.Logf("%d walks, %d of which found more than the one before", walks, grown)
}

// idsOf returns the IDs of a list from the first on.
func idsOf(l *ledger.Ledger, chain, list string) (ids []string) {
	c := map[string]*ledger.Chain{"p-chain": l.P, "x-chain": l.X, "c-chain": l.C}[chain]
	if list == "blocks" {
		for _, b := range c.Blocks {
			ids = append(ids, b.ID.String())
		}
		return ids
	}
	for _, tx := range c.Txs {
		ids = append(ids, tx.ID.String())
	}
	return ids
}

// signHeights has a message signed by the validators of each height of the P-Chain:
// avalanchego's own code accepts the signature by the set that the node has there.
func (w *world) signHeights(ctx context.Context, t *testing.T, s *server, unsigned []byte, last uint64) {
	t.Helper()
	const used, differ = "quorate_valset_own_sets_total", "quorate_valset_own_differences_total"
	before := s.metric(t, used)
	for h := uint64(1); h <= last; h++ {
		r := request(unsigned, 0)
		r.PChainHeight = h
		signed, err := s.post(t, r).Signed()
		if err != nil {
			t.Fatalf("at height %d: %v", h, err)
		}
		v, err := verify.Fetch(ctx, w.entry(), constants.PrimaryNetworkID, platformapi.Height(h))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Verify(signed, unsigned, quorum, 100); err != nil {
			t.Errorf("by the validators at height %d: %v", h, err)
		}
	}
	// The sets come from the server's own rows, a sample of which it compares itself.
	if got, wrong := s.metric(t, used)-before, s.metric(t, differ); got == 0 || wrong != 0 {
		t.Errorf("%v sets of own rows were used, %v were not the node's", got, wrong)
	}
}
