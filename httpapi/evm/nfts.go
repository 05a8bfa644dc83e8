package evm

import (
	"context"
	"errors"

	"github.com/valyala/fasthttp"

	"quorate/engine/index"
	"quorate/engine/nftmeta"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

// collectionPattern is what routes about the tokens of a contract start with.
const collectionPattern = chainPattern + "/nfts/collections/{address}/tokens"

// nftRoutes are the balances of tokens with IDs, and the tokens of contracts.
func (m *Room) nftRoutes() []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:listErc1155", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the ERC-1155 balances of an address",
			ID:  94, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramBlockNumber, paramContract}, Size: pagesOf500,
			Answer: shape.ERC1155Balances{}, Make: m.onChain((*call).itemAddress, itemBalances),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:listCollectibles", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists what an address has of ERC-721 and ERC-1155 tokens",
			ID:  95, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramContract}, Size: pagesOf500,
			Answer: shape.Collectibles{}, Make: m.onChain((*call).itemAddress, collectibles),
		},
		{
			Method: fasthttp.MethodGet, Pattern: collectionPattern, Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the tokens of an ERC-721 or ERC-1155 contract",
			ID:  96, Query: []door.Param{door.ParamPageToken, door.ParamPageSize}, Size: reply.PagesOf100,
			Answer: shape.NFTs{}, Make: m.onChain((*call).itemAddress, collection),
		},
		{
			Method: fasthttp.MethodGet, Pattern: collectionPattern + "/{tokenId}", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "returns one of them",
			ID:  97, Answer: shape.NFT{}, Make: m.onChain((*call).itemAddress, singleNFT),
		},
		{
			Method: fasthttp.MethodPost, Pattern: collectionPattern + "/{tokenId}:reindex", Units: door.UnitsLarge, Chain: "chainId",
			Doc:  "has the metadata of one of them fetched again, once an hour for each",
			Home: true, Answer: shape.Nothing{}, Status: fasthttp.StatusCreated, Make: m.reindexes,
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/contracts/{address}/nfts:listHolders", Units: door.UnitsMedium,
			Key: door.KeyNever, Chain: "chainId",
			Doc: "lists who holds tokens of an ERC-721 or ERC-1155 contract, and how many different ones",
			ID:  98, Query: []door.Param{door.ParamPageToken, door.ParamPageSize}, Size: pagesOfHolders,
			Answer: shape.NFTHolders{}, Make: m.onChain((*call).itemAddress, nftHolders),
		},
	}
}

// nftSums answers nothing where the index has no sums of NFTs, or none of the height yet.
func (c *call) nftSums() *door.Failure {
	if c.V.SumsNFTs() {
		return nil
	}
	return door.Unavailable("chain " + c.Info.ChainID + " cannot answer this now: its balances of tokens with IDs are being made from the archive")
}

// itemBalances lists what an address has of ERC-1155 tokens.
func itemBalances(c *call) *door.Failure {
	if f := c.nftSums(); f != nil {
		return f
	}
	wei, f := c.native()
	if f != nil {
		return f
	}
	list, next, err := c.V.Items(c.addr, c.q.contract, c.page())
	if err != nil {
		return c.Unreadable(err)
	}
	c.W.Raw("{")
	c.W.NativeBalance(&wei)
	c.Rows("erc1155TokenBalances")
	for i := range list {
		c.W.ItemBalance(&list[i])
		if i+1 < len(list) && !c.Room() {
			next = list[i].Position()
			break
		}
	}
	return c.End(next, nil)
}

// collectibles lists the ERC-721 tokens of an address, and behind them its ERC-1155
// tokens. A position has the standard before that of the list.
func collectibles(c *call) *door.Failure {
	if f := c.nftSums(); f != nil {
		return f
	}
	kind, p := index.ERC721, c.page()
	if len(p.After) > 0 {
		kind, p.After = index.TransferKind(p.After[0]), p.After[1:]
		if len(p.After) == 0 { // from the first one on
			p.After = nil
		}
	}
	c.List("collectibleBalances")
	if kind == index.ERC721 {
		list, next, err := c.V.NFTs(c.addr, c.q.contract, p)
		if err != nil {
			return c.Unreadable(err)
		}
		for i := range list {
			c.W.OwnedNFT(&list[i], &c.addr)
			if i+1 < len(list) && !c.Room() {
				next = list[i].Position()
				break
			}
		}
		if next != nil {
			return c.End(append([]byte{byte(index.ERC721)}, next...), nil)
		}
		p.After, p.Limit = nil, p.Limit-len(list)
	}
	return c.collectibleItems(p)
}

