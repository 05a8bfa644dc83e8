package world

import (
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/chain/warp"
)

// The transactions that make an L1 spend one after the other what its owner has at
// genesis, so that their IDs depend on nothing but the seed.

// Created returns the transactions that make the subnet and its blockchain.
func (l *L1) Created() (subnet, blockchain platform.Tx) { return l.created, l.withChain }

// Former returns those initial validators that are gone.
func (l *L1) Former() []L1Validator { return l.former }

func (w *World) foundL1(l *L1) (err error) {
	create := &platform.CreateSubnet{
		Base:  w.ownerSpends(l, utxo.Ref{Index: uint32(l.Index)}, L1Funds, L1Funds-createFee), // small
		Owner: Single(l.Owner),
	}
	if l.created, err = Sealed(create, []int{1}); err != nil {
		return err
	}
	l.SubnetID = l.created.ID
	blockchain := &platform.CreateChain{
		Base:   w.ownerSpends(l, utxo.Ref{TxID: l.created.ID}, L1Funds-createFee, L1Funds-2*createFee),
		Subnet: l.SubnetID, Name: l.Name, VM: L1EVMID, GenesisData: w.EVMGenesis(L1EVMChainID + uint64(l.Index)), // small
		SubnetAuth: utxo.Auth{Indices: []uint32{0}},
	}
	if l.withChain, err = Sealed(blockchain, []int{1, 1}); err != nil {
		return err
	}
	l.ChainID = l.withChain.ID
	return nil
}

// Conversion returns the transactions that make a subnet an L1 and remove what is
// gone of its validators. At the end of age seconds each member has the balance that
// it is to have, if active validators pay 1 nAVAX a second, as they do while there
// are few; the inactive ones have run out of theirs.
func (w *World) Conversion(l *L1, age uint64) ([]platform.Tx, error) {
	body := &platform.ConvertSubnetToL1{
		Subnet: l.SubnetID, ManagerChain: l.ManagerChainID, ManagerAddress: l.ManagerAddress[:],
		Validators: make([]platform.L1Validator, l.Initial), SubnetAuth: utxo.Auth{Indices: []uint32{0}},
	}
	const have = L1Funds - 2*createFee
	rest := uint64(have - convertFee)
	for _, m := range slices.Concat(l.Members, l.former) {
		owner := platform.L1Owner{Threshold: 1, Addresses: []address.Address{m.Reward}}
		v := platform.L1Validator{
			NodeID: m.NodeID[:], Weight: m.L1Weight, Balance: m.Balance + age,
			Signer:                platform.Signer{PublicKey: m.PublicKey, ProofOfPossession: m.Proof()},
			RemainingBalanceOwner: owner, DeactivationOwner: owner,
		}
		if m.Balance == 0 {
			v.Balance = min(age, lapsedAfter)
		}
		rest -= v.Balance
		body.Validators[m.InitialIndex] = v
	}
	body.Base = w.ownerSpends(l, utxo.Ref{TxID: l.withChain.ID}, have, rest)
	convert, err := Sealed(body, []int{1, 1})
	if err != nil {
		return nil, err
	}
	all := []platform.Tx{convert}
	for _, m := range l.former {
		message, err := w.ManagerMessage(l.ManagerChainID, l.ManagerAddress[:], &platform.L1Weight{ValidationID: m.ValidationID})
		if err != nil {
			return nil, err
		}
		remove := &platform.SetL1ValidatorWeight{
			Base: w.ownerSpends(l, utxo.Ref{TxID: all[len(all)-1].ID}, rest, rest-convertFee), Message: message,
		}
		rest -= convertFee
		tx, err := Sealed(remove, []int{1})
		if err != nil {
			return nil, err
		}
		all = append(all, tx)
	}
	return all, nil
}

// ownerSpends returns the base of a transaction by which the owner of an L1 spends
// an output and keeps the rest.
func (w *World) ownerSpends(l *L1, from utxo.Ref, amount, rest uint64) utxo.Base {
	return utxo.Base{
		NetworkID: NetworkID,
		Outputs: []utxo.Output{{
			Asset: w.founding.avax,
			State: utxo.State{Kind: utxo.TransferOutput, Amount: rest, Owners: Single(l.Owner)},
		}},
		Inputs: []utxo.Input{{Ref: from, Asset: w.founding.avax, Amount: amount, Auth: utxo.Auth{Indices: []uint32{0}}}},
	}
}

// ManagerMessage returns the signed message by which an L1's manager asks the P-Chain
// for something. One validator signed it, the first: the form is true, the quorum is
// not.
func (w *World) ManagerMessage(source chain.ID, manager []byte, what interface{ Bytes() ([]byte, error) }) ([]byte, error) {
	payload, err := what.Bytes()
	if err != nil {
		return nil, err
	}
	u, err := warp.New(NetworkID, source, warp.AddressedCall{SourceAddress: manager, Payload: payload}.Append(nil))
	if err != nil {
		return nil, err
	}
	signers := warp.NewBits(1)
	signers.Set(0)
	sig := w.validators[0].Key.Sign(u.Bytes())
	return warp.AppendSigned(nil, u.Bytes(), signers.Signers(), &sig), nil
}
