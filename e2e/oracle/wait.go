package oracle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/ava-labs/libevm/common"
)

// askEvery is how often something awaited is asked for.
const askEvery = 20 * time.Millisecond

// poll asks until done says true.
func poll(ctx context.Context, what string, done func() (bool, error)) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var last error
	for {
		ok, err := done()
		if ok {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %w", what, ctx.Err(), last)
		}
	}
}

// WaitIndexed waits until the server has a block.
func (k *Checker) WaitIndexed(ctx context.Context, height uint64) error {
	path := fmt.Sprintf("%s/blocks/%d/transactions", k.base, height)
	return poll(ctx, fmt.Sprintf("block %d", height), func() (bool, error) {
		status, body, err := k.client.get(ctx, path, nil)
		return status == http.StatusOK, errors.Join(err, fmt.Errorf("status %d: %s", status, show(body)))
	})
}

// WaitTokens waits until the server has asked all tokens what they are, which
// it does beside the index: then the transfers of each are as they must be.
func (k *Checker) WaitTokens(ctx context.Context) error {
	for token := range k.cfg.Chain.Tokens {
		all := k.transfers(func(t *Transfer) bool { return t.Token == token })
		want := newestFirst(all, func(t *Transfer) any { return k.f.blockTransfer(t) })
		err := poll(ctx, "token "+token.Hex(), func() (bool, error) {
			w, err := k.client.walk(ctx, &list{path: k.base + "/tokens/" + token.Hex() + "/transfers", name: "transfers"}, 100, len(want)+1)
			if err != nil {
				return false, err
			}
			if d := diff(nil, token.Hex(), want, w.rows); len(d) > 0 {
				return false, fmt.Errorf("%d differences, first: %s", len(d), d[0])
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// WaitUneven waits until the server has found the tokens whose events do not add up:
// then the balances of each are as its contract says.
func (k *Checker) WaitUneven(ctx context.Context) error {
	tip := k.cfg.Chain.Tip()
	for h := range k.cfg.Chain.everHeld(tip) {
		if !k.cfg.Chain.Uneven[h.token] {
			continue
		}
		want := k.f.coins(h.holder, tip, []common.Address{h.token})
		query := url.Values{"contractAddresses": {h.token.Hex()}, "filterSpamTokens": {"false"}}
		if err := poll(ctx, "uneven token "+h.token.Hex(), func() (bool, error) {
			w, err := k.client.walk(ctx, &list{path: k.ofAddress(h.holder) + "/balances:listErc20", query: query, name: "erc20TokenBalances"}, 10, len(want)+1)
			if err != nil {
				return false, err
			}
			if d := diff(nil, h.holder.Hex(), want, w.rows); len(d) > 0 {
				return false, fmt.Errorf("%d differences, first: %s", len(d), d[0])
			}
			return true, nil
		}); err != nil {
			return err
		}
	}
	return nil
}
