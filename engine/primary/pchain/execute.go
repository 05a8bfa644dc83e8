package pchain

import (
	"errors"
	"fmt"
	"math/bits"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
)

// ErrRefused is wrapped by errors about blocks that consensus would have refused: the
// state is not that of the network, or there is an error in this package.
var ErrRefused = errors.New("the P-Chain would have refused it")

// execution is a transaction at work.
type execution struct {
	m    *machine
	tx   *platform.Tx
	row  primary.TxRow
	with map[address.Address]struct{} // who has part in it
	// spent and made are the sums by asset.
	spent, produced map[chain.ID]uint64
	over            bool // one of them has more than 64 bits
}

// execute executes a transaction that stands at a place of a block with a time.
func (m *machine) execute(tx *platform.Tx, place primary.Place, time uint64, aborted bool) error {
	raw, err := tx.Bytes()
	if err != nil {
		return err
	}
	x := &execution{
		m: m, tx: tx, row: primary.TxRow{Place: place, ID: tx.ID, Time: time, Aborted: aborted, Raw: raw, Block: m.block},
		with: map[address.Address]struct{}{}, spent: map[chain.ID]uint64{}, produced: map[chain.ID]uint64{},
	}
	if err := x.run(aborted); err != nil {
		return fmt.Errorf("transaction %s: %w", tx.ID, err)
	}
	m.rows.PutTx(&x.row)
	for a := range x.with {
		m.rows.PutAddressTx(a, place)
	}
	return nil
}

func (x *execution) run(aborted bool) error {
	switch t := x.tx.Body.(type) {
	case *platform.AdvanceTime:
		if aborted {
			return nil
		}
		return x.m.advance(t.Time)
	case *platform.RewardValidator:
		return x.m.reward(x, t.TxID, aborted)
	}
	if err := x.move(x.tx.Body.Funds()); err != nil {
		return err
	}
	s, stake := stakeOf(x.tx)
	state := primary.Staked
	if aborted {
		state = primary.Unspent // what was to be staked returns at once
	}
	if s != nil {
		if err := x.outputs(stake, s.outputs, state); err != nil {
			return err
		}
	}
	var err error
	switch {
	case s != nil && !aborted:
		err = x.m.addStaker(s, x.row.Place)
	case s == nil && aborted:
		err = fmt.Errorf("%w: abort of a %s", ErrRefused, x.tx.Body.Kind())
	case s == nil:
		err = x.act()
	}
	if err != nil {
		return err
	}
	return x.burn()
}

// act executes what a transaction does besides moving funds.
func (x *execution) act() error {
	m := x.m
	switch t := x.tx.Body.(type) {
	case *platform.Base:
		return nil
	case *platform.Import:
		return x.imported(t)
	case *platform.Export:
		first := uint32(len(t.Outputs))
		for i := range t.Exported {
			u := &primary.Output{UTXO: utxo.UTXO{Ref: utxo.Ref{TxID: x.tx.ID, Index: first + uint32(i)}, Output: t.Exported[i]}}
			u.State, u.Other, u.HasOther = primary.Exported, t.DestinationChain, true
			x.out(u.Asset, u.Amount)
			if err := x.make(u); err != nil {
				return err
			}
		}
		return nil
	case *platform.CreateSubnet:
		m.listSubnet(&subnet{ID: x.tx.ID, place: x.row.Place, time: x.row.Time, owners: t.Owner})
		return nil
	case *platform.CreateChain:
		m.addChain(x.tx.ID, t, x.row.Place, x.row.Time)
		return nil
	case *platform.TransferSubnetOwnership:
		return m.changeSubnet(t.Subnet, func(s *subnet) { s.owners = t.Owner })
	case *platform.TransformSubnet:
		return m.changeSubnet(t.Subnet, func(s *subnet) {
			s.elastic, s.minRate, s.maxRate, s.cap, s.supply = true, t.MinConsumptionRate, t.MaxConsumptionRate, t.MaximumSupply, t.InitialSupply
		})
	case *platform.RemoveSubnetValidator:
		return m.removeValidator(t, x.tx.ID)
	case *platform.ConvertSubnetToL1:
		return m.convert(x, t)
	case *platform.RegisterL1Validator:
		return m.register(x, t)
	case *platform.SetL1ValidatorWeight:
		return m.setWeight(x, t)
	case *platform.IncreaseL1ValidatorBalance:
		return m.increase(x, t)
	case *platform.DisableL1Validator:
		return m.disable(x, t)
	}
	return fmt.Errorf("%w: %s", ErrRefused, x.tx.Body.Kind())
}

// move spends inputs and makes outputs.
func (x *execution) move(b *utxo.Base) error {
	for i := range b.Inputs {
		if err := x.spend(&b.Inputs[i]); err != nil {
			return err
		}
	}
	return x.outputs(b.Outputs, 0, primary.Unspent)
}

