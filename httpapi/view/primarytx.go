package view

import (
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/atomic"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/engine/primary/xchain"
)

// PrimaryTx is a transaction with what is known of it besides what it says itself.
type PrimaryTx struct {
	Row *primary.TxRow
	// Block is the ID of its block, zero of one in a vertex.
	Block chain.ID
	// Consumed are the outputs that it spends, Emitted those that it makes.
	Consumed, Emitted []*primary.Output
	// Staker is what it stakes, nil if it does not, or if that is not known.
	Staker *primary.Staker
	// Vertex is the one that it stands in, nil if it is in a block or in the genesis.
	Vertex *primary.Vertex
	// Created is the asset that it creates, nil if it does not.
	Created *xchain.Asset
}

// PlatformTx writes a transaction of the P-Chain.
func (w *Writer) PlatformTx(t *PrimaryTx, tx *platform.Tx) {
	w.Comma()
	w.B = append(w.B, '{')
	w.id("txHash", &t.Row.ID)
	w.text("txType", w.txType(tx.Body.Kind()))
	w.whole("blockTimestamp", t.Row.Time)
	w.count("blockNumber", t.Row.Height)
	w.id("blockHash", &t.Block)
	w.platformOutputs("consumedUtxos", t.Consumed)
	w.platformOutputs("emittedUtxos", t.Emitted)
	emitted := sumOf(t.Emitted)
	w.amounts("value", emitted)
	w.amounts("amountBurned", burned(t, tx.Body))
	w.amounts("amountStaked", staked(tx.Body))
	w.amounts("amountL1ValidatorBalanceBurned", w.l1Balance(tx.Body))
	if f := tx.Body.Funds(); f != nil && len(f.Memo) > 0 {
		w.Member("memo")
		w.B = append(AppendHex(append(w.B, '"'), f.Memo), '"')
	}
	w.platformBody(t, tx)
	w.B = append(w.B, '}')
}

// txType returns what a kind of transaction is called. The SDKs refuse an answer with a name
// that they do not know, and know none of those since Helicon.
func (w *Writer) txType(k platform.TxKind) string {
	if w.Dialect != Contract && Unnamed(k) {
		return "UNKNOWN"
	}
	return k.String()
}

// Unnamed reports whether the SDKs have no name for a kind of transaction.
func Unnamed(k platform.TxKind) bool { return k >= FirstUnnamed }

// FirstUnnamed is the first kind that the SDKs have no name for: they know none since Helicon.
const FirstUnnamed = platform.KindAddAutoRenewedValidator

// burned returns what a transaction takes and does not make. What it gives back of the
// balance of an L1's validator was not taken from an input, and follows its own outputs.
func burned(t *PrimaryTx, b platform.Body) amounts {
	if b.Funds() == nil {
		return nil
	}
	own, n := t.Emitted, platform.OutputsOf(b)
	if i := slices.IndexFunc(own, func(u *primary.Output) bool { return int(u.Index) >= n }); i >= 0 {
		own = own[:i]
	}
	return sumOf(t.Consumed).less(sumOf(own))
}

// staked sums up what a transaction stakes.
func staked(b platform.Body) (a amounts) {
	s, _ := b.Staking()
	for i := range s.Stake {
		a = a.add(&s.Stake[i].Asset, s.Stake[i].Amount)
	}
	return a
}

// l1Balance returns what a transaction sets aside for the fees of validators of L1s.
func (w *Writer) l1Balance(b platform.Body) (a amounts) {
	if nAVAX, ok := b.L1Balance(); ok {
		a = a.add(&w.Primary.AVAX, nAVAX)
	}
	return a
}

func (w *Writer) platformBody(t *PrimaryTx, tx *platform.Tx) {
	if s, ok := tx.Body.Staking(); ok {
		w.staking(t, &s)
		return
	}
	if staked, ok := tx.Body.Rewards(); ok {
		w.id("stakingTxHash", &staked)
	}
	switch b := tx.Body.(type) {
	case *platform.RemoveSubnetValidator:
		w.node("nodeId", &b.NodeID)
		w.id("subnetId", &b.Subnet)
	case *platform.Import:
		w.id("sourceChain", &b.SourceChain)
	case *platform.Export:
		w.id("destinationChain", &b.DestinationChain)
	case *platform.SetAutoRenewedValidatorConfig:
		w.id("stakingTxHash", &b.TxID)
		w.renewal("period", b.Period, b.Restaked)
	case *platform.RewardAutoRenewedValidator:
		w.whole("endTimestamp", b.Time)
	default:
		w.subnetBody(t, tx)
	}
}

