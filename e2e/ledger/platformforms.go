package ledger

import (
	"strconv"

	"github.com/ava-labs/avalanchego/graft/coreth/plugin/evm/atomic"
	"github.com/ava-labs/avalanchego/ids"
	avmtxs "github.com/ava-labs/avalanchego/vms/avm/txs"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/message"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
)

func percent(shares uint32) string {
	return strconv.FormatFloat(float64(shares)/10_000, 'f', -1, 64)
}

// platformTx is a transaction of the P-Chain.
func (l *Ledger) platformTx(tx *Tx) object {
	out := object{
		"txHash": tx.ID.String(), "txType": tx.Kind, "blockTimestamp": tx.time, "blockNumber": text(tx.height), "blockHash": tx.Block.ID.String(),
		"consumedUtxos": l.outputs(l.P, tx.Consumed), "emittedUtxos": l.outputs(l.P, tx.Emitted),
	}
	emitted := sum(tx.Emitted)
	out["value"], out["amountBurned"] = l.sums(emitted), list{}
	if _, ok := tx.unsigned.(*txs.RewardValidatorTx); !ok {
		took := sum(tx.Consumed)
		if tx.refunded > 0 { // it was in no input
			took.add(l.AVAX, tx.refunded)
		}
		out["amountBurned"] = l.sums(took.less(emitted))
	}
	var staked, funded sums
	if t, ok := tx.unsigned.(txs.PermissionlessStaker); ok {
		for _, o := range t.Stake() {
			staked.add(o.AssetID(), o.Out.Amount())
		}
	}
	l.body(out, tx, &funded)
	out["amountStaked"], out["amountL1ValidatorBalanceBurned"] = l.sums(staked), l.sums(funded)
	return out
}

// body adds what one kind of transaction has.
func (l *Ledger) body(out object, tx *Tx, funded *sums) {
	switch t := tx.unsigned.(type) {
	case *txs.RewardValidatorTx:
		out["stakingTxHash"] = t.TxID.String()
	case *txs.ImportTx:
		out["sourceChain"] = t.SourceChain.String()
	case *txs.ExportTx:
		out["destinationChain"] = t.DestinationChain.String()
	case *txs.RemoveSubnetValidatorTx:
		out["nodeId"], out["subnetId"] = t.NodeID.String(), t.Subnet.String()
	case *txs.CreateSubnetTx:
		out["subnetId"], out["subnetOwnershipInfo"] = tx.ID.String(), l.ownership(t.Owner.(*secp256k1fx.OutputOwners))
	case *txs.TransferSubnetOwnershipTx:
		out["subnetId"], out["subnetOwnershipInfo"] = t.Subnet.String(), l.ownership(t.Owner.(*secp256k1fx.OutputOwners))
	case *txs.CreateChainTx:
		out["subnetId"], out["blockchainInfo"] = t.SubnetID.String(), object{"chainName": t.ChainName, "vmId": t.VMID.String()}
	case *txs.ConvertSubnetToL1Tx:
		out["subnetId"], out["l1ValidatorManagerDetails"] = t.Subnet.String(), manager(t)
		members := list{}
		for i, v := range t.Validators {
			funded.add(l.AVAX, v.Balance)
			members = append(members, l.registered(t.Subnet.Append(uint32(i)), v.Weight, v.Balance))
		}
		out["l1ValidatorDetails"] = members
	case *txs.RegisterL1ValidatorTx:
		funded.add(l.AVAX, t.Balance)
		if say, err := said(t.Message); err == nil {
			r := say.(*message.RegisterL1Validator)
			out["subnetId"], out["l1ValidatorDetails"] = r.SubnetID.String(), list{l.registered(r.ValidationID(), r.Weight, t.Balance)}
		}
	case *txs.IncreaseL1ValidatorBalanceTx:
		funded.add(l.AVAX, t.Balance)
	case txs.StakerTx:
		l.stakeBody(out, tx, t)
	}
}

func (l *Ledger) registered(id ids.ID, weight, balance uint64) object {
	m := l.members[id]
	return object{
		"validationId": id.String(), "validationIdHex": hexOf(id[:]), "nodeId": m.Node.String(), "subnetId": m.Subnet.String(),
		"weight": weight, "remainingBalance": balance, "blsCredentials": key(m.key),
	}
}

