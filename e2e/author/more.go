package author

import (
	"context"
	"fmt"
	"time"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/crypto/bls"
	"github.com/ava-labs/avalanchego/utils/crypto/bls/signer/localsigner"
	"github.com/ava-labs/avalanchego/utils/units"
	avmtxs "github.com/ava-labs/avalanchego/vms/avm/txs"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/components/verify"
	"github.com/ava-labs/avalanchego/vms/nftfx"
	"github.com/ava-labs/avalanchego/vms/platformvm/signer"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/message"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/payload"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/libevm/crypto"
)

// signTries bounds the attempts at a transaction with a signed message: the P-Chain
// may leave the epoch by whose validators it was signed.
const signTries = 3

// A Scene is what [Author.Perform] needs of the network.
type Scene struct {
	// Node is one of the network's; Guest runs beside it, is connected to all, and
	// proves to have its key.
	Node, Guest ids.NodeID
	Proof       *signer.ProofOfPossession
	// Sign has the validators of the primary network sign a message of the C-Chain.
	Sign func(*warp.UnsignedMessage) ([]byte, error)
	// Short is how long the stakes take that end.
	Short time.Duration
}

// Perform issues what [Author.Issue] does not: an L1 whose validators are registered,
// changed, removed and run out of funds, stakes that end with a reward and without,
// outputs of several owners, and what moves funds between all three chains. It returns
// when the last of the stakes has to end.
func (a *Author) Perform(ctx context.Context, s *Scene) (end time.Time, err error) {
	if err := a.managed(ctx, s); err != nil {
		return end, err
	}
	if end, err = a.stakes(s); err != nil {
		return end, err
	}
	for _, part := range []func() error{a.shared, a.between, a.collectible} {
		if err := part(); err != nil {
			return end, err
		}
	}
	return end, nil
}

// proof makes a BLS key and proves that it is there.
func proof() (*signer.ProofOfPossession, error) {
	key, err := localsigner.New()
	if err != nil {
		return nil, err
	}
	return signer.NewProofOfPossession(key)
}

// chainGenesis is enough of the genesis of an EVM chain for those who read it.
const chainGenesis = `{"config":{"chainId":77123,"feeConfig":{"gasLimit":8000000,"targetBlockRate":2}},"alloc":{},` +
	`"gasLimit":"0x7a1200","difficulty":"0x0","timestamp":"0x0"}`

// managed makes an L1 whose manager is the author's account on the C-Chain, and uses
// all that there is for its validators.
func (a *Author) managed(ctx context.Context, s *Scene) error {
	subnet, err := a.P().IssueCreateSubnetTx(&a.owner, a.opts...)
	if err != nil {
		return fmt.Errorf("create a subnet: %w", err)
	}
	if _, err := a.P().IssueCreateChainTx(subnet.ID(), []byte(chainGenesis), constants.SubnetEVMID, []ids.ID{secp256k1fx.ID}, "managed", a.opts...); err != nil {
		return fmt.Errorf("create a chain: %w", err)
	}
	owner := message.PChainOwner{Threshold: 1, Addresses: a.owner.Addrs}
	var initial []*txs.ConvertSubnetToL1Validator
	// One for long, one whose funds end within seconds, one that never had any.
	for i, balance := range []uint64{units.Avax, 8, 0} {
		p, err := proof()
		if err != nil {
			return err
		}
		initial = append(initial, &txs.ConvertSubnetToL1Validator{
			NodeID: ids.GenerateTestNodeID().Bytes(), Weight: uint64(100 + i), Balance: balance, Signer: *p,
			RemainingBalanceOwner: owner, DeactivationOwner: owner,
		})
	}
	manager := crypto.PubkeyToAddress(genesis.EWOQKey.ToECDSA().PublicKey)
	home := a.C().Builder().Context().BlockchainID
	if _, err := a.P().IssueConvertSubnetToL1Tx(subnet.ID(), home, manager[:], initial, a.opts...); err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	m := &members{a, s, home, manager[:], subnet.ID(), owner}
	return m.change(ctx)
}

// members changes the validators of an L1 by messages of its manager.
type members struct {
	*Author
	scene   *Scene
	home    ids.ID
	manager []byte
	subnet  ids.ID
	owner   message.PChainOwner
}

// signed has what the manager says signed and issues it.
func (m *members) signed(ctx context.Context, say []byte, issue func([]byte) error) error {
	call, err := payload.NewAddressedCall(m.manager, say)
	if err != nil {
		return err
	}
	unsigned, err := warp.NewUnsignedMessage(m.P().Builder().Context().NetworkID, m.home, call.Bytes())
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		b, err := m.scene.Sign(unsigned)
		if err == nil {
			err = issue(b)
		}
		if err == nil || try == signTries || ctx.Err() != nil {
			return err
		}
	}
}