// staking writes what a transaction says of the validator or delegator that it adds. The end
// of one that renews itself is that of its present cycle.
func (w *Writer) staking(t *PrimaryTx, s *platform.Staking) {
	if r := s.Renewal; r != nil {
		s.End = t.Row.Time + r.Period
		if t.Staker != nil {
			s.End = t.Staker.End
		}
	}
	w.stake(t, &s.Validator, s.RewardsOwner)
	if s.DelegationOwner != nil {
		w.percent("delegationFeePercent", s.DelegationFee)
	}
	if !s.Apricot {
		w.id("subnetId", &s.Subnet)
	}
	if s.Signer != nil {
		w.possession(s.Signer.PublicKey[:], s.Signer.ProofOfPossession[:])
	}
	if r := s.Renewal; r != nil {
		w.balanceOwner("validatorAuthority", &r.Authority)
		w.renewal("period", r.Period, r.Restaked)
	}
}

// renewal writes how a validator renews itself; the SDKs do not know these members.
func (w *Writer) renewal(name string, period uint64, restaked uint32) {
	w.whole(name, period)
	w.whole("autoCompoundRewardShares", uint64(restaked))
}

func (w *Writer) subnetBody(t *PrimaryTx, tx *platform.Tx) {
	switch b := tx.Body.(type) {
	case *platform.CreateSubnet:
		w.id("subnetId", &t.Row.ID)
		w.ownership(&b.Owner)
	case *platform.TransferSubnetOwnership:
		w.id("subnetId", &b.Subnet)
		w.ownership(&b.Owner)
	case *platform.TransformSubnet:
		w.id("subnetId", &b.Subnet)
	case *platform.CreateChain:
		w.id("subnetId", &b.Subnet)
		w.Member("blockchainInfo")
		w.B = append(w.B, '{')
		w.text("chainName", b.Name)
		w.id("vmId", &b.VM)
		if g := w.Primary.Genesis(&t.Row.ID); g.JSON != nil {
			w.Member("genesisData")
			w.B = append(w.B, g.JSON...)
		}
		w.B = append(w.B, '}')
	case *platform.ConvertSubnetToL1:
		w.id("subnetId", &b.Subnet)
		w.manager(&b.ManagerChain, b.ManagerAddress)
		w.Raw(`,"l1ValidatorDetails":[`)
		for i := range b.Validators {
			v := &b.Validators[i]
			id := platform.ConvertedValidationID(b.Subnet, uint32(i))
			w.registered(&id, v.NodeID, &b.Subnet, v.Weight, v.Balance, v.Signer.PublicKey[:])
		}
		w.Raw("]")
	case *platform.RegisterL1Validator:
		if r, err := b.Registration(); err == nil {
			w.id("subnetId", &r.Subnet)
			w.Raw(`,"l1ValidatorDetails":[`)
			w.registered(&r.ValidationID, r.NodeID, &r.Subnet, r.Weight, b.Balance, r.PublicKey[:])
			w.Raw("]")
		}
	}
}

// registered writes a validator of an L1 as the transaction that made it has it.
func (w *Writer) registered(id *chain.ID, node []byte, subnet *chain.ID, weight, balance uint64, key []byte) {
	if len(node) != chain.NodeIDLen {
		return
	}
	w.Comma()
	w.B = append(w.B, '{')
	w.id("validationId", id)
	w.Member("validationIdHex")
	w.B = append(AppendHex(append(w.B, '"'), id[:]), '"')
	w.node("nodeId", (*chain.NodeID)(node))
	w.id("subnetId", subnet)
	w.whole("weight", weight)
	w.whole("remainingBalance", balance)
	w.Raw(`,"blsCredentials":{"publicKey":"`)
	w.B = append(AppendHex(w.B, key), `"}}`...)
}

func (w *Writer) possession(key, proof []byte) {
	w.Raw(`,"blsCredentials":{"publicKey":"`)
	w.B = AppendHex(w.B, key)
	w.Raw(`","proofOfPossession":"`)
	w.B = append(AppendHex(w.B, proof), `"}`...)
}

// stake writes what a transaction says of its stake, and what became of it. Since
// Durango a stake starts with its block.
func (w *Writer) stake(t *PrimaryTx, v *platform.Validator, owner *utxo.Owners) {
	start := max(v.Start, t.Row.Time)
	if t.Staker != nil {
		start = t.Staker.Since()
	}
	w.whole("startTimestamp", start)
	w.whole("endTimestamp", v.End)
	w.node("nodeId", &v.NodeID)
	if owner != nil {
		w.holders("rewardAddresses", owner.Addresses)
	}
	if t.Staker == nil || owner == nil {
		return
	}
	w.count("estimatedReward", t.Staker.Gross)
	if !t.Staker.EndTx.IsZero() {
		w.id("rewardTxHash", &t.Staker.EndTx)
	}
}

