package follow

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"quorate/engine/actor"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	evmsource "quorate/engine/source/evm"
)

const (
	// tokenPage is how many tokens are asked before what they said is kept.
	tokenPage = 64
	// maxTokenNews bounds what waits to be asked.
	maxTokenNews = 4096
	// tokenPause is the wait after the node could not be asked.
	tokenPause = 5 * time.Second
)

// tokenLane asks contracts what tokens they are, beside the index and never in
// its way. What is to be asked lies in the index, and is looked for there when
// the lane begins and when it could not take what it was told.
type tokenLane struct {
	chain *EVM
	log   *slog.Logger
	news  *actor.Mailbox[any] // of index.SeenToken and index.SeenNFT
}

func newTokenLane(c *EVM, log *slog.Logger) *tokenLane {
	return &tokenLane{chain: c, log: log, news: actor.NewMailbox[any](maxTokenNews, actor.Shed)}
}

// seen is told by the index of tokens that were moved or minted. What finds no
// room is counted by the mailbox, and found in the index later.
func (l *tokenLane) seen(tokens []index.SeenToken, nfts []index.SeenNFT) {
	for _, t := range tokens {
		_ = l.news.TrySend(t)
	}
	for _, n := range nfts {
		_ = l.news.TrySend(n)
	}
}

// run asks what has not been asked, until ctx ends.
func (l *tokenLane) run(ctx context.Context) error {
	var batch []any
	var lost uint64
	search := true
	for ctx.Err() == nil {
		if search {
			lost = l.news.Shed()
			if !l.until(ctx, func() error { return l.search(ctx) }) {
				return nil
			}
			search = false
		}
		select {
		case <-l.news.Ready():
		case <-ctx.Done():
			return nil
		}
		batch = l.news.Drain(batch)
		for page := range slices.Chunk(batch, tokenPage) {
			var tokens []index.SeenToken
			var nfts []index.SeenNFT
			for _, item := range page {
				switch item := item.(type) {
				case index.SeenToken:
					tokens = append(tokens, item)
				case index.SeenNFT:
					nfts = append(nfts, item)
				}
			}
			if !l.until(ctx, func() error { return l.ask(ctx, tokens, nfts) }) {
				return nil
			}
		}
		search = l.news.Shed() != lost
	}
	return nil
}

// until does f until it succeeds; false means that ctx has ended.
func (l *tokenLane) until(ctx context.Context, f func() error) bool {
	for failures := 0; ; failures++ {
		err := f()
		if err == nil || ctx.Err() != nil {
			return ctx.Err() == nil
		}
		if failures == 0 {
			l.log.Warn("tokens cannot be asked for their names for now", "chain", l.chain.cfg.Name, "err", err)
		}
		select {
		case <-time.After(tokenPause):
		case <-ctx.Done():
			return false
		}
	}
}

// search asks everything in the index that was not asked.
func (l *tokenLane) search(ctx context.Context) error {
	var tokensAt, nftsAt []byte
	for first := true; first || tokensAt != nil || nftsAt != nil; first = false {
		v, err := l.chain.index.At(nil)
		if errors.Is(err, index.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		var tokens []index.SeenToken
		var nfts []index.SeenNFT
		if first || tokensAt != nil {
			tokens, tokensAt, err = v.TokensWithoutMeta(index.Page{After: tokensAt, Limit: tokenPage})
		}
		if err == nil && (first || nftsAt != nil) {
			nfts, nftsAt, err = v.NFTsWithoutURI(index.Page{After: nftsAt, Limit: tokenPage})
		}
		v.Close() // asking the node takes long, and a view holds rows back
		if err != nil {
			return err
		}
		if err := l.ask(ctx, tokens, nfts); err != nil {
			return err
		}
	}
	return nil
}

// ask asks contracts and keeps what they said.
func (l *tokenLane) ask(ctx context.Context, tokens []index.SeenToken, nfts []index.SeenNFT) error {
	if err := l.chain.cfg.Room(); err != nil {
		return err
	}
	meta := make(map[evm.Address]index.TokenMeta, len(tokens))
	for _, t := range tokens {
		info, err := l.chain.client.Token(ctx, t.Token)
		if err != nil {
			return err
		}
		kind := kindOf(info.Kind)
		if kind == 0 {
			kind = t.Kind
		}
		meta[t.Token] = index.TokenMeta{
			Name: info.Name, Symbol: info.Symbol, Decimals: info.Decimals, HasDecimals: info.HasDecimals, Kind: kind,
		}
	}
	uris := make(map[index.NFT]string, len(nfts))
	for _, n := range nfts {
		kind := evmsource.ERC721
		if n.Kind == index.ERC1155 {
			kind = evmsource.ERC1155
		}
		uri, err := l.chain.client.TokenURI(ctx, n.Token, &n.ID, kind)
		if err != nil {
			return err
		}
		uris[n.NFT] = uri
	}
	return errors.Join(l.chain.index.PutTokens(ctx, meta), l.chain.index.PutTokenURIs(ctx, uris))
}

// kindOf translates what a contract says of itself.
func kindOf(k evmsource.Kind) index.TransferKind {
	switch k {
	case evmsource.ERC20:
		return index.ERC20
	case evmsource.ERC721:
		return index.ERC721
	case evmsource.ERC1155:
		return index.ERC1155
	}
	return 0
}
