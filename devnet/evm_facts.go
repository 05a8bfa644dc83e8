package devnet

import (
	"strconv"
	"strings"
	"time"

	"quorate/devnet/evmchain"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

// evmFacts returns the facts of all EVM chains, the C-Chain first.
func (d *Devnet) evmFacts() []EVMChainFacts {
	all := []EVMChainFacts{d.evmChainFacts(d.world.CChainID(), chain.PrimaryNetworkID, "C-Chain")}
	for _, l := range d.world.L1s() {
		all = append(all, d.evmChainFacts(l.ChainID, l.SubnetID, l.Name))
	}
	return all
}

func (d *Devnet) evmChainFacts(id, subnet chain.ID, name string) EVMChainFacts {
	c, path := d.chains[id], "/ext/bc/"+id.String()
	base := d.NodeURL()
	return EVMChainFacts{
		ChainID:      strconv.FormatUint(c.Config().EVMChainID, 10),
		BlockchainID: id.String(), SubnetID: subnet.String(), Name: name,
		RPCURL: base + path + "/rpc", WSURL: "ws" + strings.TrimPrefix(base, "http") + path + "/ws",
		ChainFacts: chainFacts(c.Sample()),
	}
}

func chainFacts(s evmchain.Sample) ChainFacts {
	number, odd := strconv.FormatUint(s.Block, 10), &s.Odd
	return ChainFacts{
		Address: s.Busy.String(), NFTOwner: address(s.Owner), ERC20Token: s.Token.String(), NFTContract: s.NFT.String(),
		ERC1155Contract: s.Items.String(), SpamToken: s.Spam.String(), HostileToken: s.Hostile.String(),
		OddTokens: OddTokens{
			Wrapped: odd.Wrapped.String(), Rebasing: odd.Rebasing.String(), Taxed: odd.Taxed.String(), Phantom: odd.Phantom.String(),
			Renamed: odd.Renamed.String(), Wide: odd.Wide.String(), Old: odd.Old.String(), Revealed: odd.Revealed.String(),
		},
		Contract: address(s.Contract), ContractCreator: address(s.Creator),
		BlockID: number, BlockHash: s.BlockHash.String(), BlockNumber: number, TxHash: s.Tx.String(),
		FailedTxHash: hash(s.Failed), WarpTxHash: hash(s.Warp),
		StartBlock: s.First, EndBlock: s.Last, HolderThreshold: s.Threshold.Dec(),
		FirstDate: s.FirstTime.Format(time.DateOnly), LastDate: s.LastTime.Format(time.DateOnly),
		FirstTimestamp: s.FirstTime.Unix(), LastTimestamp: s.LastTime.Unix(),
	}
}

// address returns an address, or nothing for none.
func address(a evm.Address) string {
	if a.IsZero() {
		return ""
	}
	return a.String()
}

// hash returns a hash, or nothing for none.
func hash(h evm.Hash) string {
	if h.IsZero() {
		return ""
	}
	return h.String()
}
