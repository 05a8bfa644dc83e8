package ledger

import (
	"context"
	"fmt"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/crypto/bls"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/message"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/payload"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
)

// A Member is a validator of an L1.
type Member struct {
	tx                *Tx
	ID, Subnet        ids.ID
	Node              ids.NodeID
	key               [bls.PublicKeyLen]byte
	Weight, Start     uint64
	nonce             uint64
	limit             uint64 // what may have accrued while it is active, 0 if it is not
	since, paid       uint64 // what had accrued when it became active, and what it paid when it was before
	gone              bool
	balance, disabler message.PChainOwner
}

// expire deactivates those that cannot pay for another second.
func (p *platform) expire() {
	for _, m := range p.joined {
		if m.limit != 0 && m.limit <= p.accrued {
			m.paid += m.limit - m.since
			m.limit = 0
			p.fees.Current--
		}
	}
}

// fund adds to what a validator can pay.
func (p *platform) fund(m *Member, balance uint64) {
	if balance == 0 {
		return
	}
	if m.limit == 0 {
		m.limit, m.since = p.accrued, p.accrued
		p.fees.Current++
	}
	m.limit += balance
}

// said returns the payload of a signed message.
func said(signed []byte) (message.Payload, error) {
	m, err := warp.ParseMessage(signed)
	if err != nil {
		return nil, err
	}
	call, err := payload.ParseAddressedCall(m.Payload)
	if err != nil {
		return nil, err
	}
	return message.Parse(call.Payload)
}

// member executes what is about the validators of L1s.
func (p *platform) member(tx *Tx, unsigned any, next int) error {
	switch t := unsigned.(type) {
	case *txs.ConvertSubnetToL1Tx:
		p.subnet(t.Subnet).conversion = tx
		for i, v := range t.Validators {
			node, err := ids.ToNodeID(v.NodeID)
			if err != nil {
				return err
			}
			m := &Member{
				tx: tx, ID: t.Subnet.Append(uint32(i)), Subnet: t.Subnet, Node: node, key: v.Signer.PublicKey, Weight: v.Weight, Start: p.now,
				balance: v.RemainingBalanceOwner, disabler: v.DeactivationOwner,
			}
			p.join(m, v.Balance)
		}
		return nil
	case *txs.RegisterL1ValidatorTx:
		say, err := said(t.Message)
		if err != nil {
			return err
		}
		r := say.(*message.RegisterL1Validator)
		node, err := ids.ToNodeID(r.NodeID)
		if err != nil {
			return err
		}
		p.join(&Member{
			tx: tx, ID: r.ValidationID(), Subnet: r.SubnetID, Node: node, key: r.BLSPublicKey, Weight: r.Weight, Start: p.now,
			balance: r.RemainingBalanceOwner, disabler: r.DisableOwner,
		}, t.Balance)
		return nil
	case *txs.SetL1ValidatorWeightTx:
		say, err := said(t.Message)
		if err != nil {
			return err
		}
		w := say.(*message.L1ValidatorWeight)
		m := p.members[w.ValidationID]
		m.nonce, m.Weight = w.Nonce+1, w.Weight
		if w.Weight == 0 {
			m.gone = true
			p.refund(tx, m, next)
		}
		return nil
	case *txs.IncreaseL1ValidatorBalanceTx:
		p.fund(p.members[t.ValidationID], t.Balance)
		return nil
	case *txs.DisableL1ValidatorTx:
		p.refund(tx, p.members[t.ValidationID], next)
		return nil
	}
	return fmt.Errorf("a %T, which is not known here", unsigned)
}

func (p *platform) join(m *Member, balance uint64) {
	p.members[m.ID] = m
	p.joined = append(p.joined, m)
	p.fund(m, balance)
}

// refund pays back what an active validator has left.
func (p *platform) refund(tx *Tx, m *Member, next int) {
	if m.limit == 0 {
		return
	}
	p.P.make(tx, &Output{UTXO: avax.UTXO{
		UTXOID: avax.UTXOID{TxID: tx.ID, OutputIndex: uint32(next)}, Asset: avax.Asset{ID: p.AVAX},
		Out: &secp256k1fx.TransferOutput{
			Amt: m.limit - p.accrued, OutputOwners: secp256k1fx.OutputOwners{Threshold: m.balance.Threshold, Addrs: m.balance.Addresses},
		},
	}})
	tx.refunded += m.limit - p.accrued
	m.paid += p.accrued - m.since
	m.limit = 0
	p.fees.Current--
}

// feesOf returns what a validator has paid so far.
func (p *platform) feesOf(m *Member) uint64 {
	if m.limit == 0 {
		return m.paid
	}
	return m.paid + p.accrued - m.since
}

// settleMembers compares the validators of L1s with what the node says of them.
func (p *platform) settleMembers(ctx context.Context) error {
	for _, m := range p.joined {
		got, _, err := p.pClient.GetL1Validator(ctx, m.ID)
		if m.gone {
			if err == nil {
				return fmt.Errorf("validator %s is still there", m.ID)
			}
			continue
		}
		if err != nil {
			return err
		}
		balance := uint64(0)
		if m.limit != 0 {
			balance = m.limit - p.accrued
		}
		if got.Balance != balance || got.Weight != m.Weight || got.NodeID != m.Node || got.StartTime != m.Start || got.MinNonce != m.nonce {
			return fmt.Errorf("validator %s is %+v, want %+v with balance %d", m.ID, got, m, balance)
		}
	}
	return nil
}
