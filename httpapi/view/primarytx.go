package view

import (
	"strconv"

	"quorate/engine/chain"
	"quorate/engine/chain/atomic"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/chain/warp"
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
	// Vertex is the one that it stands in, nil if it is in a block.
	Vertex *primary.Vertex
	// Created is the asset that it creates, nil if it does not.
	Created *xchain.Asset
}

// amounts are sums by asset, in the order of their first appearance.
type amounts []amount

type amount struct {
	asset chain.ID
	nAVAX uint64
	count int
}

// add adds an amount, up to the largest that there is.
func (a amounts) add(asset *chain.ID, n uint64) amounts {
	for i := range a {
		if a[i].asset == *asset {
			a[i].nAVAX += min(n, ^uint64(0)-a[i].nAVAX)
			a[i].count++
			return a
		}
	}
	return append(a, amount{*asset, n, 1})
}

func sumOf(list []*primary.Output) (a amounts) {
	for _, u := range list {
		if u.Kind == utxo.TransferOutput {
			a = a.add(&u.Asset, u.Amount)
		}
	}
	return a
}

// less returns what is left of a without b.
func (a amounts) less(b amounts) (rest amounts) {
	for _, x := range a {
		for _, y := range b {
			if y.asset == x.asset {
				x.nAVAX -= min(x.nAVAX, y.nAVAX)
			}
		}
		if x.nAVAX > 0 {
			rest = append(rest, x)
		}
	}
	return rest
}

func (w *Writer) amounts(name string, list amounts) {
	w.Member(name)
	w.B = append(w.B, '[')
	for i := range list {
		w.Comma()
		w.asset(&list[i].asset, list[i].nAVAX)
	}
	w.B = append(w.B, ']')
}

// PlatformTx writes a transaction of the P-Chain.
func (w *Writer) PlatformTx(t *PrimaryTx, tx *platform.Tx) {
	w.Comma()
	w.B = append(w.B, '{')
	w.id("txHash", &t.Row.ID)
	w.text("txType", tx.Body.Kind().String())
	w.whole("blockTimestamp", t.Row.Time)
	w.count("blockNumber", t.Row.Height)
	w.id("blockHash", &t.Block)
	w.platformOutputs("consumedUtxos", t.Consumed)
	w.platformOutputs("emittedUtxos", t.Emitted)
	emitted := sumOf(t.Emitted)
	w.amounts("value", emitted)
	if tx.Body.Funds() != nil {
		w.amounts("amountBurned", sumOf(t.Consumed).less(emitted))
	} else {
		w.amounts("amountBurned", nil)
	}
	w.amounts("amountStaked", staked(tx.Body))
	w.amounts("amountL1ValidatorBalanceBurned", w.l1Balance(tx.Body))
	if f := tx.Body.Funds(); f != nil && len(f.Memo) > 0 {
		w.Member("memo")
		w.B = append(AppendHex(append(w.B, '"'), f.Memo), '"')
	}
	w.platformBody(t, tx)
	w.B = append(w.B, '}')
}

// staked sums up what a transaction stakes.
func staked(b platform.Body) (a amounts) {
	for _, out := range StakeOf(b) {
		a = a.add(&out.Asset, out.Amount)
	}
	return a
}

// StakeOf returns the outputs that a transaction stakes.
func StakeOf(b platform.Body) []utxo.Output {
	switch b := b.(type) {
	case *platform.AddValidator:
		return b.Stake
	case *platform.AddDelegator:
		return b.Stake
	case *platform.AddPermissionlessValidator:
		return b.Stake
	case *platform.AddPermissionlessDelegator:
		return b.Stake
	}
	return nil
}

// l1Balance returns what a transaction sets aside for the fees of validators of L1s.
func (w *Writer) l1Balance(b platform.Body) (a amounts) {
	switch b := b.(type) {
	case *platform.ConvertSubnetToL1:
		for i := range b.Validators {
			a = a.add(&w.Primary.AVAX, b.Validators[i].Balance)
		}
	case *platform.RegisterL1Validator:
		a = a.add(&w.Primary.AVAX, b.Balance)
	case *platform.IncreaseL1ValidatorBalance:
		a = a.add(&w.Primary.AVAX, b.Balance)
	}
	return a
}

