package httpapi

import (
	"cmp"
	"strconv"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

// contractPattern is what routes about a contract as such start with.
const contractPattern = chainPattern + "/contracts/{address}"

// partRoutes are what both SDKs know besides of an address and of contracts.
func partRoutes(s *Server) []door.Route {
	byBlock := []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartBlock, door.ParamEndBlock}
	list := func(id uint8, name, doc string, answer any, run func(c *call) *door.Failure) door.Route {
		return door.Route{
			Method: fasthttp.MethodGet, Pattern: addressPattern + name, Units: door.UnitsMedium, Chain: "chainId", Doc: doc,
			ID: id, Query: byBlock, Size: reply.PagesOf100, Off: s.cfg.Chains == nil, Answer: answer, Make: onChain(s, (*call).itemAddress, run),
		}
	}
	return []door.Route{
		list(60, "/transactions:listNative", "lists the transactions that an address sent or received", shape.NativeTransactions{}, (*call).signedTxs),
		list(61, "/transactions:listErc20", "lists the ERC-20 transfers of an address", shape.TransferTransactions{}, (*call).erc20Transfers),
		list(62, "/transactions:listErc1155", "lists the ERC-1155 transfers of an address", shape.TransferTransactions{}, (*call).erc1155Transfers),
		list(63, "/transactions:listInternals", "lists the internal transactions of an address", shape.InternalTransactions{}, (*call).internalTxs),
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern, Units: door.UnitsMedium, Chain: "chainId",
			Doc: "returns what is known of a contract",
			ID:  64, Off: s.cfg.Chains == nil, Answer: shape.Contract{}, Make: onChain(s, (*call).itemAddress, (*call).contract),
		},
		{
			Method: fasthttp.MethodGet, Pattern: contractPattern + "/transactions:getDeployment", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "returns the transaction that made a contract",
			ID:  65, Query: []door.Param{door.ParamCurrency}, Off: s.cfg.Chains == nil, Answer: shape.SingleTransaction{}, Make: onChain(s, (*call).itemAddress, (*call).deploymentTx),
		},
		{
			Method: fasthttp.MethodGet, Pattern: contractPattern + "/deployments", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the contracts that an address made",
			ID:  66, Query: []door.Param{door.ParamPageToken, door.ParamPageSize}, Size: reply.PagesOf100,
			Off: s.cfg.Chains == nil, Answer: shape.Contracts{}, Make: onChain(s, (*call).itemAddress, (*call).deployments),
		},
	}
}

// signedTxs lists what an address sent, what was sent to it, and what made it.
func (c *call) signedTxs() *door.Failure {
	c.only(index.ListTxs)
	c.List("transactions")
	next, err := c.v.SignedTxs(c.addr, c.page(), c.nativeTx)
	return c.end(next, err)
}

func (c *call) erc20Transfers() *door.Failure   { return c.partTransfers(index.PartERC20) }
func (c *call) erc1155Transfers() *door.Failure { return c.partTransfers(index.PartERC1155) }

// partTransfers lists the transfers of a standard from or to an address.
func (c *call) partTransfers(kind index.Part) *door.Failure {
	c.only(index.ListTxs)
	c.List("transactions")
	next, err := c.v.AddressParts(c.addr, kind, c.page(), func(tx *index.Tx, i int) bool {
		c.W.BlockTransfer(&index.AddressedTransfer{Tx: refTo(tx), Transfer: tx.Transfers[i]})
		return c.Room()
	})
	return c.end(next, err)
}

func refTo(tx *index.Tx) index.TxRef {
	return index.TxRef{Block: tx.Block, Hash: tx.Hash, Index: tx.Index}
}

// internalTxs lists the calls from or to an address below those of transactions.
func (c *call) internalTxs() *door.Failure {
	c.only(index.ListTxs)
	c.List("transactions")
	next, err := c.v.AddressParts(c.addr, index.PartCalls, c.page(), func(tx *index.Tx, i int) bool {
		c.W.BlockCall(tx, &tx.Calls[i])
		return c.Room()
	})
	return c.end(next, err)
}

// contract returns what is known of a contract. An address that is no token, and that
// nothing has made as far as the index goes, is no contract.
func (c *call) contract() *door.Failure {
	d, f := c.deployment(&c.addr)
	if f != nil {
		return f
	}
	if _, token := c.Token(&c.addr); d == nil && !token {
		return c.noContract()
	}
	c.W.Contract(&c.addr, d)
	return nil
}

// deployment returns who made a contract, nil if the index does not know.
func (c *call) deployment(a *evm.Address) (*view.Deployment, *door.Failure) {
	tx, i, found, err := c.v.Maker(*a)
	if err != nil {
		return nil, c.readFailure(err)
	}
	if !found {
		return nil, nil
	}
	return deployedBy(tx, i), nil
}

// deployedBy says what is told of the deployment by a transaction or a call of it.
func deployedBy(tx *index.Tx, i int) *view.Deployment {
	d := &view.Deployment{Tx: tx.Hash, Deployer: tx.From}
	if i >= 0 && tx.Calls[i].From != tx.From {
		by := tx.Calls[i].From
		d.Contract = &by
	}
	return d
}

func (c *call) noContract() *door.Failure {
	message := "no contract at " + c.addr.String() + " is known to have been made on chain " + c.info.ChainID
	if first := c.v.First(); first > 0 {
		message += ", whose index begins at block " + strconv.FormatUint(first, 10)
	}
	return c.absent(message)
}

// deploymentTx returns the transaction that made a contract.
func (c *call) deploymentTx() *door.Failure {
	d, f := c.deployment(&c.addr)
	if f != nil {
		return f
	}
	if d == nil {
		return c.noContract()
	}
	tx, found, err := c.v.Tx(d.Tx)
	if err != nil {
		return c.readFailure(err)
	}
	if !found {
		return c.noContract()
	}
	info, f := c.icmOf(tx)
	if f != nil {
		return f
	}
	c.W.SingleTx(tx, info)
	return nil
}

// deployments lists the contracts that an address made.
func (c *call) deployments() *door.Failure {
	c.List("contracts")
	next, err := c.v.AddressParts(c.addr, index.PartMade, c.page(), func(tx *index.Tx, i int) bool {
		made := tx.Contract
		if i >= 0 {
			made = tx.Calls[i].To
		}
		c.W.Comma()
		c.W.Contract(&made, deployedBy(tx, i))
		return c.Room()
	})
	return c.end(next, err)
}

// chainItself makes the handler of a route that says what is known of a chain without
// reading its rows.
func chainItself(s *Server, write func(c *call, chain Chain)) door.Maker {
	return s.calls.Make(func(c *call) *door.Failure {
		if f := c.Parse(); f != nil {
			return f
		}
		name := c.Params.Values[0]
		chain, ok := s.cfg.Chains.Chain(string(name))
		if !ok {
			return noChain(name)
		}
		c.Passing = true // it changes without a block
		write(c, chain)
		return nil
	})
}

// noChain is the answer about a chain that is not followed.
func noChain(name []byte) *door.Failure {
	return door.NotFound("chain " + door.Excerpt(name) + " is not served here")
}

// chainItem writes a chain as the list of chains has it.
func (c *call) chainItem(chain Chain) {
	c.chain, c.info = chain, chain.Info()
	_, behind := chain.Syncing()
	gaps, _ := chain.Gaps()
	c.W.ChainItem(c.info, chain.Down() == nil && !behind, cmp.Or(c.Logo(nil), c.info.Token.LogoURI), chain.Settled(), gaps)
}
