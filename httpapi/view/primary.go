package view

import (
	"strconv"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/engine/primary/xchain"
)

// Primary is what a [Writer] has to know of a network to write about its primary
// network.
type Primary struct {
	Network string // as the client called it
	Prefix  string // of addresses
	AVAX    chain.ID
	Chain   chain.ID // of the chain that is read
	// Asset returns what is known of an asset, nil if nothing is. It may be nil.
	Asset func(id *chain.ID) *xchain.Asset
	// Genesis returns what is shown of the genesis data of a blockchain.
	Genesis func(id *chain.ID) *Genesis
	// Texts are those of IDs that were written before; it may be nil.
	Texts *Texts
}

// The network's coin.
const (
	avaxName         = "Avalanche"
	avaxSymbol       = "AVAX"
	avaxDenomination = 9
)

// id writes a member with an ID in CB58.
func (w *Writer) id(name string, id *chain.ID) {
	w.Member(name)
	w.B = w.Primary.Texts.append(w.B, id)
}

func (w *Writer) ids(name string, list []chain.ID) {
	w.Member(name)
	w.B = append(w.B, '[')
	for i := range list {
		w.Comma()
		w.B = w.Primary.Texts.append(w.B, &list[i])
	}
	w.B = append(w.B, ']')
}

func (w *Writer) node(name string, id *chain.NodeID) {
	w.Member(name)
	w.B = append(id.Append(append(w.B, '"')), '"')
}

// holders writes addresses of the P- or the X-Chain, without the chain.
func (w *Writer) holders(name string, list []address.Address) {
	w.Member(name)
	w.B = append(w.B, '[')
	for i := range list {
		w.Comma()
		w.B = append(list[i].Append(append(w.B, '"'), w.Primary.Prefix), '"')
	}
	w.B = append(w.B, ']')
}

// whole writes a member with a whole number, as such.
func (w *Writer) whole(name string, n uint64) {
	w.Member(name)
	w.B = strconv.AppendUint(w.B, n, 10)
}

// PrimaryChain writes the member that says which chain an answer is about.
func (w *Writer) PrimaryChain(k primary.Kind) {
	w.Member("chainInfo")
	w.B = append(w.B, '{')
	w.text("chainName", k.String())
	w.text("network", w.Primary.Network)
	w.B = append(w.B, '}')
}

// Subnet writes a subnet with its blockchains. Their genesis data are shown as long as
// room reports true: a subnet has any number of them.
func (w *Writer) Subnet(s *primary.Subnet, room func() bool) {
	w.Comma()
	w.B = append(w.B, '{')
	w.whole("createBlockTimestamp", s.Time)
	w.count("createBlockIndex", s.Height)
	w.id("subnetId", &s.ID)
	w.holders("ownerAddresses", s.Owners.Addresses)
	w.whole("threshold", uint64(s.Owners.Threshold))
	w.whole("locktime", s.Owners.Locktime)
	w.ownership(&s.Owners)
	w.boolean("isL1", !s.Conversion.IsZero())
	if !s.Conversion.IsZero() {
		w.id("l1ConversionTransactionHash", &s.Conversion)
		w.manager(&s.ManagerChain, s.ManagerAddress)
	}
	w.Member("blockchains")
	w.B = append(w.B, '[')
	for i := range s.Blockchains {
		w.blockchain(&s.Blockchains[i], room())
	}
	w.B = append(w.B, "]}"...)
}

func (w *Writer) ownership(o *utxo.Owners) {
	w.Member("subnetOwnershipInfo")
	w.B = append(w.B, '{')
	w.whole("locktime", o.Locktime)
	w.whole("threshold", uint64(o.Threshold))
	w.holders("addresses", o.Addresses)
	w.B = append(w.B, '}')
}