func (c *call) collectibleItems(p index.Page) *door.Failure {
	full := p.Limit == 0 || !c.Room()
	if full {
		p.Limit = 1 // there may be one
	}
	list, next, err := c.V.Items(c.addr, c.q.contract, p)
	if err != nil {
		return c.Unreadable(err)
	}
	if full {
		if len(list) > 0 || next != nil {
			return c.End([]byte{byte(index.ERC1155)}, nil)
		}
		return c.End(nil, nil)
	}
	for i := range list {
		c.W.ItemBalance(&list[i])
		if i+1 < len(list) && !c.Room() {
			next = list[i].Position()
			break
		}
	}
	if next != nil {
		next = append([]byte{byte(index.ERC1155)}, next...)
	}
	return c.End(next, nil)
}

// collection lists the tokens of a contract.
func collection(c *call) *door.Failure {
	if f := c.nftSums(); f != nil {
		return f
	}
	list, next, err := c.V.Minted(c.addr, c.page())
	if err != nil {
		return c.Unreadable(err)
	}
	c.List("tokens")
	for i := range list {
		c.W.NFT(&list[i])
		if i+1 < len(list) && !c.Room() {
			id := list[i].ID.Bytes32()
			next = id[:]
			break
		}
	}
	return c.End(next, nil)
}

// singleNFT returns a token of a contract.
func singleNFT(c *call) *door.Failure {
	n, f := c.namedNFT()
	if f == nil {
		c.W.NFT(&n)
	}
	return f
}

// namedNFT returns the token that a path names.
func (c *call) namedNFT() (n index.SeenNFT, f *door.Failure) {
	n.Token = c.addr
	if len(c.third) == 0 || len(c.third) > view.MaxDigits || n.ID.SetFromDecimal(string(c.third)) != nil {
		return n, door.BadRequest("tokenId must be a whole number in decimal, not " + door.Excerpt(c.third))
	}
	if f := c.nftSums(); f != nil {
		return n, f
	}
	var found bool
	var err error
	if n.Kind, found, err = c.V.NFTKind(n.NFT); err != nil {
		return n, c.Unreadable(err)
	}
	if !found {
		return n, c.Absent("no token " + n.ID.Dec() + " of the contract " + c.addr.String() + " is known")
	}
	return n, nil
}

// reindexes makes the handler that has metadata fetched again. Its success has no body.
func (m *Room) reindexes(r *door.Route) door.Handler {
	return func(ctx *fasthttp.RequestCtx, p door.Params) {
		c := m.calls.Get(ctx, r)
		defer m.calls.Put(c)
		c.Params = p
		if f := c.serve((*call).itemAddress, reindex); f != nil {
			door.Fail(ctx, f)
			return
		}
		c.Q.Ignored.Tell(ctx)
		ctx.Response.SetStatusCode(r.Success())
		ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	}
}

// reindex has the metadata of a token fetched again.
func reindex(c *call) *door.Failure {
	n, f := c.namedNFT()
	switch {
	case f != nil:
		return f
	case c.EVM.NFTs == nil:
		return &door.Failure{Status: fasthttp.StatusForbidden, Message: "this server does not fetch the metadata of NFTs: its operator can have it do so by --nft-metadata"}
	}
	ctx, cancel := context.WithTimeout(c.Work, c.EVM.NodeTimeout)
	defer cancel()
	err := c.EVM.NFTs.Reindex(ctx, c.Info.BlockchainID, c.addr, n.ID)
	var soon *nftmeta.TooSoonError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &soon):
		return &door.Failure{Status: fasthttp.StatusTooManyRequests, Message: soon.Error(), RetryAfter: soon.Wait}
	case errors.Is(err, nftmeta.ErrBusy), errors.Is(err, nftmeta.ErrStopping), errors.Is(err, nftmeta.ErrNoRoom):
		return door.Unavailable(err.Error())
	}
	c.Log.Error("a token's metadata are not fetched again", "chain", c.Info.ChainID, "err", err)
	return door.Unavailable("metadata cannot be fetched again now: the database does not take it")
}

// nftHolders lists who holds tokens of a contract.
func nftHolders(c *call) *door.Failure {
	if f := c.nftSums(); f != nil {
		return f
	}
	sum, _, err := c.V.Collection(c.addr)
	if err != nil {
		return c.Unreadable(err)
	}
	list, next, err := c.V.NFTHolders(c.addr, c.page())
	if err != nil {
		return c.Unreadable(err)
	}
	c.W.Raw("{")
	c.W.Collection(&c.addr, sum)
	c.Rows("addresses")
	for i := range list {
		c.W.Holder(&list[i])
	}
	return c.End(next, nil)
}
