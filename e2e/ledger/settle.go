package ledger

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
)

// atomicLister is what nodes have of each chain.
type atomicLister func(ctx context.Context, addresses []ids.ShortID, source string, limit uint32, after ids.ShortID, utxo ids.ID) ([][]byte, ids.ShortID, ids.ID, error)

// Settle compares the end of the ledger with what the node says of it: height, time,
// supply, outputs, those between chains, stakers, subnets, blockchains, assets and
// validators of L1s. A nil error means that what a server is compared with is the node's
// word.
func (l *Ledger) Settle(ctx context.Context) error {
	for _, part := range []func(context.Context) error{
		l.settleTip, l.settleOutputs, l.settleStakers, l.settleSubnets, l.settleAssets, l.settleMembers,
	} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) settleTip(ctx context.Context) error {
	at, err := l.pClient.GetTimestamp(ctx)
	if err != nil || uint64(at.Unix()) != l.now {
		return fmt.Errorf("the chain's time is %d, want %d: %w", at.Unix(), l.now, err)
	}
	supply, height, err := l.pClient.GetCurrentSupply(ctx, primaryNetwork)
	if err != nil || supply != l.supply || height != l.P.Height() {
		return fmt.Errorf("supply %d at %d, want %d at %d: %w", supply, height, l.supply, l.P.Height(), err)
	}
	state, _, at, err := l.pClient.GetValidatorFeeState(ctx)
	if err != nil || state != l.fees.Excess || uint64(at.Unix()) != l.now {
		return fmt.Errorf("excess of fees %d, want %d: %w", state, l.fees.Excess, err)
	}
	return nil
}

// Addresses returns all that have or had an output.
func (l *Ledger) Addresses() []ids.ShortID {
	seen := map[ids.ShortID]bool{}
	var list []ids.ShortID
	for _, c := range []*Chain{l.P, l.X, l.C} {
		for _, u := range c.order {
			o, _ := ownersOf(u)
			for _, a := range o.Addrs {
				if !seen[a] {
					seen[a] = true
					list = append(list, a)
				}
			}
		}
	}
	slices.SortFunc(list, ids.ShortID.Compare)
	return list
}

// settleOutputs compares the outputs of each chain, and those that it may import.
func (l *Ledger) settleOutputs(ctx context.Context) error {
	for _, c := range []*Chain{l.P, l.X, l.C} {
		ask := map[*Chain]atomicLister{l.P: l.askPlatform, l.X: l.askExchange, l.C: l.askContract}[c]
		for _, from := range []*Chain{l.P, l.X, l.C} {
			if from == c && c == l.C {
				continue // it has none of its own
			}
			source := ""
			if from != c {
				source = from.ID.String()
			}
			want := map[ids.ID][]byte{}
			for id, u := range from.outputs {
				if from == c && u.spent == nil && !u.Staked && !u.Exported || from != c && u.Exported && *u.other == c.ID && !l.arrived(u) {
					raw, err := l.bytes(c, u)
					if err != nil {
						return err
					}
					want[id] = raw
				}
			}
			if err := l.sameOutputs(ctx, ask, source, want); err != nil {
				return fmt.Errorf("outputs of the %s from %q: %w", c.Alias, source, err)
			}
		}
	}
	return nil
}

func (l *Ledger) askPlatform(ctx context.Context, a []ids.ShortID, s string, n uint32, after ids.ShortID, u ids.ID) ([][]byte, ids.ShortID, ids.ID, error) {
	return l.pClient.GetAtomicUTXOs(ctx, a, s, n, after, u)
}

func (l *Ledger) askExchange(ctx context.Context, a []ids.ShortID, s string, n uint32, after ids.ShortID, u ids.ID) ([][]byte, ids.ShortID, ids.ID, error) {
	return l.xClient.GetAtomicUTXOs(ctx, a, s, n, after, u)
}

func (l *Ledger) askContract(ctx context.Context, a []ids.ShortID, s string, n uint32, after ids.ShortID, u ids.ID) ([][]byte, ids.ShortID, ids.ID, error) {
	return l.cClient.GetAtomicUTXOs(ctx, a, s, n, after, u)
}

// arrived reports whether the chain that an output was exported to has taken it.
func (l *Ledger) arrived(u *Output) bool {
	for _, c := range []*Chain{l.P, l.X, l.C} {
		if c.ID == *u.other {
			_, ok := c.outputs[u.InputID()]
			return ok
		}
	}
	return false
}