// manager writes where the contract is that manages the validators of an L1. An
// address of another length than that of the EVM is one of another virtual machine.
func (w *Writer) manager(id *chain.ID, contract []byte) {
	w.Member("l1ValidatorManagerDetails")
	w.B = append(w.B, '{')
	w.id("blockchainId", id)
	if len(contract) == evm.AddressLen {
		w.address("contractAddress", (*evm.Address)(contract))
	} else {
		w.Member("contractAddress")
		w.B = append(AppendHex(append(w.B, '"'), contract), '"')
	}
	w.B = append(w.B, '}')
}

// Blockchain writes a blockchain.
func (w *Writer) Blockchain(b *primary.Blockchain) { w.blockchain(b, true) }

// blockchain writes a blockchain, with its genesis data or without. evmChainId is 0 where there is none: an SDK demands
// it.
func (w *Writer) blockchain(b *primary.Blockchain, genesis bool) {
	w.Comma()
	w.B = append(w.B, '{')
	w.whole("createBlockTimestamp", b.Time)
	w.count("createBlockNumber", b.Height)
	w.id("blockchainId", &b.ID)
	w.id("vmId", &b.VM)
	w.id("subnetId", &b.Subnet)
	w.text("blockchainName", b.Name)
	var g Genesis
	if genesis {
		g = *w.Primary.Genesis(&b.ID)
	}
	w.whole("evmChainId", g.ChainID)
	if g.JSON != nil {
		w.Member("genesisData")
		w.B = append(w.B, g.JSON...)
	}
	w.B = append(w.B, '}')
}

// stakeOf begins a reward with what it is for.
func (w *Writer) stakeOf(r *primary.Reward) {
	w.Comma()
	w.B = append(w.B, '{')
	w.holders("addresses", r.Owners.Addresses)
	w.id("txHash", &r.TxID)
	w.count("amountStaked", r.Staked)
	w.node("nodeId", &r.Node)
	w.whole("startTimestamp", r.Start)
	w.whole("endTimestamp", r.End)
	w.text("rewardType", rewardType(r.Kind))
}

// HistoricalReward writes a reward that was paid. What it was worth at the time is not
// known, and left out.
func (w *Writer) HistoricalReward(r *primary.Reward) {
	w.stakeOf(r)
	id := r.Ref.ID()
	w.id("utxoId", &id)
	w.whole("outputIndex", uint64(r.Ref.Index))
	w.Member("reward")
	w.asset(&r.Asset, r.Amount)
	w.id("rewardTxHash", &r.RewardTx)
	w.B = append(w.B, '}')
}

func rewardType(k primary.RewardKind) string {
	switch k {
	case primary.DelegatorReward:
		return "DELEGATOR"
	case primary.ValidatorFee:
		return "VALIDATOR_FEE"
	case primary.ValidatorReward:
	}
	return "VALIDATOR"
}

// asset writes an amount of an asset. What it is called is only known of the network's
// coin and of the assets of the X-Chain.
func (w *Writer) asset(id *chain.ID, amount uint64) {
	w.B = append(w.B, '{')
	w.id("assetId", id)
	nft := false
	if *id == w.Primary.AVAX {
		w.text("name", avaxName)
		w.text("symbol", avaxSymbol)
		w.whole("denomination", avaxDenomination)
	} else if a := w.knownAsset(id); a != nil {
		w.text("name", a.Name)
		w.text("symbol", a.Symbol)
		w.whole("denomination", uint64(a.Denomination))
		nft = a.NFT
	} else {
		w.demanded("name", "")
		w.demanded("symbol", "")
		w.unknownNumber("denomination")
	}
	w.text("type", assetType(nft))
	w.count("amount", amount)
	w.B = append(w.B, '}')
}

func (w *Writer) knownAsset(id *chain.ID) *xchain.Asset {
	if w.Primary.Asset == nil {
		return nil
	}
	return w.Primary.Asset(id)
}

func assetType(nft bool) string {
	if nft {
		return "nft"
	}
	return "secp256k1"
}