func (l *Ledger) stakeBody(out object, tx *Tx, t txs.StakerTx) {
	s := l.stakers[tx.ID]
	out["startTimestamp"], out["endTimestamp"], out["nodeId"] = s.Start, uint64(t.EndTime().Unix()), s.Node.String()
	if _, ok := t.(*txs.AddValidatorTx); !ok {
		out["subnetId"] = s.Subnet.String()
	}
	if s.permissioned() {
		return
	}
	out["rewardAddresses"], out["estimatedReward"] = l.addresses(s.owner.Addrs), text(s.gross)
	if s.ended != nil {
		out["rewardTxHash"] = s.ended.ID.String()
	}
	if !s.delegator {
		out["delegationFeePercent"] = percent(s.fee)
	}
	if s.proof != nil {
		out["blsCredentials"] = possession(s)
	}
}

func possession(s *Staker) object {
	return object{"publicKey": hexOf(s.proof.PublicKey[:]), "proofOfPossession": hexOf(s.proof.ProofOfPossession[:])}
}

// exchangeTx is a transaction of the X-Chain.
func (l *Ledger) exchangeTx(tx *Tx) object {
	out := object{
		"txHash": tx.ID.String(), "txType": tx.Kind, "timestamp": tx.time, "chainFormat": "linear", "blockHeight": tx.height,
		"consumedUtxos": l.outputs(l.X, tx.Consumed), "emittedUtxos": l.outputs(l.X, tx.Emitted),
		"amountUnlocked": l.sums(sum(tx.Consumed)), "amountCreated": l.sums(sum(tx.Emitted)), "memo": "0x",
		"blockHash": l.X.Blocks[0].ID.String(), // unless it is in another
	}
	if tx.Block != nil {
		out["blockHash"] = tx.Block.ID.String()
	}
	switch t := tx.unsigned.(type) {
	case *avmtxs.ImportTx:
		out["sourceChain"] = t.SourceChain.String()
	case *avmtxs.ExportTx:
		out["destinationChain"] = t.DestinationChain.String()
	case *avmtxs.CreateAssetTx:
		out["assetCreated"] = l.asset(l.assets[tx.ID])
		out["memo"] = hexOf(t.Memo)
	}
	return out
}

func (l *Ledger) asset(a *asset) object {
	out := object{
		"assetId": a.tx.ID.String(), "name": a.name, "symbol": a.symbol, "denomination": a.denomination, "type": "secp256k1",
		"createdAtTimestamp": a.tx.time, "cap": "variable",
	}
	if a.nft {
		out["type"] = "nft"
	}
	if a.fixed {
		out["cap"] = "fixed"
	}
	return out
}

// atomicTx is a transaction between the C-Chain and another.
func (l *Ledger) atomicTx(tx *Tx) object {
	out := object{
		"txHash": tx.ID.String(), "blockHeight": tx.height, "blockHash": tx.Block.ID.String(), "timestamp": tx.time, "memo": "0x",
	}
	var accounts sums
	members := list{}
	switch t := tx.unsigned.(type) {
	case *atomic.UnsignedImportTx:
		for _, a := range t.Outs {
			accounts.add(a.AssetID, a.Amount)
			members = append(members, object{"toAddress": a.Address.Hex(), "asset": l.amount(a.AssetID, a.Amount)})
		}
		out["txType"], out["sourceChain"], out["destinationChain"] = "ImportTx", t.SourceChain.String(), l.C.ID.String()
		out["evmOutputs"], out["consumedUtxos"] = members, l.outputs(l.C, tx.Consumed)
		out["amountUnlocked"], out["amountCreated"] = l.sums(sum(tx.Consumed)), l.sums(accounts)
	case *atomic.UnsignedExportTx:
		for _, a := range t.Ins {
			accounts.add(a.AssetID, a.Amount)
			members = append(members, object{"fromAddress": a.Address.Hex(), "asset": l.amount(a.AssetID, a.Amount), "credentials": list{}})
		}
		out["txType"], out["sourceChain"], out["destinationChain"] = "ExportTx", l.C.ID.String(), t.DestinationChain.String()
		out["evmInputs"], out["emittedUtxos"] = members, l.outputs(l.C, tx.Emitted)
		out["amountUnlocked"], out["amountCreated"] = l.sums(accounts), l.sums(sum(tx.Emitted))
	}
	return out
}

// transaction is one of any chain.
func (l *Ledger) transaction(c *Chain, tx *Tx) object {
	switch c {
	case l.P:
		return l.platformTx(tx)
	case l.X:
		return l.exchangeTx(tx)
	}
	return l.atomicTx(tx)
}

func manager(t *txs.ConvertSubnetToL1Tx) object {
	return object{"blockchainId": t.ChainID.String(), "contractAddress": contract(t.Address)}
}
