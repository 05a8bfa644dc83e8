package ledger

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm/block"
	pgenesis "github.com/ava-labs/avalanchego/vms/platformvm/genesis"
	"github.com/ava-labs/avalanchego/vms/platformvm/reward"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/platformvm/validators/fee"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
)

// platform is the state of the P-Chain besides outputs.
type platform struct {
	*Ledger
	now, supply uint64
	rewards     reward.Calculator
	stakers     map[ids.ID]*Staker
	stakes      []*Staker // in the order of their start
	subnets     []*Subnet
	chains      []*Blockchain
	members     map[ids.ID]*Member
	joined      []*Member
	fees        fee.State
	accrued     uint64
	proposal    *block.BanffProposalBlock
	proposed    *Block
	paid        map[ids.ID][]*Reward
	paidAll     []*Reward
}

// A Subnet is one as it is in the end.
type Subnet struct {
	tx         *Tx // nil: the primary network
	id         ids.ID
	owner      secp256k1fx.OutputOwners
	conversion *Tx
}

// A Blockchain is one that a transaction created.
type Blockchain struct {
	tx *Tx
	as *txs.CreateChainTx
}

func newPlatform(l *Ledger) *platform {
	return &platform{
		Ledger: l, rewards: reward.NewCalculator(genesis.LocalParams.RewardConfig),
		stakers: map[ids.ID]*Staker{}, members: map[ids.ID]*Member{}, paid: map[ids.ID][]*Reward{},
	}
}

// begin executes the genesis.
func (p *platform) begin(ctx context.Context, g *pgenesis.Genesis) error {
	p.now, p.supply = g.Timestamp, g.InitialSupply
	p.subnets = append(p.subnets, &Subnet{id: constants.PrimaryNetworkID})
	first := &Block{Time: p.now, Kind: "ApricotCommitBlock"}
	commit, err := block.NewApricotCommitBlock(hash(p.Genesis), 0)
	if err != nil {
		return err
	}
	first.ID, first.Parent, first.Size = commit.ID(), commit.Parent(), len(commit.Bytes())
	for _, u := range g.UTXOs {
		tx := &Tx{ID: u.TxID, time: p.now}
		p.P.make(tx, &Output{UTXO: u.UTXO})
	}
	for _, list := range [][]*txs.Tx{g.Validators, g.Chains} {
		for _, raw := range list {
			if err := p.execute(ctx, raw, first, false); err != nil {
				return err
			}
		}
	}
	first.Txs = nil // they are in no block
	p.P.Blocks = append(p.P.Blocks, first)
	p.after(first)
	for _, raw := range g.Chains {
		t := raw.Unsigned.(*txs.CreateChainTx)
		switch t.VMID {
		case constants.AVMID:
			p.X = newChain(raw.ID(), "x-chain")
			if err := p.exchangeGenesis(t.GenesisData); err != nil {
				return err
			}
		case constants.EVMID:
			p.C = newChain(raw.ID(), "c-chain")
		}
	}
	return nil
}

// kindOf returns the name of a value's type.
func kindOf(v any) string { return strings.TrimPrefix(reflect.TypeOf(v).Elem().Name(), "Unsigned") }

// platformBlock executes a block.
func (l *Ledger) platformBlock(ctx context.Context, b *Block, raw []byte) error {
	blk, err := block.Parse(block.Codec, raw)
	if err != nil {
		return err
	}
	if again, err := block.Codec.Marshal(block.CodecVersion, &blk); err != nil || !bytes.Equal(again, raw) {
		return fmt.Errorf("block %d is encoded again as another: %w", blk.Height(), err)
	}
	b.Height, b.ID, b.Parent, b.Kind, b.Size = blk.Height(), blk.ID(), blk.Parent(), kindOf(blk), len(raw)
	b.Time = uint64(blk.(block.BanffBlock).Timestamp().Unix())
	p := l.platform
	switch blk := blk.(type) {
	case *block.BanffStandardBlock:
		p.advance(b.Time)
		for _, tx := range blk.Transactions {
			if err := p.execute(ctx, tx, b, false); err != nil {
				return fmt.Errorf("transaction %s: %w", tx.ID(), err)
			}
		}
		p.expire()
	case *block.BanffProposalBlock:
		// It decides nothing, but it has the transactions.
		for _, tx := range blk.Txs() {
			b.Txs = append(b.Txs, &Tx{ID: tx.ID()})
		}
		p.proposal, p.proposed = blk, b
	case *block.BanffCommitBlock, *block.BanffAbortBlock:
		p.advance(b.Time)
		p.proposed.Txs = nil
		for _, tx := range p.proposal.Txs() {
			if err := p.execute(ctx, tx, p.proposed, strings.Contains(b.Kind, "Abort")); err != nil {
				return fmt.Errorf("transaction %s: %w", tx.ID(), err)
			}
		}
		p.expire()
	default:
		return fmt.Errorf("a %T on a network of the latest rules", blk)
	}
	p.after(b)
	return nil
}

