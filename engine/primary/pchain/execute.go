package pchain

import (
	"errors"
	"fmt"
	"math/bits"

	"quorate/engine/chain"
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
	sums []assetSums
	over bool // one of the sums has more than 64 bits
}

// assetSums are what a transaction spends and makes of an asset.
type assetSums struct {
	asset       chain.ID
	spent, made uint64
}

// execute executes a transaction that stands at a place of a block with a time.
func (m *machine) execute(tx *platform.Tx, place primary.Place, time uint64, aborted bool) error {
	x := &m.work
	raw, err := tx.AppendRaw(x.row.Raw[:0])
	if err != nil {
		return err
	}
	*x = execution{
		m: m, tx: tx, row: primary.TxRow{Place: place, ID: tx.ID, Time: time, Aborted: aborted, Raw: raw, Block: m.block},
		sums: x.sums[:0],
	}
	if err := x.run(aborted); err != nil {
		return fmt.Errorf("transaction %s: %w", tx.ID, err)
	}
	m.rows.PutTx(&x.row)
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
	case *platform.RewardAutoRenewedValidator:
		return x.m.endCycle(x, t, aborted)
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
	case *platform.SetAutoRenewedValidatorConfig:
		return m.configure(t)
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
		x.m.rows.PutAddressTx(a, x.row.Place)
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
	if err := x.m.rows.Spend(&x.row, u); err != nil {
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
	if err := x.m.rows.Spend(&x.row, u); err != nil {
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

func (x *execution) in(asset chain.ID, amount uint64)  { x.add(&x.of(asset).spent, amount) }
func (x *execution) out(asset chain.ID, amount uint64) { x.add(&x.of(asset).made, amount) }

// of returns the sums of an asset: there are few of them.
func (x *execution) of(asset chain.ID) *assetSums {
	for i := range x.sums {
		if x.sums[i].asset == asset {
			return &x.sums[i]
		}
	}
	x.sums = append(x.sums, assetSums{asset: asset})
	return &x.sums[len(x.sums)-1]
}

// avax returns the ID of AVAX, in which all transactions that it is asked for pay fees.
func (x *execution) avax() chain.ID {
	if ins := x.tx.Body.Funds().Inputs; x.m.head.AVAX.IsZero() && len(ins) > 0 {
		return ins[0].Asset
	}
	return x.m.head.AVAX
}

func (x *execution) add(to *uint64, amount uint64) {
	sum, over := bits.Add64(*to, amount, 0)
	*to, x.over = sum, x.over || over != 0
}

// burn notes what the transaction burns.
func (x *execution) burn() error {
	if err := x.balanced(); err != nil {
		return err
	}
	var b primary.Balance
	for i := range x.sums {
		b.Take(x.sums[i].asset, x.sums[i].spent)
		b.Make(x.sums[i].asset, x.sums[i].made)
	}
	return x.m.rows.Burn(&b, x.row.Time)
}

// balanced reports an error if a transaction makes more than it spends.
func (x *execution) balanced() error {
	for i := range x.sums {
		if s := &x.sums[i]; s.made > s.spent || x.over {
			return fmt.Errorf("%w: makes %d of asset %s of %d", ErrRefused, s.made, s.asset, s.spent)
		}
	}
	return nil
}
