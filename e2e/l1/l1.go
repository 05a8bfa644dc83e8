package l1

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/crypto/bls"
	"github.com/ava-labs/avalanchego/vms/platformvm/signer"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/message"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/payload"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/crypto"

	"quorate/e2e/localnet"
)

// expiry is how long a registration may wait for the P-Chain.
const expiry = 10 * time.Minute

// An L1 is a subnet with one chain. Until it is converted it has no validators.
type L1 struct {
	Subnet, Chain ids.ID
	Number        uint64 // the chain's EVM chain ID
	// Manager is the account whose messages change the validators: the pre-funded
	// one, since sendWarpMessage names its caller as the source.
	Manager []byte

	network uint32
	initial []*txs.ConvertSubnetToL1Validator // as the P-Chain sorts them, once converted
}

// Create makes a subnet and its chain, which may begin with contracts, by their code.
func Create(ctx context.Context, w *Wallet, name string, number uint64, contracts map[common.Address][]byte) (*L1, error) {
	spec, err := chainGenesis(number, contracts)
	if err != nil {
		return nil, err
	}
	l := &L1{
		Number:  number,
		Manager: crypto.PubkeyToAddress(genesis.EWOQKey.ToECDSA().PublicKey).Bytes(),
		network: localnet.NetworkID,
	}
	l.Subnet, l.Chain, err = w.create(ctx, name, spec)
	return l, err
}

// A Member is a node with the weight that it is to have.
type Member struct {
	Node   *localnet.Guest
	Weight uint64
}

// Convert makes the subnet an L1 with these validators.
func (l *L1) Convert(ctx context.Context, w *Wallet, members []Member) error {
	for _, m := range members {
		proof, err := m.Node.Possession()
		if err != nil {
			return err
		}
		l.initial = append(l.initial, &txs.ConvertSubnetToL1Validator{
			NodeID: m.Node.NodeID.Bytes(), Weight: m.Weight, Balance: Balance, Signer: *proof,
			RemainingBalanceOwner: w.pOwner(), DeactivationOwner: w.pOwner(),
		})
	}
	slices.SortFunc(l.initial, (*txs.ConvertSubnetToL1Validator).Compare)
	return w.convert(ctx, l.Subnet, l.Chain, l.Manager, l.initial)
}

// Initial returns the validation ID of a validator of the conversion and its index.
func (l *L1) Initial(node ids.NodeID) (validation ids.ID, index uint32, err error) {
	for i, v := range l.initial {
		if slices.Equal(v.NodeID, node.Bytes()) {
			return l.Subnet.Append(uint32(i)), uint32(i), nil
		}
	}
	return ids.Empty, 0, fmt.Errorf("%s was not there at the conversion", node)
}

// Conversion returns the message of the P-Chain that the subnet was converted.
func (l *L1) Conversion() ([]byte, error) {
	data := message.SubnetToL1ConversionData{SubnetID: l.Subnet, ManagerChainID: l.Chain, ManagerAddress: l.Manager}
	for _, v := range l.initial {
		data.Validators = append(data.Validators, message.SubnetToL1ConversionValidatorData{
			NodeID: v.NodeID, BLSPublicKey: v.Signer.PublicKey, Weight: v.Weight,
		})
	}
	id, err := message.SubnetToL1ConversionID(data)
	if err != nil {
		return nil, err
	}
	m, err := message.NewSubnetToL1Conversion(id)
	if err != nil {
		return nil, err
	}
	return l.ofPlatform(m.Bytes())
}

// Registration returns the payload that asks the P-Chain to add a validator.
func (l *L1) Registration(w *Wallet, m Member, proof *signer.ProofOfPossession) (*message.RegisterL1Validator, error) {
	return message.NewRegisterL1Validator(l.Subnet, m.Node.NodeID, [bls.PublicKeyLen]byte(proof.PublicKey),
		uint64(time.Now().Add(expiry).Unix()), w.pOwner(), w.pOwner(), m.Weight)
}

// Registered returns the message of the P-Chain that a validator is there, or is
// there no more and cannot come back.
func (l *L1) Registered(validation ids.ID, there bool) ([]byte, error) {
	m, err := message.NewL1ValidatorRegistration(validation, there)
	if err != nil {
		return nil, err
	}
	return l.ofPlatform(m.Bytes())
}

// Weight returns the payload that sets a weight, which is also what the P-Chain
// confirms afterwards.
func (l *L1) Weight(validation ids.ID, nonce, weight uint64) ([]byte, error) {
	m, err := message.NewL1ValidatorWeight(validation, nonce, weight)
	if err != nil {
		return nil, err
	}
	return m.Bytes(), nil
}

// Confirmed returns the message of the P-Chain that carries a payload such as Weight's.
func (l *L1) Confirmed(p []byte) ([]byte, error) { return l.ofPlatform(p) }

// ofPlatform wraps a payload as a message of the P-Chain.
func (l *L1) ofPlatform(inner []byte) ([]byte, error) {
	call, err := payload.NewAddressedCall(nil, inner)
	if err != nil {
		return nil, err
	}
	m, err := warp.NewUnsignedMessage(l.network, ids.Empty, call.Bytes())
	if err != nil {
		return nil, err
	}
	return m.Bytes(), nil
}