// after notes the state after a block.
func (p *platform) after(b *Block) {
	b.supply, b.active, b.fees = p.supply, uint64(p.fees.Current), p.accrued
}

// advance moves the chain's time on.
func (p *platform) advance(to uint64) {
	if to > p.now {
		config := genesis.LocalParams.ValidatorFeeConfig
		p.accrued += p.fees.CostOf(config, to-p.now)
		p.fees = p.fees.AdvanceTime(config.Target, to-p.now)
		p.now = to
	}
	for _, s := range p.stakes { // those of permissioned subnets just end
		if s.Status == active && s.permissioned() && s.End <= to {
			s.Status = completed
		}
	}
}

// execute executes a transaction.
func (p *platform) execute(ctx context.Context, raw *txs.Tx, b *Block, aborted bool) error {
	tx := &Tx{ID: raw.ID(), Kind: kindOf(raw.Unsigned), unsigned: raw.Unsigned}
	p.P.add(tx, b)
	if t, ok := raw.Unsigned.(*txs.RewardValidatorTx); ok {
		return p.reward(ctx, tx, t, aborted)
	}
	base, ok := raw.Unsigned.(interface {
		Outputs() []*avax.TransferableOutput
	})
	if !ok {
		return fmt.Errorf("a %s", tx.Kind)
	}
	if err := p.P.spendAll(tx, inputsOf(raw.Unsigned)); err != nil {
		return err
	}
	next := p.P.makeAll(tx, 0, base.Outputs(), nil)
	switch t := raw.Unsigned.(type) {
	case *txs.BaseTx:
	case *txs.ImportTx:
		for _, in := range t.ImportedInputs {
			p.take(p.P, tx, in, t.SourceChain)
		}
	case *txs.ExportTx:
		p.P.makeAll(tx, next, t.ExportedOutputs, exported(t.DestinationChain))
	case *txs.CreateSubnetTx:
		p.subnets = append(p.subnets, &Subnet{tx: tx, id: tx.ID, owner: *t.Owner.(*secp256k1fx.OutputOwners)})
	case *txs.CreateChainTx:
		p.chains = append(p.chains, &Blockchain{tx, t})
	case *txs.TransferSubnetOwnershipTx:
		p.subnet(t.Subnet).owner = *t.Owner.(*secp256k1fx.OutputOwners)
	case *txs.RemoveSubnetValidatorTx:
		for _, s := range p.stakes {
			if s.Subnet == t.Subnet && s.Node == t.NodeID && s.Status == active {
				s.Status, s.ended = removed, tx
			}
		}
	case txs.StakerTx:
		p.stake(tx, t, next, raw)
	default:
		return p.member(tx, raw.Unsigned, next)
	}
	return nil
}

// inputsOf returns the inputs of this chain in their order.
func inputsOf(t any) []*avax.TransferableInput {
	return reflect.ValueOf(t).Elem().FieldByName("Ins").Interface().([]*avax.TransferableInput)
}

func (p *platform) subnet(id ids.ID) *Subnet {
	for _, s := range p.subnets {
		if s.id == id {
			return s
		}
	}
	return nil
}

// Wait returns when the chain's time is past a moment and nothing is left to end by it.
func (l *Ledger) Due(at time.Time) (left []ids.ID) {
	for _, s := range l.stakes {
		if s.Status == active && s.End <= uint64(at.Unix()) {
			left = append(left, s.tx.ID)
		}
	}
	return left
}