// outputs makes outputs with indices from first on.
func (x *execution) outputs(list []utxo.Output, first uint32, state primary.OutputState) error {
	for i := range list {
		u := &primary.Output{UTXO: utxo.UTXO{Ref: utxo.Ref{TxID: x.tx.ID, Index: first + uint32(i)}, Output: list[i]}}
		u.State = state
		x.out(u.Asset, u.Amount)
		if err := x.make(u); err != nil {
			return err
		}
	}
	return nil
}

// make writes a new output.
func (x *execution) make(u *primary.Output) error {
	u.Known, u.Place, u.Time, u.MadeBy = true, x.row.Place, x.row.Time, x.tx.ID
	x.involve(&u.Owners)
	return x.m.rows.PutOutput(u)
}

func (x *execution) involve(o *utxo.Owners) {
	for _, a := range o.Addresses {
		x.with[a] = struct{}{}
	}
}

// returnStake makes an output of a stake.
func (x *execution) returnStake(ref utxo.Ref) error {
	u, found, err := x.m.rows.Output(ref.ID())
	if err != nil {
		return err
	}
	if !found || u.State != primary.Staked {
		return fmt.Errorf("%w: stake %s", ErrRefused, ref.ID())
	}
	u.State = primary.Unspent
	x.involve(&u.Owners)
	x.row.Made = append(x.row.Made, ref.ID())
	return x.m.rows.MoveOutput(u, primary.Staked)
}

// spend spends an output.
func (x *execution) spend(in *utxo.Input) error {
	id := in.Ref.ID()
	u, found, err := x.m.rows.Output(id)
	if err != nil {
		return err
	}
	x.in(in.Asset, in.Amount)
	if !found {
		if x.m.head.Exact {
			return fmt.Errorf("%w: there is no output %s", ErrRefused, id)
		}
		return x.unseen(in)
	}
	before := u.State
	if before != primary.Unspent && (x.m.head.Exact || before != primary.Staked) || u.Amount != in.Amount || u.Asset != in.Asset {
		return fmt.Errorf("%w: output %s, of %d in state %d, is spent as %d", ErrRefused, id, u.Amount, before, in.Amount)
	}
	x.involve(&u.Owners)
	if err := x.row.Spend(u); err != nil {
		return err
	}
	return x.m.rows.MoveOutput(u, before)
}

// unseen notes an output of which no more is known than how it was spent.
func (x *execution) unseen(in *utxo.Input, from ...chain.ID) error {
	out := utxo.Output{Asset: in.Asset, StakeLock: in.StakeLock, State: utxo.State{Kind: utxo.TransferOutput, Amount: in.Amount}}
	u := &primary.Output{UTXO: utxo.UTXO{Ref: in.Ref, Output: out}, Place: x.row.Place, Time: x.row.Time, MadeBy: in.TxID}
	if len(from) > 0 {
		u.Other, u.HasOther = from[0], true
	}
	if err := x.row.Spend(u); err != nil {
		return err
	}
	return x.m.rows.PutOutput(u)
}

// imported spends outputs of another chain, which alone knows whose they were.
func (x *execution) imported(t *platform.Import) error {
	for i := range t.Imported {
		in := &t.Imported[i]
		if _, found, err := x.m.rows.Output(in.Ref.ID()); err != nil || found {
			if err == nil {
				err = fmt.Errorf("%w: output %s is imported twice", ErrRefused, in.Ref.ID())
			}
			return err
		}
		x.in(in.Asset, in.Amount)
		if err := x.unseen(in, t.SourceChain); err != nil {
			return err
		}
	}
	return nil
}

func (x *execution) in(asset chain.ID, amount uint64)  { x.add(x.spent, asset, amount) }
func (x *execution) out(asset chain.ID, amount uint64) { x.add(x.produced, asset, amount) }

// avax returns the ID of AVAX, in which all transactions that it is asked for pay fees.
func (x *execution) avax() chain.ID {
	if ins := x.tx.Body.Funds().Inputs; x.m.head.AVAX.IsZero() && len(ins) > 0 {
		return ins[0].Asset
	}
	return x.m.head.AVAX
}

func (x *execution) add(to map[chain.ID]uint64, asset chain.ID, amount uint64) {
	sum, over := bits.Add64(to[asset], amount, 0)
	to[asset], x.over = sum, x.over || over != 0
}

// burn notes what the transaction burns.
func (x *execution) burn() error {
	if err := x.balanced(); err != nil {
		return err
	}
	var b primary.Balance
	for asset, spent := range x.spent {
		b.Take(asset, spent)
		b.Make(asset, x.produced[asset])
	}
	return x.m.rows.Burn(&b, x.row.Time)
}

// balanced reports an error if a transaction makes more than it spends.
func (x *execution) balanced() error {
	for asset, made := range x.produced {
		if made > x.spent[asset] || x.over {
			return fmt.Errorf("%w: makes %d of asset %s of %d", ErrRefused, made, asset, x.spent[asset])
		}
	}
	return nil
}
