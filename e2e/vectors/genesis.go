package vectors

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	formatting "github.com/ava-labs/avalanchego/utils/formatting/address"
	"github.com/ava-labs/avalanchego/utils/hashing"
)

// Genesis is the genesis of a network: the file that nodes are configured by, and what
// avalanchego makes of it.
type Genesis struct {
	Config json.RawMessage `json:"config"`
	ID     string          `json:"id"`
	Bytes  string          `json:"bytes"`
}

// MakeGeneses makes up networks: with funds that divide among the stakers and that do
// not, locked and unlocked, and stakers with a BLS key and without.
func MakeGeneses() ([]Genesis, error) {
	var list []Genesis
	for seed := range uint64(6) {
		file, err := json.MarshalIndent(makeConfig(rand.New(rand.NewPCG(seed, 3))), " ", " ")
		if err != nil {
			return nil, err
		}
		var uc genesis.UnparsedConfig
		if err := json.Unmarshal(file, &uc); err != nil {
			return nil, err
		}
		c, err := uc.Parse()
		if err != nil {
			return nil, err
		}
		raw, _, err := genesis.FromConfig(&c)
		if err != nil {
			return nil, err
		}
		id := ids.ID(hashing.ComputeHash256Array(raw))
		list = append(list, Genesis{Config: file, ID: id.String(), Bytes: hex.EncodeToString(raw)})
	}
	return list, nil
}

func makeConfig(rnd *rand.Rand) *genesis.UnparsedConfig {
	const start = 1_600_000_000
	account := func(n int) string {
		s, err := formatting.Format("X", "custom", []byte(fmt.Sprintf("account %012d", n)))
		if err != nil {
			panic(err) // of 20 bytes
		}
		return s
	}
	c := &genesis.UnparsedConfig{
		NetworkID: 4242, StartTime: start, InitialStakeDuration: 1_000_000, InitialStakeDurationOffset: 1 + rnd.Uint64N(1000),
		CChainGenesis: `{"config":{"chainId":4242}}`, Message: fmt.Sprintf("network %d", rnd.IntN(100)),
	}
	for i := range 2 + rnd.IntN(6) {
		a := genesis.UnparsedAllocation{ETHAddr: fmt.Sprintf("0x%040x", rnd.Uint64()), AVAXAddr: account(i)}
		if rnd.IntN(3) > 0 {
			a.InitialAmount = 1 + rnd.Uint64N(3) // some have the same
		}
		for range 1 + rnd.IntN(3) {
			a.UnlockSchedule = append(a.UnlockSchedule, genesis.LockedAmount{
				Amount: rnd.Uint64N(1000), Locktime: []uint64{0, start, start + 1 + rnd.Uint64N(5)}[rnd.IntN(3)],
			})
		}
		c.Allocations = append(c.Allocations, a)
	}
	// The last account has what is staked for certain.
	c.Allocations = append(c.Allocations, genesis.UnparsedAllocation{
		ETHAddr: fmt.Sprintf("0x%040x", 7), AVAXAddr: account(99), UnlockSchedule: []genesis.LockedAmount{{Amount: 5000 + rnd.Uint64N(7)}, {Amount: 11, Locktime: start + 9}},
	})
	c.InitialStakedFunds = []string{account(99), account(0)}
	for i, s := range genesis.LocalConfig.InitialStakers {
		if i > 0 && rnd.IntN(5) == 0 {
			break
		}
		us := genesis.UnparsedStaker{NodeID: s.NodeID, RewardAddress: account(100 + i), DelegationFee: rnd.Uint32N(1_000_000)}
		if rnd.IntN(3) > 0 {
			us.Signer = s.Signer
		}
		c.InitialStakers = append(c.InitialStakers, us)
	}
	return c
}