func (w *Writer) platformBody(t *PrimaryTx, tx *platform.Tx) {
	switch b := tx.Body.(type) {
	case *platform.AddValidator:
		w.stake(t, &b.Validator, &b.RewardsOwner)
		w.percent("delegationFeePercent", b.DelegationFee)
	case *platform.AddDelegator:
		w.stake(t, &b.Validator, &b.RewardsOwner)
	case *platform.AddSubnetValidator:
		w.stake(t, &b.Validator, nil)
		w.id("subnetId", &b.Subnet)
	case *platform.AddPermissionlessValidator:
		w.stake(t, &b.Validator, &b.ValidatorRewardsOwner)
		w.percent("delegationFeePercent", b.DelegationFee)
		w.id("subnetId", &b.Subnet)
		if b.Signer != nil {
			w.possession(b.Signer.PublicKey[:], b.Signer.ProofOfPossession[:])
		}
	case *platform.AddPermissionlessDelegator:
		w.stake(t, &b.Validator, &b.RewardsOwner)
		w.id("subnetId", &b.Subnet)
	case *platform.RemoveSubnetValidator:
		w.node("nodeId", &b.NodeID)
		w.id("subnetId", &b.Subnet)
	case *platform.RewardValidator:
		w.id("stakingTxHash", &b.TxID)
	case *platform.Import:
		w.id("sourceChain", &b.SourceChain)
	case *platform.Export:
		w.id("destinationChain", &b.DestinationChain)
	default:
		w.subnetBody(t, tx)
	}
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
		if r := registration(b); r != nil {
			w.id("subnetId", &r.Subnet)
			w.Raw(`,"l1ValidatorDetails":[`)
			w.registered(&r.ValidationID, r.NodeID, &r.Subnet, r.Weight, b.Balance, r.PublicKey[:])
			w.Raw("]")
		}
	}
}

