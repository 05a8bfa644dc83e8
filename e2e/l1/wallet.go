package l1

import (
	"context"
	"fmt"
	"time"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/upgrade"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/units"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	"github.com/ava-labs/avalanchego/vms/platformvm/signer"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/message"
	"github.com/ava-labs/avalanchego/vms/proposervm"
	"github.com/ava-labs/avalanchego/vms/proposervm/block"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/chain/p/wallet"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary/common"
)

const (
	// Balance is what a new validator has for its fees.
	Balance = units.Avax
	// pollEvery is how often the wallet asks whether a transaction was accepted.
	pollEvery = 50 * time.Millisecond
)

// A Wallet issues transactions on the P-Chain with the pre-funded key. Each method
// returns when its transaction is accepted. It is not safe for concurrent use:
// it counts its own coins.
type Wallet struct {
	Chain *platformvm.Client
	p     wallet.Wallet
	owner ids.ShortID
}

// NewWallet connects to the node at url.
func NewWallet(ctx context.Context, url string) (*Wallet, error) {
	key := genesis.EWOQKey
	p, err := primary.MakePWallet(ctx, url, secp256k1fx.NewKeychain(key), primary.WalletConfig{})
	if err != nil {
		return nil, fmt.Errorf("open the wallet: %w", err)
	}
	return &Wallet{Chain: platformvm.NewClient(url), p: p, owner: key.Address()}, nil
}

func (w *Wallet) options(ctx context.Context) []common.Option {
	return []common.Option{common.WithContext(ctx), common.WithPollFrequency(pollEvery)}
}

func (w *Wallet) owners() *secp256k1fx.OutputOwners {
	return &secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{w.owner}}
}

// pOwner is the wallet's key as the owner of a validator.
func (w *Wallet) pOwner() message.PChainOwner {
	return message.PChainOwner{Threshold: 1, Addresses: []ids.ShortID{w.owner}}
}

// create issues the subnet and its chain.
func (w *Wallet) create(ctx context.Context, name string, genesisJSON []byte) (subnet, chain ids.ID, err error) {
	tx, err := w.p.IssueCreateSubnetTx(w.owners(), w.options(ctx)...)
	if err != nil {
		return subnet, chain, fmt.Errorf("create a subnet: %w", err)
	}
	subnet = tx.ID()
	if tx, err = w.p.IssueCreateChainTx(subnet, genesisJSON, constants.SubnetEVMID, nil, name, w.options(ctx)...); err != nil {
		return subnet, chain, fmt.Errorf("create the chain %s: %w", name, err)
	}
	return subnet, tx.ID(), nil
}

func (w *Wallet) convert(ctx context.Context, subnet, chain ids.ID, manager []byte, validators []*txs.ConvertSubnetToL1Validator) error {
	if _, err := w.p.IssueConvertSubnetToL1Tx(subnet, chain, manager, validators, w.options(ctx)...); err != nil {
		return fmt.Errorf("convert subnet %s: %w", subnet, err)
	}
	return nil
}

// Register adds a validator by a message that its L1 has signed.
func (w *Wallet) Register(ctx context.Context, proof *signer.ProofOfPossession, signed []byte) error {
	if _, err := w.p.IssueRegisterL1ValidatorTx(Balance, proof.ProofOfPossession, signed, w.options(ctx)...); err != nil {
		return fmt.Errorf("register a validator: %w", err)
	}
	return nil
}

// SetWeight changes a validator's weight by a message that its L1 has signed; 0 removes it.
func (w *Wallet) SetWeight(ctx context.Context, signed []byte) error {
	if _, err := w.p.IssueSetL1ValidatorWeightTx(signed, w.options(ctx)...); err != nil {
		return fmt.Errorf("set a validator's weight: %w", err)
	}
	return nil
}

// Disable makes a validator inactive: its weight counts, its signature does not.
func (w *Wallet) Disable(ctx context.Context, validation ids.ID) error {
	if _, err := w.p.IssueDisableL1ValidatorTx(validation, w.options(ctx)...); err != nil {
		return fmt.Errorf("disable validator %s: %w", validation, err)
	}
	return nil
}

// TopUp adds to a validator's balance, which makes an inactive one active.
func (w *Wallet) TopUp(ctx context.Context, validation ids.ID) error {
	if _, err := w.p.IssueIncreaseL1ValidatorBalanceTx(validation, Balance, w.options(ctx)...); err != nil {
		return fmt.Errorf("top up validator %s: %w", validation, err)
	}
	return nil
}

// Tick has the P-Chain make a block, by a payment of the wallet to itself.
func (w *Wallet) Tick(ctx context.Context) error {
	_, err := w.p.IssueBaseTx([]*avax.TransferableOutput{{
		Asset: avax.Asset{ID: w.p.Builder().Context().AVAXAssetID},
		Out:   &secp256k1fx.TransferOutput{Amt: 1, OutputOwners: *w.owners()},
	}}, w.options(ctx)...)
	if err != nil {
		return fmt.Errorf("pay to itself: %w", err)
	}
	return nil
}

// EpochDuration is how long an epoch of the local network lasts.
var EpochDuration = upgrade.Default.GraniteEpochDuration

// Epoch returns the current epoch of a chain, by its ID or alias, as the node at
// url sees it: what the chain receives is checked against the validators at the
// epoch's P-Chain height.
func Epoch(ctx context.Context, url, chain string) (block.Epoch, error) {
	epoch, err := proposervm.NewJSONRPCClient(url, chain).GetCurrentEpoch(ctx)
	if err != nil {
		return epoch, fmt.Errorf("ask for the epoch of chain %s: %w", chain, err)
	}
	return epoch, nil
}