// Delegator writes a delegator. While it is active or pending its rewards are
// estimates, which the SDKs know by names of their own.
func (w *Writer) Delegator(s *primary.Staker) {
	w.Comma()
	w.B = append(w.B, '{')
	w.id("txHash", &s.TxID)
	w.node("nodeId", &s.Node)
	w.holders("rewardAddresses", s.RewardOwners.Addresses)
	w.count("amountDelegated", s.Weight)
	w.percent("delegationFee", s.Fee)
	w.whole("startTimestamp", s.Start)
	w.whole("endTimestamp", s.End)
	w.count("grossReward", s.Gross)
	w.count("netReward", s.Net)
	if s.Status == primary.Active || s.Status == primary.Pending {
		w.count("estimatedGrossReward", s.Gross)
		w.count("estimatedNetReward", s.Net)
	}
	w.text("delegationStatus", stakerStatus(s.Status))
	w.B = append(w.B, '}')
}

func stakerStatus(s primary.StakerStatus) string {
	switch s {
	case primary.Pending:
		return "pending"
	case primary.Active:
		return "active"
	case primary.Removed:
		return "removed"
	case primary.Completed, primary.AnyStatus:
	}
	return "completed"
}

// percent writes a share of 1,000,000 as a string with a percentage, without trailing
// zeros.
func (w *Writer) percent(name string, share uint32) {
	const one = 10_000
	w.Member(name)
	w.B = strconv.AppendUint(append(w.B, '"'), uint64(share/one), 10)
	if rest := share % one; rest != 0 {
		w.B = append(w.B, '.')
		for unit := uint32(one / 10); rest > 0; unit /= 10 {
			w.B = append(w.B, '0'+byte(rest/unit))
			rest %= unit
		}
	}
	w.B = append(w.B, '"')
}

// Vertex writes a vertex of the X-Chain.
func (w *Writer) Vertex(v *primary.Vertex) {
	w.Comma()
	w.B = append(w.B, '{')
	w.id("vertexHash", &v.ID)
	w.ids("parentHashes", v.Parents)
	w.whole("vertexHeight", v.Height)
	w.whole("vertexIndex", v.Index)
	w.whole("vertexTimestamp", v.Time)
	w.whole("txCount", uint64(len(v.Txs)))
	w.ids("transactions", v.Txs)
	w.whole("vertexSizeBytes", uint64(v.Size))
	w.B = append(w.B, '}')
}

// PrimaryBlock writes a block. What is not known of it is left out.
func (w *Writer) PrimaryBlock(b *primary.BlockInfo) {
	w.Comma()
	w.B = append(w.B, '{')
	w.count("blockNumber", b.Height)
	w.id("blockHash", &b.ID)
	w.id("parentHash", &b.Parent)
	w.whole("blockTimestamp", b.Time)
	w.text("blockType", b.Type)
	w.whole("txCount", uint64(len(b.Txs)))
	w.ids("transactions", b.Txs)
	w.whole("blockSizeBytes", uint64(b.Size))
	if b.L1Fees != nil {
		w.whole("l1ValidatorsAccruedFees", *b.L1Fees)
	}
	if b.ActiveL1 != nil {
		w.whole("activeL1Validators", *b.ActiveL1)
	}
	if b.Supply != nil {
		w.count("currentSupply", *b.Supply)
	}
	if b.Proposer != nil {
		w.proposer(b.Proposer)
	}
	w.B = append(w.B, '}')
}

func (w *Writer) proposer(p *primary.Proposer) {
	w.Member("proposerDetails")
	w.B = append(w.B, '{')
	w.id("proposerId", &p.ID)
	w.id("proposerParentId", &p.Parent)
	if p.Node != (chain.NodeID{}) {
		w.node("proposerNodeId", &p.Node)
	}
	if p.Time != 0 { // an option's header has neither
		w.whole("proposerPChainHeight", p.PChainHeight)
		w.whole("proposerTimestamp", p.Time)
	}
	w.B = append(w.B, '}')
}