func (m *members) register(ctx context.Context, weight, balance uint64) (ids.ID, error) {
	p, err := proof()
	if err != nil {
		return ids.Empty, err
	}
	r, err := message.NewRegisterL1Validator(m.subnet, ids.GenerateTestNodeID(), [bls.PublicKeyLen]byte(p.PublicKey),
		uint64(time.Now().Add(time.Hour).Unix()), m.owner, m.owner, weight)
	if err != nil {
		return ids.Empty, err
	}
	err = m.signed(ctx, r.Bytes(), func(b []byte) error {
		_, err := m.P().IssueRegisterL1ValidatorTx(balance, p.ProofOfPossession, b, m.opts...)
		return err
	})
	if err != nil {
		return ids.Empty, fmt.Errorf("register: %w", err)
	}
	return r.ValidationID(), nil
}

func (m *members) weigh(ctx context.Context, id ids.ID, nonce, weight uint64) error {
	w, err := message.NewL1ValidatorWeight(id, nonce, weight)
	if err != nil {
		return err
	}
	err = m.signed(ctx, w.Bytes(), func(b []byte) error {
		_, err := m.P().IssueSetL1ValidatorWeightTx(b, m.opts...)
		return err
	})
	if err != nil {
		return fmt.Errorf("set a weight to %d: %w", weight, err)
	}
	return nil
}

func (m *members) change(ctx context.Context) error {
	gone, err := m.register(ctx, 20, units.Avax)
	if err != nil {
		return err
	}
	if err := m.weigh(ctx, gone, 0, 33); err != nil {
		return err
	}
	stays, err := m.register(ctx, 50, 2*units.Avax)
	if err != nil {
		return err
	}
	if err := m.weigh(ctx, gone, 1, 0); err != nil {
		return err
	}
	if err := m.weigh(ctx, stays, 3, 70); err != nil {
		return err
	}
	if _, err := m.P().IssueDisableL1ValidatorTx(stays, m.opts...); err != nil {
		return fmt.Errorf("disable: %w", err)
	}
	if _, err := m.P().IssueIncreaseL1ValidatorBalanceTx(stays, units.Avax, m.opts...); err != nil {
		return fmt.Errorf("refill one that was disabled: %w", err)
	}
	idle, err := m.register(ctx, 5, 0)
	if err != nil {
		return err
	}
	if _, err := m.P().IssueIncreaseL1ValidatorBalanceTx(idle, units.MilliAvax, m.opts...); err != nil {
		return fmt.Errorf("fill one that had nothing: %w", err)
	}
	return nil
}

// stakes adds validators and delegators whose time is short: of a node that is there,
// of one that never is, and of a permissioned subnet.
func (a *Author) stakes(s *Scene) (time.Time, error) {
	begin := time.Now()
	until := func(shares time.Duration) uint64 { return uint64(begin.Add(s.Short * shares / 3).Unix()) }
	lost, err := proof()
	if err != nil {
		return begin, err
	}
	absent := ids.GenerateTestNodeID()
	for _, v := range []struct {
		node  ids.NodeID
		proof *signer.ProofOfPossession
		end   uint64
	}{{s.Guest, s.Proof, until(3)}, {absent, lost, until(2)}} {
		validator := &txs.SubnetValidator{Validator: txs.Validator{NodeID: v.node, End: v.end, Wght: 2 * units.KiloAvax}}
		second := secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{genesis.VMRQKey.Address()}}
		if _, err := a.P().IssueAddPermissionlessValidatorTx(validator, v.proof, a.avax, &a.owner, &second, 123_400, a.opts...); err != nil {
			return begin, fmt.Errorf("add the validator %s: %w", v.node, err)
		}
	}
	for _, d := range []struct {
		node ids.NodeID
		end  uint64
	}{{s.Guest, until(2)}, {s.Guest, until(3)}, {absent, until(2)}, {s.Node, until(2)}} {
		delegator := &txs.SubnetValidator{Validator: txs.Validator{NodeID: d.node, End: d.end, Wght: 30 * units.Avax}}
		if _, err := a.P().IssueAddPermissionlessDelegatorTx(delegator, a.avax, &a.owner, a.opts...); err != nil {
			return begin, fmt.Errorf("delegate to %s: %w", d.node, err)
		}
	}
	subnet, err := a.P().IssueCreateSubnetTx(&a.owner, a.opts...)
	if err != nil {
		return begin, fmt.Errorf("create a subnet: %w", err)
	}
	v := &txs.SubnetValidator{Validator: txs.Validator{NodeID: s.Node, End: until(3), Wght: 11}, Subnet: subnet.ID()}
	if _, err := a.P().IssueAddSubnetValidatorTx(v, a.opts...); err != nil {
		return begin, fmt.Errorf("add a subnet validator: %w", err)
	}
	// It stays, and so the subnet has one that validates it.
	if subnet, err = a.P().IssueCreateSubnetTx(&a.owner, a.opts...); err != nil {
		return begin, fmt.Errorf("create a subnet: %w", err)
	}
	v = &txs.SubnetValidator{Validator: txs.Validator{NodeID: s.Node, End: uint64(begin.Add(time.Hour).Unix()), Wght: 12}, Subnet: subnet.ID()}
	if _, err := a.P().IssueAddSubnetValidatorTx(v, a.opts...); err != nil {
		return begin, fmt.Errorf("add a subnet validator: %w", err)
	}
	return begin.Add(s.Short), nil
}

