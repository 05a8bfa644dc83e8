package nftmeta

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/index"
)

// TestGatewayShare: a gateway whose answers take all the time there is leaves requests to
// sites on the web, and such sites leave some to it; no collection has all of a share.
func TestGatewayShare(t *testing.T) {
	t.Parallel()
	slow := func(r *http.Request) (int, string, http.Header) {
		if strings.Contains(r.URL.Path, "slow") {
			<-r.Context().Done()
			return 0, "", nil
		}
		return 200, `{"name":"x"}`, nil
	}
	for name, c := range map[string]struct{ slow, quick func(id int) string }{
		"gateway": {
			func(id int) string { return fmt.Sprintf("ipfs://%s/slow/%d", cid0, id) },
			func(id int) string { return fmt.Sprintf("https://a%d.example/%d", id%5, id) },
		},
		"web": {
			func(id int) string { return fmt.Sprintf("https://slow%d.org/slow/%d", id, id) },
			func(id int) string { return fmt.Sprintf("ipfs://%s/%d", cid0, id) },
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.web = slow
			for n := range byte(8) {
				w.add(addr(n+1), 300, func(id int) string { return c.slow(int(n)*1000 + id) })
			}
			m, stop := w.run()
			defer stop()
			w.settle(5 * time.Second) // all that may be is under way
			w.add(addr(20), 40, c.quick)
			var minted []index.NFT
			for id := range uint64(40) {
				minted = append(minted, index.NFT{Token: addr(20), ID: *uint256.NewInt(id + 1)})
			}
			m.Changed(home, minted)
			w.settle(12 * time.Second)
			for id := range uint64(40) {
				if got := token(t, m, addr(20), id+1); got.Status != Indexed {
					t.Fatalf("%s: token %d waits for those that nobody answers: %+v", name, id+1, got)
				}
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if n := w.most["gw.example"]; n > 12 {
				t.Errorf("%s: %d requests at once to the gateway", name, n)
			}
		})
	}
}