// sameOutputs asks for the outputs of each address until there are no more.
func (l *Ledger) sameOutputs(ctx context.Context, ask atomicLister, source string, want map[ids.ID][]byte) error {
	const page = 1024
	got := map[ids.ID][]byte{}
	for _, a := range l.Addresses() {
		var after ids.ShortID
		var last ids.ID
		for {
			list, next, id, err := ask(ctx, []ids.ShortID{a}, source, page, after, last)
			if err != nil {
				return err
			}
			for _, raw := range list {
				u := new(avax.UTXO)
				if _, err := txs.Codec.Unmarshal(raw, u); err != nil {
					if _, err := parser.Codec().Unmarshal(raw, u); err != nil {
						return err
					}
				}
				got[u.InputID()] = raw
			}
			if len(list) < page {
				break
			}
			after, last = next, id
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d, want %d", len(got), len(want))
	}
	for id, raw := range want {
		if !bytes.Equal(got[id], raw) {
			return fmt.Errorf("%s is %x, want %x", id, got[id], raw)
		}
	}
	return nil
}

// settleStakers compares the stakers that are active.
func (l *Ledger) settleStakers(ctx context.Context) error {
	for _, subnet := range l.subnets {
		if subnet.conversion != nil {
			continue // its validators are compared one by one
		}
		list, err := l.pClient.GetCurrentValidators(ctx, subnet.id, nil)
		if err != nil {
			return err
		}
		there := map[ids.ID]bool{}
		for i := range list {
			if err := l.sameValidator(ctx, &list[i], there); err != nil {
				return fmt.Errorf("validator %s of %s: %w", list[i].TxID, subnet.id, err)
			}
		}
		for _, s := range l.stakes {
			if s.Subnet == subnet.id && (s.Status == active) != there[s.tx.ID] {
				return fmt.Errorf("staker %s is %s, and with the node: %v", s.tx.ID, s.Status, there[s.tx.ID])
			}
		}
	}
	return nil
}

func (l *Ledger) sameValidator(ctx context.Context, v *platformvm.ClientPermissionlessValidator, there map[ids.ID]bool) error {
	if err := l.sameStaker(&v.ClientStaker, v.PotentialReward, v.ValidationRewardOwner, there); err != nil {
		return err
	}
	s := l.stakers[v.TxID]
	if s.permissioned() {
		return nil
	}
	if v.AccruedDelegateeReward != nil && *v.AccruedDelegateeReward != s.accrued {
		return fmt.Errorf("accrued %d, want %d", *v.AccruedDelegateeReward, s.accrued)
	}
	// Only who is asked for alone has delegators.
	alone, err := l.pClient.GetCurrentValidators(ctx, s.Subnet, []ids.NodeID{s.Node})
	if err != nil || len(alone) != 1 {
		return fmt.Errorf("%d of the node: %w", len(alone), err)
	}
	for i := range alone[0].Delegators {
		d := &alone[0].Delegators[i]
		if err := l.sameStaker(&d.ClientStaker, d.PotentialReward, d.RewardOwner, there); err != nil {
			return fmt.Errorf("delegator %s: %w", d.TxID, err)
		}
	}
	return nil
}

func (l *Ledger) sameStaker(v *platformvm.ClientStaker, reward *uint64, owner *platformvm.ClientOwner, there map[ids.ID]bool) error {
	there[v.TxID] = true
	s := l.stakers[v.TxID]
	if s == nil || v.NodeID != s.Node || v.StartTime != s.Start || v.EndTime != s.End || v.Weight != s.Weight {
		return fmt.Errorf("%+v, want %+v", v, s)
	}
	if reward != nil && *reward != s.gross {
		return fmt.Errorf("it expects %d, want %d", *reward, s.gross)
	}
	if owner != nil && !slices.Equal(owner.Addresses, s.owner.Addrs) {
		return fmt.Errorf("its owners are %v, want %v", owner.Addresses, s.owner.Addrs)
	}
	return nil
}

func (l *Ledger) settleSubnets(ctx context.Context) error {
	listed, err := l.pClient.GetSubnets(ctx, nil) //nolint:staticcheck // it is the only list that there is
	if err != nil || len(listed) != len(l.subnets) {
		return fmt.Errorf("%d subnets, want %d: %w", len(listed), len(l.subnets), err)
	}
	for _, s := range l.subnets[1:] {
		got, err := l.pClient.GetSubnet(ctx, s.id)
		if err != nil {
			return err
		}
		if !slices.Equal(got.ControlKeys, s.owner.Addrs) || got.Threshold != s.owner.Threshold || got.Locktime != s.owner.Locktime {
			return fmt.Errorf("subnet %s is %+v, want %+v", s.id, got, s.owner)
		}
		if s.conversion == nil && got.ConversionID != ids.Empty {
			return fmt.Errorf("subnet %s was converted", s.id)
		}
		if s.conversion != nil {
			t := s.conversion.unsigned.(*txs.ConvertSubnetToL1Tx)
			if got.ManagerChainID != t.ChainID || !bytes.Equal(got.ManagerAddress, t.Address) {
				return fmt.Errorf("subnet %s has the manager %s %x", s.id, got.ManagerChainID, got.ManagerAddress)
			}
		}
	}
	chains, err := l.pClient.GetBlockchains(ctx) //nolint:staticcheck // as above
	if err != nil {
		return err
	}
	there := map[ids.ID]platformvm.APIBlockchain{}
	for _, c := range chains {
		there[c.ID] = c
	}
	for _, b := range l.chains {
		if c := there[b.tx.ID]; c.Name != b.as.ChainName || c.SubnetID != b.as.SubnetID || c.VMID != b.as.VMID {
			return fmt.Errorf("blockchain %s is %+v", b.tx.ID, c)
		}
		delete(there, b.tx.ID)
	}
	if len(there) > 0 {
		return fmt.Errorf("blockchains that are not known here: %v", there)
	}
	return nil
}

func (l *Ledger) settleAssets(ctx context.Context) error {
	for id, a := range l.assets {
		got, err := l.xClient.GetAssetDescription(ctx, id.String())
		if err != nil || got.Name != a.name || got.Symbol != a.symbol || byte(got.Denomination) != a.denomination {
			return fmt.Errorf("asset %s is %+v, want %+v: %w", id, got, a, err)
		}
	}
	height, err := l.xClient.GetHeight(ctx)
	if err != nil || height != l.X.Height() {
		return fmt.Errorf("the X-Chain is at %d, want %d: %w", height, l.X.Height(), err)
	}
	return nil
}

// Subnets returns the IDs of all subnets, the primary network among them.
func (l *Ledger) Subnets() (list []ids.ID) {
	for _, s := range l.subnets {
		list = append(list, s.id)
	}
	return list
}