// shared pays to several owners, and to what is locked.
func (a *Author) shared() error {
	addresses := []ids.ShortID{genesis.EWOQKey.Address(), genesis.VMRQKey.Address()}
	if addresses[0].Compare(addresses[1]) > 0 {
		addresses[0], addresses[1] = addresses[1], addresses[0]
	}
	outs := []*avax.TransferableOutput{
		a.out(units.Avax, secp256k1fx.OutputOwners{Threshold: 2, Addrs: addresses}),
		a.out(2*units.Avax, secp256k1fx.OutputOwners{Threshold: 1, Addrs: addresses, Locktime: uint64(time.Now().Add(time.Hour).Unix())}),
		a.out(3*units.Avax, a.owner),
	}
	if _, err := a.P().IssueBaseTx(outs, a.opts...); err != nil {
		return fmt.Errorf("pay on P: %w", err)
	}
	if _, err := a.X().IssueBaseTx(outs, a.opts...); err != nil {
		return fmt.Errorf("pay on X: %w", err)
	}
	return nil
}

func (a *Author) out(amount uint64, owner secp256k1fx.OutputOwners) *avax.TransferableOutput {
	return &avax.TransferableOutput{Asset: avax.Asset{ID: a.avax}, Out: &secp256k1fx.TransferOutput{Amt: amount, OutputOwners: owner}}
}

// between moves funds between the C-Chain and the others, and leaves some on their way.
func (a *Author) between() error {
	home, p, x := a.C().Builder().Context().BlockchainID, constants.PlatformChainID, a.XChain
	account := crypto.PubkeyToAddress(genesis.EWOQKey.ToECDSA().PublicKey)
	fromC := func(to ids.ID, amount uint64) error {
		_, err := a.C().IssueExportTx(to, []*secp256k1fx.TransferOutput{{Amt: amount, OutputOwners: a.owner}}, a.opts...)
		return err
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"export from C to P", func() error { return fromC(p, 5*units.Avax) }},
		{"import to P", func() error { _, err := a.P().IssueImportTx(home, &a.owner, a.opts...); return err }},
		{"export from C to X", func() error { return fromC(x, 6*units.Avax) }},
		{"import to X", func() error { _, err := a.X().IssueImportTx(home, &a.owner, a.opts...); return err }},
		{"export from P to C", func() error { _, err := a.P().IssueExportTx(home, a.pay(units.Avax), a.opts...); return err }},
		{"import from P", func() error { _, err := a.C().IssueImportTx(p, account, a.opts...); return err }},
		{"export from X to C", func() error { _, err := a.X().IssueExportTx(home, a.pay(units.Avax), a.opts...); return err }},
		{"import from X", func() error { _, err := a.C().IssueImportTx(x, account, a.opts...); return err }},
		{"export from P to X that stays", func() error { _, err := a.P().IssueExportTx(x, a.pay(7), a.opts...); return err }},
		{"export from X to P that stays", func() error { _, err := a.X().IssueExportTx(p, a.pay(8), a.opts...); return err }},
		{"export from C to P that stays", func() error { return fromC(p, 9) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// collectible makes an asset that can never be more, and one of its own kind that
// changes hands.
func (a *Author) collectible() error {
	other := secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{genesis.VMRQKey.Address()}}
	fixed, err := a.X().IssueCreateAssetTx("Fixed", "FIX", 0, map[uint32][]verify.State{
		0: {&secp256k1fx.TransferOutput{Amt: 1000, OutputOwners: a.owner}},
	}, a.opts...)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	out := &avax.TransferableOutput{Asset: avax.Asset{ID: fixed.ID()}, Out: &secp256k1fx.TransferOutput{Amt: 400, OutputOwners: other}}
	if _, err := a.X().IssueBaseTx([]*avax.TransferableOutput{out}, a.opts...); err != nil {
		return fmt.Errorf("pay with an asset: %w", err)
	}
	nft, err := a.X().IssueCreateAssetTx("Picture", "PIC", 0, map[uint32][]verify.State{
		1: {&nftfx.MintOutput{GroupID: 1, OutputOwners: a.owner}},
	}, a.opts...)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	minted, err := a.X().IssueOperationTxMintNFT(nft.ID(), []byte("a picture"), []*secp256k1fx.OutputOwners{&a.owner}, a.opts...)
	if err != nil {
		return fmt.Errorf("mint an NFT: %w", err)
	}
	base := len(minted.Unsigned.(*avmtxs.OperationTx).Outs)
	move := &avmtxs.Operation{
		Asset:   avax.Asset{ID: nft.ID()},
		UTXOIDs: []*avax.UTXOID{{TxID: minted.ID(), OutputIndex: uint32(base)}},
		Op: &nftfx.TransferOperation{
			Input:  secp256k1fx.Input{SigIndices: []uint32{0}},
			Output: nftfx.TransferOutput{GroupID: 1, Payload: []byte("a picture"), OutputOwners: other},
		},
	}
	if _, err := a.X().IssueOperationTx([]*avmtxs.Operation{move}, a.opts...); err != nil {
		return fmt.Errorf("move an NFT: %w", err)
	}
	return nil
}
