package ui

import (
	"cmp"
	"strings"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
)

// primaryTx is a transaction of a chain of the primary network.
type primaryTx shape.PrimaryTransaction

// when returns the time of a transaction.
func (t *primaryTx) when() shape.Unix { return cmp.Or(t.BlockTimestamp, t.Timestamp) }

// height returns the height of a transaction's block, empty of one in a vertex.
func (t *primaryTx) height() string {
	if t.BlockHeight != nil {
		return wordOf(*t.BlockHeight)
	}
	return string(t.BlockNumber)
}

// amounts returns what a transaction moved, as far as one column can say.
func (t *primaryTx) amounts() []shape.AssetAmount {
	for _, list := range [][]shape.AssetAmount{t.AmountStaked, t.Value, t.AmountCreated, t.AmountUnlocked} {
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// txList is a table of transactions of a chain.
func (n *primaryNet) txList(chain, param, title, path string, query ...string) (part, error) {
	p := part{ID: param, Title: title, Heads: heads("Transaction", "Type", "Time", "Block", "#Amount", "Of"), Empty: "There is none."}
	var page shape.PrimaryTransactions
	err := n.list(&p, &page, &page.Page, param, path, append(query, "pageSize", "25")...)
	p.Rows = n.txRows(chain, page.Transactions)
	return p, err
}

func (n *primaryNet) txRows(chain string, list []shape.PrimaryTransaction) [][]cell {
	var rows [][]cell
	for i := range list {
		t := (*primaryTx)(&list[i])
		amount := cell{Kind: "num"}
		if moved := t.amounts(); len(moved) > 0 {
			amount = amountCell(n, &moved[0])
			if more := len(moved) - 1; more > 0 {
				amount.Note = "and " + plural(more, "other asset", "other assets")
			}
		}
		block := cell{Text: plain.Digits(t.height()), Link: n.link(chain, "block", t.height())}
		if t.height() == "" {
			block = cell{Text: "vertex"}
		}
		of := n.nodeCell(t.NodeID)
		if of.Text == "" && t.SubnetID != "" {
			of = hashCell(t.SubnetID, n.link("subnet", string(t.SubnetID)))
		}
		rows = append(rows, []cell{hashCell(t.TxHash, n.link(chain, "tx", string(t.TxHash))), textCell(t.TxType), timeCell(t.when()), block, amount, of})
	}
	return rows
}

// tx shows one transaction.
func (n *primaryNet) tx(v *primaryView) error {
	chain, err := n.chainOf()
	if err != nil {
		return err
	}
	var t primaryTx
	if err := n.get(n.onChain(chain, "transactions", n.r.Param("txHash")), &t); err != nil {
		return err
	}
	v.Title, v.ID = textCell(t.TxType).Text+" on the "+chainNames[chain], string(t.TxHash)
	v.Parts = []part{n.txFacts(chain, &t)}
	if staking := n.txStaking(&t); len(staking.Pairs) > 0 {
		v.Parts = append(v.Parts, staking)
	}
	if made := n.txMakes(&t); len(made.Pairs) > 0 {
		v.Parts = append(v.Parts, made)
	}
	if len(t.L1ValidatorDetails) > 0 {
		l1 := l1Table("Validators of the L1")
		for _, r := range t.L1ValidatorDetails {
			l1.Rows = append(l1.Rows, n.l1Rows([]shape.L1Validator{{L1Registration: r}})...)
		}
		v.Parts = append(v.Parts, l1)
	}
	v.Parts = append(v.Parts, n.inputs(&t, chain), n.outputs(&t, chain))
	return nil
}

// txFacts are what every transaction has.
func (n *primaryNet) txFacts(chain string, t *primaryTx) part {
	p := part{Title: "Transaction"}
	p.add("Type", textCell(t.TxType))
	p.add("Time", timeCell(t.when()))
	if t.height() != "" {
		p.add("Block", cell{Text: plain.Digits(t.height()), Link: n.link(chain, "block", t.height())})
	}
	var vertices []cell
	for _, x := range t.Vertices {
		vertices = append(vertices, hashCell(x.Hash, n.link("vertex", string(x.Hash))))
	}
	p.add("Vertices", vertices...)
	p.add("From chain", n.shortChain(t.SourceChain))
	p.add("To chain", n.shortChain(t.DestinationChain))
	for _, a := range []struct {
		name string
		list []shape.AssetAmount
	}{
		{"Amount", t.Value}, {"Unlocked", t.AmountUnlocked}, {"Created", t.AmountCreated}, {"Staked", t.AmountStaked},
		{"Burned", t.AmountBurned}, {"Balance of validators of L1s", t.AmountL1ValidatorBalanceBurned},
	} {
		p.add(a.name, amountCells(n, a.list)...)
	}
	p.add("Memo", memoCells(t.Memo)...)
	return p
}

// txStaking is what a transaction says of a stake.
func (n *primaryNet) txStaking(t *primaryTx) part {
	p := part{Title: "Stake"}
	p.add("Node", n.nodeCell(t.NodeID))
	if t.SubnetID != "" {
		p.add("Subnet", hashCell(t.SubnetID, n.link("subnet", string(t.SubnetID))))
	}
	if t.StartTimestamp > 0 {
		p.add("From", timeCell(t.StartTimestamp))
	}
	if t.EndTimestamp > 0 {
		p.add("Until", timeCell(t.EndTimestamp))
	}
	if t.DelegationFeePercent != "" {
		p.add("Delegation fee", cell{Text: t.DelegationFeePercent + "%"})
	}
	if t.EstimatedReward != "" {
		p.add("Estimated reward", cell{Text: navax(t.EstimatedReward).Text})
	}
	p.add("Rewards go to", n.addressCells(t.RewardAddresses)...)
	p.add("Rewarded by", n.pTx(t.RewardTxHash))
	switch t.TxType {
	case "SetAutoRenewedValidatorConfigTx":
		p.add("Changes the stake of", n.pTx(t.StakingTxHash))
	case "RewardAutoRenewedValidatorTx":
		p.add("Ends a cycle of", n.pTx(t.StakingTxHash))
	default:
		p.add("Ends the stake of", n.pTx(t.StakingTxHash))
	}
	if t.Period != nil {
		p.add("Period", cell{Text: numCell(*t.Period).Text + " s", Note: "0: it stops"})
		p.add("Restaked", cell{Text: numCell(t.AutoCompoundRewardShares).Text, Note: "of 1,000,000 of its rewards"})
	}
	return p
}

// pTx links a transaction of the P-Chain.
func (n *primaryNet) pTx(id shape.ID) cell {
	if id == "" {
		return cell{}
	}
	return hashCell(id, n.link("p", "tx", string(id)))
}

// txMakes is what a transaction makes besides outputs.
func (n *primaryNet) txMakes(t *primaryTx) part {
	p := part{Title: "What it makes"}
	if o := t.SubnetOwnershipInfo; o != nil {
		p.add("Owners", n.addressCells(o.Addresses)...)
		p.add("Signatures needed", cell{Text: wordOf(o.Threshold)})
	}
	if b := t.BlockchainInfo; b != nil {
		p.add("Blockchain", textCell(b.ChainName))
		p.add("Virtual machine", hashCell(b.VMID, ""))
	}
	if m := t.L1ValidatorManagerDetails; m != nil {
		p.add("Manager's chain", n.shortChain(m.BlockchainID))
		p.add("Manager's contract", n.account(m.BlockchainID, string(m.ContractAddress)))
	}
	if a := t.AssetCreated; a != nil {
		p.add("Asset", cell{Text: plain.Text(a.Name+" ("+a.Symbol+")", maxText), Link: n.link("asset", string(a.AssetID))})
	}
	for _, x := range t.EVMOutputs {
		p.add("To account", accountCells(n, x.ToAddress, &x.Asset)...)
	}
	for _, x := range t.EVMInputs {
		p.add("From account", accountCells(n, x.FromAddress, &x.Asset)...)
	}
	return p
}

// accountCells are an account of the C-Chain and an amount.
func accountCells(n *primaryNet, account shape.Address, of *shape.AssetAmount) []cell {
	return append([]cell{n.account(n.contractChain(), string(account))}, amountCells(n, []shape.AssetAmount{*of})...)
}

func (n *primaryNet) inputs(t *primaryTx, chain string) part {
	p := part{ID: "inputs", Title: "Inputs", Heads: heads("Made by", "Owners", "#Amount", "Type"), Empty: "It spends nothing."}
	for i := range t.ConsumedUTXOs {
		p.Rows = append(p.Rows, append([]cell{n.madeBy(&t.ConsumedUTXOs[i], chain)}, n.outputCells(&t.ConsumedUTXOs[i])...))
	}
	return p
}

func (n *primaryNet) outputs(t *primaryTx, chain string) part {
	p := part{ID: "outputs", Title: "Outputs", Heads: heads("#Index", "Owners", "#Amount", "Type", "Spent by"), Empty: "It makes no outputs."}
	for i := range t.EmittedUTXOs {
		o := &t.EmittedUTXOs[i]
		spent := cell{Text: "not spent"}
		if o.ConsumingTxHash != "" {
			spent = hashCell(o.ConsumingTxHash, n.link(n.chainByID(o.ConsumedOnChainID, chain), "tx", string(o.ConsumingTxHash)))
		}
		p.Rows = append(p.Rows, append(append([]cell{{Text: string(o.OutputIndex), Kind: "num"}}, n.outputCells(o)...), spent))
	}
	return p
}

// madeBy links the transaction that made an output.
func (n *primaryNet) madeBy(o *shape.UTXO, chain string) cell {
	id := cmp.Or(o.TxHash, o.CreationTxHash)
	if id == "" {
		return unknown
	}
	return hashCell(id, n.link(n.chainByID(o.CreatedOnChainID, chain), "tx", string(id)))
}

// outputCells are owners, amount and type of an output.
func (n *primaryNet) outputCells(o *shape.UTXO) []cell {
	owners := cell{Text: "unknown"}
	if list := n.addressCells(o.Addresses); len(list) > 0 {
		owners = list[0]
		owners.More = list[1:]
		if o.Threshold > 1 {
			owners.Note = wordOf(o.Threshold) + " of them"
		}
	}
	kind := textCell(strings.ToLower(strings.ReplaceAll(o.UTXOType, "_", " ")))
	if o.IsStaked {
		kind.More = append(kind.More, cell{Text: "staked", Kind: "badge", Mark: "ok"})
	}
	for _, until := range []uint64{o.PlatformLocktime, o.StakeableLocktime, o.Locktime} {
		if lock := lockCell(until); lock.Text != "" {
			kind.More = append(kind.More, cell{Text: "locked until"}, lock)
		}
	}
	if o.Payload != "" {
		kind.More = append(kind.More, memoCells(o.Payload)...)
	}
	return []cell{owners, amountCell(n, &o.Asset), kind}
}