func (w *Writer) memo(b []byte) {
	w.Member("memo")
	w.B = append(AppendHex(append(w.B, '"'), b), '"')
}

// ExchangeTx writes a transaction of the X-Chain.
func (w *Writer) ExchangeTx(t *PrimaryTx, tx *avm.Tx) {
	w.Comma()
	w.B = append(w.B, '{')
	w.id("txHash", &t.Row.ID)
	if t.Row.InVertex {
		w.text("chainFormat", "non-linear")
	} else {
		w.text("chainFormat", "linear")
	}
	w.whole("timestamp", t.Row.Time)
	w.text("txType", tx.Body.Kind().String())
	w.memo(tx.Body.Funds().Memo)
	w.exchangeOutputs("consumedUtxos", t.Consumed)
	w.exchangeOutputs("emittedUtxos", t.Emitted)
	w.amounts("amountUnlocked", sumOf(t.Consumed))
	w.amounts("amountCreated", sumOf(t.Emitted))
	switch b := tx.Body.(type) {
	case *avm.Import:
		w.id("sourceChain", &b.SourceChain)
	case *avm.Export:
		w.id("destinationChain", &b.DestinationChain)
	}
	if t.Created != nil {
		w.Member("assetCreated")
		w.Asset(t.Created)
	}
	if t.Row.InVertex {
		w.Raw(`,"vertices":[`)
		if v := t.Vertex; v != nil {
			w.Raw("{")
			w.id("hash", &v.ID)
			w.whole("height", v.Height)
			w.whole("timestamp", v.Time)
			w.Raw("}")
		}
		w.Raw("]")
	} else {
		w.whole("blockHeight", t.Row.Height)
		w.id("blockHash", &t.Block)
	}
	w.B = append(w.B, '}')
}

// Asset writes what is known of an asset.
func (w *Writer) Asset(a *xchain.Asset) {
	w.B = append(w.B, '{')
	w.id("assetId", &a.ID)
	w.text("name", a.Name)
	w.text("symbol", a.Symbol)
	w.whole("denomination", uint64(a.Denomination))
	w.text("type", assetType(a.NFT))
	w.whole("createdAtTimestamp", a.Time)
	if a.Fixed {
		w.text("cap", "fixed")
	} else {
		w.text("cap", "variable")
	}
	w.B = append(w.B, '}')
}

// AtomicTx writes a transaction of the C-Chain that moves funds between chains.
func (w *Writer) AtomicTx(t *PrimaryTx, tx *atomic.Tx) {
	w.Comma()
	w.B = append(w.B, '{')
	w.id("txHash", &t.Row.ID)
	w.whole("blockHeight", t.Row.Height)
	w.id("blockHash", &t.Block)
	w.whole("timestamp", t.Row.Time)
	w.memo(nil)
	var accounts amounts
	for i := range tx.Accounts {
		accounts = accounts.add(&tx.Accounts[i].Asset, tx.Accounts[i].Amount)
	}
	if tx.Kind == atomic.Import {
		w.amounts("amountUnlocked", sumOf(t.Consumed))
		w.amounts("amountCreated", accounts)
		w.id("sourceChain", &tx.Peer)
		w.id("destinationChain", &tx.ChainID)
		w.text("txType", "ImportTx")
		w.accounts("evmOutputs", "toAddress", tx.Accounts, "")
		w.exchangeOutputs("consumedUtxos", t.Consumed)
	} else {
		w.amounts("amountUnlocked", accounts)
		w.amounts("amountCreated", sumOf(t.Emitted))
		w.id("sourceChain", &tx.ChainID)
		w.id("destinationChain", &tx.Peer)
		w.text("txType", "ExportTx")
		w.accounts("evmInputs", "fromAddress", tx.Accounts, `,"credentials":[]`)
		w.exchangeOutputs("emittedUtxos", t.Emitted)
	}
	w.B = append(w.B, '}')
}

func (w *Writer) accounts(name, member string, list []atomic.Account, tail string) {
	w.Member(name)
	w.B = append(w.B, '[')
	for i := range list {
		w.Comma()
		w.B = append(w.B, '{')
		w.address(member, &list[i].Address)
		w.Member("asset")
		w.asset(&list[i].Asset, list[i].Amount)
		w.Raw(tail)
		w.B = append(w.B, '}')
	}
	w.B = append(w.B, ']')
}
