// Package author issues transactions of most types on the P- and the X-Chain of a local
// network.
package author

import (
	"context"
	"fmt"
	"time"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/crypto/bls/signer/localsigner"
	"github.com/ava-labs/avalanchego/utils/units"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/components/verify"
	"github.com/ava-labs/avalanchego/vms/nftfx"
	"github.com/ava-labs/avalanchego/vms/platformvm/signer"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/message"
	"github.com/ava-labs/avalanchego/vms/propertyfx"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary/common"
)

// An Author issues transactions with the pre-funded key.
type Author struct {
	*primary.Wallet
	XChain ids.ID
	avax   ids.ID
	owner  secp256k1fx.OutputOwners
	opts   []common.Option
}

// New returns an author who issues by way of the node at url.
func New(ctx context.Context, url string) (*Author, error) {
	keys := secp256k1fx.NewKeychain(genesis.EWOQKey)
	w, err := primary.MakeWallet(ctx, url, keys, keys, primary.WalletConfig{})
	if err != nil {
		return nil, err
	}
	return &Author{
		w, w.X().Builder().Context().BlockchainID, w.X().Builder().Context().AVAXAssetID,
		secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{genesis.EWOQKey.Address()}},
		[]common.Option{common.WithContext(ctx), common.WithPollFrequency(50 * time.Millisecond), common.WithMemo(nil)},
	}, nil
}

// pay is an output to the author.
func (a *Author) pay(amount uint64) []*avax.TransferableOutput {
	return []*avax.TransferableOutput{{Asset: avax.Asset{ID: a.avax}, Out: &secp256k1fx.TransferOutput{Amt: amount, OutputOwners: a.owner}}}
}

// Pay pays to the author on the P-Chain, which makes a block.
func (a *Author) Pay() error {
	_, err := a.P().IssueBaseTx(a.pay(1), a.opts...)
	return err
}

// Issue issues all of it; node is one of the network's.
func (a *Author) Issue(node ids.NodeID) error {
	for _, part := range []func(ids.NodeID) error{a.permissioned, a.stake, a.l1, a.exchange} {
		if err := part(node); err != nil {
			return err
		}
	}
	return nil
}

// permissioned makes a subnet with a validator, and hands it on.
func (a *Author) permissioned(node ids.NodeID) error {
	subnet, err := a.P().IssueCreateSubnetTx(&a.owner, a.opts...)
	if err != nil {
		return fmt.Errorf("create a subnet: %w", err)
	}
	now := time.Now()
	v := &txs.SubnetValidator{
		Validator: txs.Validator{NodeID: node, Start: uint64(now.Unix()), End: uint64(now.Add(25 * time.Hour).Unix()), Wght: 7}, Subnet: subnet.ID(),
	}
	if _, err := a.P().IssueAddSubnetValidatorTx(v, a.opts...); err != nil {
		return fmt.Errorf("add a subnet validator: %w", err)
	}
	if _, err := a.P().IssueRemoveSubnetValidatorTx(node, subnet.ID(), a.opts...); err != nil {
		return fmt.Errorf("remove a subnet validator: %w", err)
	}
	if _, err := a.P().IssueTransferSubnetOwnershipTx(subnet.ID(), &a.owner, a.opts...); err != nil {
		return fmt.Errorf("transfer a subnet: %w", err)
	}
	return nil
}

// stake adds a validator and a delegator of the primary network.
func (a *Author) stake(node ids.NodeID) error {
	key, err := localsigner.New()
	if err != nil {
		return err
	}
	proof, err := signer.NewProofOfPossession(key)
	if err != nil {
		return err
	}
	end := uint64(time.Now().Add(30 * time.Hour).Unix())
	v := &txs.SubnetValidator{Validator: txs.Validator{NodeID: ids.GenerateTestNodeID(), End: end, Wght: 2 * units.KiloAvax}}
	if _, err := a.P().IssueAddPermissionlessValidatorTx(v, proof, a.avax, &a.owner, &a.owner, 20_000, a.opts...); err != nil {
		return fmt.Errorf("add a validator: %w", err)
	}
	d := &txs.SubnetValidator{Validator: txs.Validator{NodeID: node, End: end, Wght: 25 * units.Avax}}
	if _, err := a.P().IssueAddPermissionlessDelegatorTx(d, a.avax, &a.owner, a.opts...); err != nil {
		return fmt.Errorf("add a delegator: %w", err)
	}
	return nil
}

