package ui

import (
	"strings"

	"quorate/httpapi/shape"
)

func (s *Site) txPages() []Page {
	return []Page{{Pattern: "/chain/{chain}/tx/{hash}", Units: 60, Serve: serveTx}}
}

// warpPrecompile is the address that sends warp messages, on every EVM chain.
const warpPrecompile = "0x0200000000000000000000000000000000000005"

const (
	// maxMoves bounds the transfers and calls that the page of a transaction has rows for.
	maxMoves = 250
	// maxInput bounds the input of a transaction that is shown, in hex digits.
	maxInput = 4096
)

// txPage is what the page of a transaction shows.
type txPage struct {
	Chain *evmChain
	Tx    *evmTx
	Full  shape.FullNativeTransaction // with Tx
	Coin  shape.NetworkToken

	Transfers     []transfer
	MoreTransfers int

	Traced    bool // calls are known
	Calls     []nested
	MoreCalls int
	Paid      []evmCall // calls that moved the chain's coin

	LogsKnown   bool
	Logs        []shownLog
	MoreLogs    int
	LogsRefused *Error

	InputBytes int
	InputMore  bool

	Operator   bool // may go to the page that signs
	Warp       bool // the transaction called the warp precompile
	ICM        *shape.ICMInfo
	Message    *icmMessage
	ICMRefused *Error
}

func serveTx(r *Request) error {
	c, err := r.chain()
	if err != nil {
		return err
	}
	var said struct {
		NativeTransaction                                 shape.FullNativeTransaction
		NetworkTokenDetails                               shape.NetworkTokenDetails
		ERC20Transfers, ERC721Transfers, ERC1155Transfers []transfer
		InternalTransactions                              []evmCall
		TeleporterMessageInfo                             *shape.ICMInfo
	}
	if err := r.Get(c.chainPath("transactions", r.Param("hash")), &said); err != nil {
		return err
	}
	p := txPage{Chain: c, Full: said.NativeTransaction, Coin: said.NetworkTokenDetails.NetworkToken,
		Operator: r.Operator(), ICM: said.TeleporterMessageInfo}
	p.Tx = (*evmTx)(&p.Full.NativeTransaction)
	p.setTransfers(said.ERC20Transfers, said.ERC721Transfers, said.ERC1155Transfers)
	p.setCalls(said.InternalTransactions)
	p.setInput()
	if err := p.setLogs(r); err != nil {
		return err
	}
	if p.ICM != nil {
		var m icmMessage
		if p.ICMRefused, err = r.part(join("/v1/icm/messages", string(p.ICM.TeleporterMessageID)), &m); err != nil {
			return err
		}
		if p.ICMRefused == nil {
			p.Message = &m
		}
	}
	return r.Render("tx", "Transaction "+short(p.Tx.TxHash), &p)
}

func (p *txPage) setTransfers(lists ...[]transfer) {
	for _, list := range lists {
		p.Transfers = append(p.Transfers, list...)
	}
	p.Transfers = inOrder(p.Transfers)
	if n := len(p.Transfers); n > maxMoves {
		p.Transfers, p.MoreTransfers = p.Transfers[:maxMoves], n-maxMoves
	}
}

func (p *txPage) setCalls(calls []evmCall) {
	p.Traced = calls != nil
	p.Warp = strings.EqualFold(string(p.Tx.To.Address), warpPrecompile) && !p.Tx.Failed()
	for i := range calls {
		c := &calls[i]
		if c.Moves() {
			p.Paid = append(p.Paid, *c)
		}
		p.Warp = p.Warp || strings.EqualFold(string(c.To.Address), warpPrecompile) && c.sends() && !p.Tx.Failed()
	}
	if n := len(calls); n > maxMoves {
		calls, p.MoreCalls = calls[:maxMoves], n-maxMoves
	}
	if n := len(p.Paid); n > maxMoves {
		p.Paid = p.Paid[:maxMoves]
	}
	p.Calls = tree(string(p.Tx.To.Address), calls)
}

// sends reports whether a call of the warp precompile can have sent a message: what only
// reads, such as a message that was received, is asked by static calls.
func (c *evmCall) sends() bool { return !c.IsReverted && c.InternalTxType != "STATICCALL" }

func (p *txPage) setInput() {
	hex := strings.TrimPrefix(string(p.Full.Input), "0x")
	p.InputBytes = len(hex) / 2
	if len(hex) > maxInput {
		p.Full.Input, p.InputMore = shape.Hex("0x"+hex[:maxInput]), true
	}
}

// Moved reports whether the transaction itself paid its receiver.
func (p *txPage) Moved() bool {
	return !p.Tx.Failed() && p.Tx.Value != "" && p.Tx.Value != "0"
}

// SignPath returns where the API answers the signed messages of the transaction.
func (p *txPage) SignPath() string {
	return join("/v1/signatureAggregator", p.Chain.Network(), "aggregateSignatures", string(p.Tx.TxHash))
}

// nested is a call with how deep it is below the transaction, at least 1.
type nested struct {
	evmCall
	Depth int
}

// maxDepth is how deep calls are shown to be: the EVM allows a thousand, a page does not.
const maxDepth = 12

// tree says how deep each call is. The API lists calls in the order in which they began,
// without depth: a call belongs below the nearest one before it that ran as its caller.
// Code that a delegate call runs acts as the caller's own address.
func tree(to string, calls []evmCall) []nested {
	list := make([]nested, len(calls))
	acting := []string{strings.ToLower(to)} // by depth: who calls from there
	for i, c := range calls {
		from := strings.ToLower(string(c.From.Address))
		depth := len(acting) - 1
		for depth > 0 && acting[depth] != from {
			depth--
		}
		own := strings.ToLower(string(c.To.Address))
		if c.InternalTxType == "DELEGATECALL" || c.InternalTxType == "CALLCODE" {
			own = from
		}
		acting = append(acting[:depth+1], own)
		list[i] = nested{c, min(depth+1, maxDepth)}
	}
	return list
}
