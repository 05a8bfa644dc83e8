package evm

import (
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
func (m *Room) partRoutes() []door.Route {
	byBlock := []door.Param{door.ParamPageToken, door.ParamPageSize, paramStartBlock, paramEndBlock}
	list := func(id uint8, name, doc string, answer any, run func(c *call) *door.Failure) door.Route {
		return door.Route{
			Method: fasthttp.MethodGet, Pattern: addressPattern + name, Units: door.UnitsMedium, Chain: "chainId", Doc: doc,
			ID: id, Query: byBlock, Size: reply.PagesOf100, Answer: answer, Make: m.onChain((*call).itemAddress, run),
		}
	}
	return []door.Route{
		list(60, "/transactions:listNative", "lists the transactions that an address sent or received", shape.NativeTransactions{}, signedTxs),
		list(61, "/transactions:listErc20", "lists the ERC-20 transfers of an address", shape.TransferTransactions{}, erc20Transfers),
		list(62, "/transactions:listErc1155", "lists the ERC-1155 transfers of an address", shape.TransferTransactions{}, erc1155Transfers),
		list(63, "/transactions:listInternals", "lists the internal transactions of an address", shape.InternalTransactions{}, internalTxs),
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern, Units: door.UnitsMedium, Chain: "chainId",
			Doc: "returns what is known of a contract",
			ID:  64, Answer: shape.Contract{}, Make: m.onChain((*call).itemAddress, contract),
		},
		{
			Method: fasthttp.MethodGet, Pattern: contractPattern + "/transactions:getDeployment", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "returns the transaction that made a contract",
			ID:  65, Query: []door.Param{door.ParamCurrency}, Answer: shape.SingleTransaction{}, Make: m.onChain((*call).itemAddress, deploymentTx),
		},
		{
			Method: fasthttp.MethodGet, Pattern: contractPattern + "/deployments", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the contracts that an address made",
			ID:  66, Query: []door.Param{door.ParamPageToken, door.ParamPageSize}, Size: reply.PagesOf100,
			Answer: shape.Contracts{}, Make: m.onChain((*call).itemAddress, deployments),
		},
	}
}

// signedTxs lists what an address sent, what was sent to it, and what made it.
func signedTxs(c *call) *door.Failure {
	c.only(index.ListTxs)
	c.List("transactions")
	next, err := c.V.SignedTxs(c.addr, c.page(), c.nativeTx)
	return c.End(next, err)
}

func erc20Transfers(c *call) *door.Failure   { return c.partTransfers(index.PartERC20) }
func erc1155Transfers(c *call) *door.Failure { return c.partTransfers(index.PartERC1155) }

// partTransfers lists the transfers of a standard from or to an address.
func (c *call) partTransfers(kind index.Part) *door.Failure {
	c.only(index.ListTxs)
	c.List("transactions")
	next, err := c.V.AddressParts(c.addr, kind, c.page(), func(tx *index.Tx, i int) bool {
		c.W.BlockTransfer(&index.AddressedTransfer{Tx: refTo(tx), Transfer: tx.Transfers[i]})
		return c.Room()
	})
	return c.End(next, err)
}

func refTo(tx *index.Tx) index.TxRef {
	return index.TxRef{Block: tx.Block, Hash: tx.Hash, Index: tx.Index}
}

// internalTxs lists the calls from or to an address below those of transactions.
func internalTxs(c *call) *door.Failure {
	c.only(index.ListTxs)
	c.List("transactions")
	next, err := c.V.AddressParts(c.addr, index.PartCalls, c.page(), func(tx *index.Tx, i int) bool {
		c.W.BlockCall(tx, &tx.Calls[i])
		return c.Room()
	})
	return c.End(next, err)
}

// contract returns what is known of a contract. An address that is no token, and that
// nothing has made as far as the index goes, is no contract.
func contract(c *call) *door.Failure {
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
	tx, i, found, err := c.V.Maker(*a)
	if err != nil {
		return nil, c.Unreadable(err)
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
	message := "no contract at " + c.addr.String() + " is known to have been made on chain " + c.Info.ChainID
	if first := c.V.First(); first > 0 {
		message += ", whose index begins at block " + strconv.FormatUint(first, 10)
	}
	return c.Absent(message)
}

// deploymentTx returns the transaction that made a contract.
func deploymentTx(c *call) *door.Failure {
	d, f := c.deployment(&c.addr)
	if f != nil {
		return f
	}
	if d == nil {
		return c.noContract()
	}
	tx, found, err := c.V.Tx(d.Tx)
	if err != nil {
		return c.Unreadable(err)
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
func deployments(c *call) *door.Failure {
	c.List("contracts")
	next, err := c.V.AddressParts(c.addr, index.PartMade, c.page(), func(tx *index.Tx, i int) bool {
		made := tx.Contract
		if i >= 0 {
			made = tx.Calls[i].To
		}
		c.W.Comma()
		c.W.Contract(&made, deployedBy(tx, i))
		return c.Room()
	})
	return c.End(next, err)
}