// l1 makes an L1 with one validator that nobody runs.
func (a *Author) l1(ids.NodeID) error {
	subnet, err := a.P().IssueCreateSubnetTx(&a.owner, a.opts...)
	if err != nil {
		return fmt.Errorf("create a subnet: %w", err)
	}
	chain, err := a.P().IssueCreateChainTx(subnet.ID(), []byte(`{"genesis":"data"}`), constants.SubnetEVMID, nil, "recorded", a.opts...)
	if err != nil {
		return fmt.Errorf("create a chain: %w", err)
	}
	key, err := localsigner.New()
	if err != nil {
		return err
	}
	proof, err := signer.NewProofOfPossession(key)
	if err != nil {
		return err
	}
	owner := message.PChainOwner{Threshold: 1, Addresses: a.owner.Addrs}
	v := &txs.ConvertSubnetToL1Validator{
		NodeID: ids.GenerateTestNodeID().Bytes(), Weight: 5, Balance: units.Avax, Signer: *proof, RemainingBalanceOwner: owner, DeactivationOwner: owner,
	}
	if _, err := a.P().IssueConvertSubnetToL1Tx(subnet.ID(), chain.ID(), []byte{1, 2, 3}, []*txs.ConvertSubnetToL1Validator{v}, a.opts...); err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	validation := subnet.ID().Append(0)
	if _, err := a.P().IssueIncreaseL1ValidatorBalanceTx(validation, units.MilliAvax, a.opts...); err != nil {
		return fmt.Errorf("top up: %w", err)
	}
	if _, err := a.P().IssueDisableL1ValidatorTx(validation, a.opts...); err != nil {
		return fmt.Errorf("disable: %w", err)
	}
	return nil
}

// exchange moves funds to the X-Chain and back, and uses all feature extensions there.
func (a *Author) exchange(ids.NodeID) error {
	steps := []struct {
		name string
		do   func() error
	}{
		{"pay on P", func() error { _, err := a.P().IssueBaseTx(a.pay(1), a.opts...); return err }},
		{"export from P", func() error { _, err := a.P().IssueExportTx(a.XChain, a.pay(units.Avax), a.opts...); return err }},
		{"import to X", func() error {
			_, err := a.X().IssueImportTx(constants.PlatformChainID, &a.owner, a.opts...)
			return err
		}},
		{"pay on X", func() error { _, err := a.X().IssueBaseTx(a.pay(1), a.opts...); return err }},
		{"export from X", func() error {
			_, err := a.X().IssueExportTx(constants.PlatformChainID, a.pay(units.Avax), a.opts...)
			return err
		}},
		{"import to P", func() error { _, err := a.P().IssueImportTx(a.XChain, &a.owner, a.opts...); return err }},
		{"assets", a.assets},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (a *Author) assets() error {
	asset, err := a.X().IssueCreateAssetTx("Recorded", "REC", 3, map[uint32][]verify.State{
		0: {&secp256k1fx.MintOutput{OutputOwners: a.owner}, &secp256k1fx.TransferOutput{Amt: 100, OutputOwners: a.owner}},
		1: {&nftfx.MintOutput{GroupID: 4, OutputOwners: a.owner}},
		2: {&propertyfx.MintOutput{OutputOwners: a.owner}},
	}, a.opts...)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	id := asset.ID()
	if _, err = a.X().IssueOperationTxMintFT(map[ids.ID]*secp256k1fx.TransferOutput{id: {Amt: 9, OutputOwners: a.owner}}, a.opts...); err != nil {
		return fmt.Errorf("mint: %w", err)
	}
	if _, err = a.X().IssueOperationTxMintNFT(id, []byte("payload"), []*secp256k1fx.OutputOwners{&a.owner}, a.opts...); err != nil {
		return fmt.Errorf("mint an NFT: %w", err)
	}
	if _, err = a.X().IssueOperationTxMintProperty(id, &a.owner, a.opts...); err != nil {
		return fmt.Errorf("mint a property: %w", err)
	}
	if _, err = a.X().IssueOperationTxBurnProperty(id, a.opts...); err != nil {
		return fmt.Errorf("burn a property: %w", err)
	}
	return nil
}
