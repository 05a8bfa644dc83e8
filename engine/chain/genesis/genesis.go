// Package genesis makes the genesis bytes of a network's P-Chain from the file that its
// nodes are configured by: that of --genesis-file of avalanchego, which for mainnet and
// fuji is in its source, at genesis/genesis_mainnet.json and genesis_fuji.json. Whether
// they are right need not be believed: the P-Chain's first block names their hash.
//
// Source: genesis/genesis.go, vms/avm/genesis.go and vms/platformvm/genesis of
// avalanchego v1.14.2, which the tests compare with.
package genesis

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// ErrConfig is wrapped by errors about files that are no configuration of a genesis.
var ErrConfig = errors.New("not a genesis configuration of avalanchego")

// config is the file.
type config struct {
	NetworkID     uint32       `json:"networkID"`
	Allocations   []allocation `json:"allocations"`
	StartTime     uint64       `json:"startTime"`
	StakeSeconds  uint64       `json:"initialStakeDuration"`
	StakeOffset   uint64       `json:"initialStakeDurationOffset"`
	StakedFunds   []account    `json:"initialStakedFunds"`
	Stakers       []staker     `json:"initialStakers"`
	CChainGenesis string       `json:"cChainGenesis"`
	Message       string       `json:"message"`

	staked map[account]bool // StakedFunds
	avax   chain.ID         // the asset
}

// allocation is what an account starts with.
type allocation struct {
	EVM     evmAddress `json:"ethAddr"`
	Account account    `json:"avaxAddr"`
	Amount  uint64     `json:"initialAmount"` // on the X-Chain
	Locked  []locked   `json:"unlockSchedule"`
}

// locked is an amount on the P-Chain, which is locked if its time is after the start.
type locked struct {
	Amount   uint64 `json:"amount"`
	Locktime uint64 `json:"locktime"`
}

type staker struct {
	Node   nodeID  `json:"nodeID"`
	Reward account `json:"rewardAddress"`
	Fee    uint32  `json:"delegationFee"`
	Signer *signer `json:"signer"`
}

type signer struct {
	Key   hexBytes `json:"publicKey"`
	Proof hexBytes `json:"proofOfPossession"`
}

type (
	account    address.Address
	evmAddress evm.Address
	nodeID     chain.NodeID
	hexBytes   []byte
)

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *account) UnmarshalText(b []byte) error {
	t, err := address.Parse(string(b))
	*a = account(t.Address)
	return err
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *evmAddress) UnmarshalText(b []byte) error {
	v, err := evm.ParseAddress(string(b))
	*a = evmAddress(v)
	return err
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *nodeID) UnmarshalText(b []byte) error {
	v, err := chain.ParseNodeID(string(b))
	*n = nodeID(v)
	return err
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (h *hexBytes) UnmarshalText(b []byte) (err error) {
	*h, err = hex.DecodeString(strings.TrimPrefix(string(b), "0x"))
	return err
}

// The virtual machines and feature extensions of the chains that a network starts with:
// their names, filled up with zeros.
var (
	vmAVM      = named("avm")
	vmEVM      = named("evm")
	extensions = []chain.ID{named("secp256k1fx"), named("nftfx"), named("propertyfx")}
)

func named(s string) (id chain.ID) {
	copy(id[:], s)
	return id
}

// FromConfig returns the bytes that [platform.ParseGenesis] reads.
func FromConfig(file []byte) ([]byte, error) {
	c := &config{staked: make(map[account]bool)}
	if err := json.Unmarshal(file, c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if len(c.Stakers) == 0 || len(c.Allocations) == 0 || c.CChainGenesis == "" {
		return nil, fmt.Errorf("%w: without stakers, allocations or a C-Chain", ErrConfig)
	}
	for _, a := range c.StakedFunds {
		c.staked[a] = true
	}
	exchange, err := c.exchange()
	if err != nil {
		return nil, err
	}
	g := &platform.Genesis{Time: c.StartTime, Message: c.Message}
	if g.InitialSupply, err = c.supply(); err != nil {
		return nil, err
	}
	c.outputs(g)
	if err := c.validators(g); err != nil {
		return nil, err
	}
	base := utxo.Base{NetworkID: c.NetworkID}
	g.Chains = []platform.Tx{
		{Body: &platform.CreateChain{Base: base, Name: "X-Chain", VM: vmAVM, Extensions: extensions, GenesisData: exchange}},
		{Body: &platform.CreateChain{Base: base, Name: "C-Chain", VM: vmEVM, GenesisData: []byte(c.CChainGenesis)}},
	}
	return g.Bytes()
}

// supply adds up all that is allocated.
func (c *config) supply() (sum uint64, err error) {
	add := func(n uint64) {
		var carry uint64
		if sum, carry = bits.Add64(sum, n, 0); carry != 0 {
			err = fmt.Errorf("%w: the allocations exceed 64 bits", ErrConfig)
		}
	}
	for i := range c.Allocations {
		add(c.Allocations[i].Amount)
		for _, l := range c.Allocations[i].Locked {
			add(l.Amount)
		}
	}
	return sum, err
}

// output returns an output of the coin that an account owns.
func (c *config) output(a account, l locked) utxo.Output {
	o := utxo.Output{Asset: c.avax, State: utxo.State{
		Kind: utxo.TransferOutput, Amount: l.Amount, Owners: utxo.Owners{Threshold: 1, Addresses: []address.Address{address.Address(a)}},
	}}
	if l.Locktime > c.StartTime {
		o.StakeLock = l.Locktime
	}
	return o
}

// exchange returns the genesis of the X-Chain, which makes the coin.
func (c *config) exchange() ([]byte, error) {
	var list []allocation
	for _, a := range c.Allocations {
		if a.Amount > 0 {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b allocation) int {
		return cmp.Or(cmp.Compare(a.Amount, b.Amount), bytes.Compare(a.Account[:], b.Account[:]))
	})
	coin := &avm.CreateAsset{Base: utxo.Base{NetworkID: c.NetworkID}, Name: "Avalanche", Symbol: "AVAX", Denomination: 9}
	state := avm.InitialState{}
	for _, a := range list {
		coin.Memo = append(coin.Memo, a.EVM[:]...)
		// They are in the order of their encodings already: amounts, and then accounts.
		state.Outputs = append(state.Outputs, c.output(a.Account, locked{Amount: a.Amount}).State)
	}
	if len(list) > 0 {
		coin.States = []avm.InitialState{state}
	}
	b, err := avm.GenesisBytes([]avm.GenesisAsset{{Alias: "AVAX", Tx: avm.Tx{Body: coin}}})
	if err != nil {
		return nil, err
	}
	assets, err := avm.ParseGenesis(b)
	if err != nil {
		return nil, err
	}
	c.avax = assets[0].Tx.ID
	return b, nil
}

// outputs makes the outputs of the P-Chain. Their transaction has the ID zero.
func (c *config) outputs(g *platform.Genesis) {
	for i := range c.Allocations {
		a := &c.Allocations[i]
		if c.staked[a.Account] {
			continue
		}
		for _, l := range a.Locked {
			if l.Amount == 0 {
				continue
			}
			u := platform.GenesisUTXO{Message: bytes.Clone(a.EVM[:])}
			u.Index, u.Output = uint32(len(g.UTXOs)), c.output(a.Account, l)
			g.UTXOs = append(g.UTXOs, u)
		}
	}
}