// registration returns the message of a registration, nil if it cannot be read.
func registration(b *platform.RegisterL1Validator) *platform.L1Registration {
	m, err := warp.ParseSigned(b.Message)
	if err != nil {
		return nil
	}
	call, err := warp.ParseAddressedCall(m.Payload)
	if err != nil {
		return nil
	}
	r, err := platform.ParseL1Registration(call.Payload)
	if err != nil {
		return nil
	}
	return r
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
		start = t.Staker.Start
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

// platformOutputs writes outputs in the form that they have on the P-Chain.
func (w *Writer) platformOutputs(name string, list []*primary.Output) {
	w.Member(name)
	w.B = append(w.B, '[')
	for _, u := range list {
		w.PlatformOutput(u)
	}
	w.B = append(w.B, ']')
}

// PlatformOutput writes an output of the P-Chain.
func (w *Writer) PlatformOutput(u *primary.Output) {
	w.output(u, true)
	w.count("amount", u.Amount)
	w.id("assetId", &u.Asset)
	w.count("blockNumber", u.Place.Height)
	w.whole("blockTimestamp", u.Time)
	if !u.SpentBy.IsZero() {
		w.count("consumingBlockNumber", u.SpentAt.Height)
		w.whole("consumingBlockTimestamp", u.SpentTime)
	}
	if u.Known {
		w.whole("platformLocktime", u.Locktime)
		w.whole("threshold", uint64(u.Threshold))
	}
	w.whole("outputIndex", uint64(u.Index))
	if u.StakeLock > 0 {
		w.whole("stakeableLocktime", u.StakeLock)
	}
	w.boolean("staked", u.State == primary.Staked)
	w.id("txHash", &u.TxID)
	if u.State == primary.Staked || u.MadeBy != u.TxID && !u.Reward {
		w.text("utxoType", "STAKE")
	} else {
		w.text("utxoType", "TRANSFER")
	}
	w.B = append(w.B, '}')
}

// output writes what outputs have in both forms, and leaves their object open. The P-Chain
// writes UTXOs in a form of its own.
func (w *Writer) output(u *primary.Output, onPlatform bool) {
	w.Comma()
	w.B = append(w.B, '{')
	w.holders("addresses", u.Addresses)
	w.Member("asset")
	w.asset(&u.Asset, u.Amount)
	made, spent := w.Primary.Chain, w.Primary.Chain
	switch {
	case u.HasOther && u.State == primary.Exported:
		spent = u.Other
	case u.HasOther:
		made = u.Other
	}
	w.id("createdOnChainId", &made)
	w.id("consumedOnChainId", &spent)
	if !u.SpentBy.IsZero() {
		w.id("consumingTxHash", &u.SpentBy)
	}
	id := u.Ref.ID()
	w.id("utxoId", &id)
	if !u.Known {
		return
	}
	if raw, err := u.UTXO.Bytes(onPlatform); err == nil {
		w.Member("utxoBytes")
		w.B = append(AppendHex(append(w.B, '"'), raw), '"')
	}
}

// ExchangeOutput writes an output in the form that it has on the X- and the C-Chain.
func (w *Writer) ExchangeOutput(u *primary.Output) {
	w.output(u, false)
	if !u.SpentBy.IsZero() {
		w.whole("consumingTxTimestamp", u.SpentTime)
	}
	w.id("creationTxHash", &u.TxID)
	switch u.Kind {
	case utxo.NFTMintOutput, utxo.NFTTransferOutput:
		w.whole("groupId", uint64(u.Group))
	}
	w.whole("locktime", u.Locktime)
	w.count("outputIndex", uint64(u.Index))
	if len(u.Payload) > 0 {
		w.Member("payload")
		w.B = append(AppendHex(append(w.B, '"'), u.Payload), '"')
	}
	w.whole("threshold", uint64(u.Threshold))
	w.whole("timestamp", u.Time)
	w.text("utxoType", outputType(u.Kind))
	w.B = append(w.B, '}')
}

func outputType(k utxo.Kind) string {
	switch k {
	case utxo.MintOutput:
		return "MINT"
	case utxo.NFTMintOutput:
		return "NFT_MINT"
	case utxo.NFTTransferOutput:
		return "NFT_TRANSFER"
	case utxo.PropertyMintOutput:
		return "PROPERTY_MINT"
	case utxo.PropertyOwnedOutput:
		return "PROPERTY_OWNED"
	}
	return "TRANSFER"
}

func (w *Writer) exchangeOutputs(name string, list []*primary.Output) {
	w.Member(name)
	w.B = append(w.B, '[')
	for _, u := range list {
		w.ExchangeOutput(u)
	}
	w.B = append(w.B, ']')
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
	if t.Vertex != nil {
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
	if v := t.Vertex; v != nil {
		w.Raw(`,"vertices":[{`)
		w.id("hash", &v.ID)
		w.whole("height", v.Height)
		w.whole("timestamp", v.Time)
		w.Raw("}]")
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

// LastActivity writes what an address did last: it got or spent an output.
func (w *Writer) LastActivity(tx *primary.TxRow, u *primary.Output, consumed bool, k primary.Kind) {
	w.B = append(w.B, '{')
	w.whole("timestamp", tx.Time)
	w.count("blockNumber", tx.Height)
	w.id("txHash", &tx.ID)
	if u != nil {
		id := u.Ref.ID()
		w.id("utxoId", &id)
	} else {
		w.demanded("utxoId", "")
	}
	w.boolean("isConsumed", consumed)
	w.text("chainName", k.String())
	w.text("network", w.Primary.Network)
	w.B = append(w.B, '}')
}

// ChainIDs writes the chains that an address has part in.
func (w *Writer) ChainIDs(address string, list []chain.ID) {
	w.Comma()
	w.B = append(w.B, '{')
	w.text("address", address)
	w.ids("blockchainIds", list)
	w.B = append(w.B, '}')
}

// Balance is a sum of outputs of one asset.
type Balance struct {
	Asset  chain.ID
	Amount uint64
	Count  int
	// Shared is the chain that the outputs were exported to, nil if they were not.
	Shared *chain.ID
}

// Balances writes a list of balances.
func (w *Writer) Balances(name string, list []Balance, k primary.Kind) {
	w.Member(name)
	w.B = append(w.B, '[')
	for i := range list {
		b := &list[i]
		w.Comma()
		w.asset(&b.Asset, b.Amount)
		w.B = w.B[:len(w.B)-1]
		w.B = strconv.AppendInt(append(w.B, `,"utxoCount":`...), int64(b.Count), 10)
		if b.Shared != nil {
			w.id("sharedWithChainId", b.Shared)
			if k == primary.PChain {
				w.text("status", "exported")
			}
		}
		w.B = append(w.B, '}')
	}
	w.B = append(w.B, ']')
}
