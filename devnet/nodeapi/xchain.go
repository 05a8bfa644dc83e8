package nodeapi

import (
	"errors"
	"fmt"
	"slices"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/utxo"
)

type assetReply struct {
	AssetID      chainID `json:"assetID"`
	Name         string  `json:"name"`
	Symbol       string  `json:"symbol"`
	Denomination number  `json:"denomination"`
}

type balance struct {
	Asset   string `json:"asset"`
	Balance number `json:"balance"`
}

// avmService is the X-Chain's.
func (p *primaryAPI) avmService() *service {
	return &service{name: "avm", methods: map[string]method{
		"getHeight": call(func(none) (any, error) { return heightReply{number(len(p.seen(p.c.AVM())))}, nil }),
		"getBlockByHeight": call(func(args blockArgs) (any, error) {
			return p.byHeight(p.c.XFirst(), p.c.AVM(), futureX, uint64(args.Height), args.Encoding)
		}),
		"getBlock": call(func(args blockIDArgs) (any, error) {
			return p.byID(p.world.XChainID(), p.c.XFirst(), p.c.AVM(), args)
		}),
		"getTx":               call(p.avmTx),
		"getTxStatus":         call(p.avmTxStatus),
		"getUTXOs":            call(func(args getUTXOsArgs) (any, error) { return p.getUTXOs("X", args) }),
		"getAssetDescription": call(p.assetDescription),
		"getBalance":          call(p.avmBalance),
		"getAllBalances":      call(p.avmBalances),
		"getTxFee": call(func(none) (any, error) {
			return struct {
				TxFee            number `json:"txFee"`
				CreateAssetTxFee number `json:"createAssetTxFee"`
			}{1_000_000, 1_000_000}, nil
		}),
	}}
}

func (p *primaryAPI) avmTx(args txArgs) (reply any, err error) {
	if chain.ID(args.TxID).IsZero() {
		return nil, errors.New("nil transaction ID")
	}
	err = errNotFound
	p.c.ReadX(func(x *primary.XState) {
		if r := x.Txs[chain.ID(args.TxID)]; r != nil {
			reply, err = args.Encoding.tx(r)
		}
	})
	return reply, err
}

func (p *primaryAPI) avmTxStatus(args txArgs) (any, error) {
	if chain.ID(args.TxID).IsZero() {
		return nil, errors.New("nil transaction ID")
	}
	status := "Unknown"
	p.c.ReadX(func(x *primary.XState) {
		if x.Txs[chain.ID(args.TxID)] != nil {
			status = "Accepted"
		}
	})
	return struct {
		Status string `json:"status"`
	}{status}, nil
}

// assetID resolves the one alias that there is.
func (p *primaryAPI) assetID(text string) (chain.ID, error) {
	if text == "AVAX" {
		return p.world.AssetID(), nil
	}
	id, err := chain.ParseID(text)
	if err != nil {
		return id, fmt.Errorf("asset '%s' not found", text)
	}
	return id, nil
}

func (p *primaryAPI) assetDescription(args struct {
	AssetID string `json:"assetID"`
}) (reply any, err error) {
	id, err := p.assetID(args.AssetID)
	if err != nil {
		return nil, err
	}
	p.c.ReadX(func(x *primary.XState) {
		asset := x.Assets[id]
		switch {
		case asset != nil:
			reply = assetReply{chainID(id), asset.Name, asset.Symbol, number(asset.Denomination)}
		case x.Txs[id] != nil:
			err = errors.New("transaction doesn't create an asset")
		default:
			err = errNotFound
		}
	})
	return reply, err
}

type balanceArgs struct {
	Address        string `json:"address"`
	AssetID        string `json:"assetID"`
	IncludePartial bool   `json:"includePartial"`
}

// amounts returns what an address owns on the X-Chain, sorted by asset.
func (p *primaryAPI) amounts(args balanceArgs) (all []*utxo.UTXO, err error) {
	addr, err := address.ParseOn(args.Address, world.NetworkID, "X")
	if err != nil {
		return nil, fmt.Errorf("problem parsing address '%s': %w", args.Address, err)
	}
	p.c.ReadX(func(x *primary.XState) {
		for _, u := range x.UTXOs {
			if u.Kind == utxo.TransferOutput && slices.Contains(u.Addresses, addr) && (args.IncludePartial || len(u.Addresses) == 1) {
				all = append(all, u)
			}
		}
	})
	slices.SortFunc(all, func(a, b *utxo.UTXO) int { return slices.Compare(a.Asset[:], b.Asset[:]) })
	return all, nil
}

func (p *primaryAPI) avmBalance(args balanceArgs) (any, error) {
	id, err := p.assetID(args.AssetID)
	if err != nil {
		return nil, err
	}
	all, err := p.amounts(args)
	var reply struct {
		Balance number    `json:"balance"`
		UTXOIDs []utxoRef `json:"utxoIDs"`
	}
	reply.UTXOIDs = []utxoRef{}
	for _, u := range all {
		if u.Asset == id {
			reply.Balance += number(u.Amount)
			reply.UTXOIDs = append(reply.UTXOIDs, utxoRef{chainID(u.TxID), u.Index})
		}
	}
	return reply, err
}

func (p *primaryAPI) avmBalances(args balanceArgs) (any, error) {
	all, err := p.amounts(args)
	reply := struct {
		Balances []balance `json:"balances"`
	}{[]balance{}}
	for _, u := range all {
		name := u.Asset.String()
		if u.Asset == p.world.AssetID() {
			name = "AVAX"
		}
		if n := len(reply.Balances); n == 0 || reply.Balances[n-1].Asset != name {
			reply.Balances = append(reply.Balances, balance{Asset: name})
		}
		reply.Balances[len(reply.Balances)-1].Balance += number(u.Amount)
	}
	return reply, err
}
