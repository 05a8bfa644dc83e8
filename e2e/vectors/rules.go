package vectors

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/vms/components/gas"
	"github.com/ava-labs/avalanchego/vms/platformvm/reward"
	"github.com/ava-labs/avalanchego/vms/platformvm/validators/fee"
)

// Rules holds results of the P-Chain's formulas.
type Rules struct {
	Rewards []Reward  `json:"rewards"`
	Splits  []Split   `json:"splits"`
	Fees    []Fee     `json:"fees"`
	Params  []Network `json:"params"`
}

// Reward is what a stake earns.
type Reward struct {
	MinRate uint64 `json:"minRate"`
	MaxRate uint64 `json:"maxRate"`
	Period  uint64 `json:"period"` // seconds
	Cap     uint64 `json:"cap"`
	Seconds uint64 `json:"seconds"`
	Stake   uint64 `json:"stake"`
	Supply  uint64 `json:"supply"`
	Reward  uint64 `json:"reward"`
}

// Split is a delegator's reward divided.
type Split struct {
	Reward    uint64 `json:"reward"`
	Fee       uint32 `json:"fee"`
	Validator uint64 `json:"validator"`
	Delegator uint64 `json:"delegator"`
}

// Fee is what active validators of L1s pay.
type Fee struct {
	Config  fee.Config `json:"config"`
	State   fee.State  `json:"state"`
	Seconds uint64     `json:"seconds"`
	Funds   uint64     `json:"funds"`
	Price   uint64     `json:"price"`
	Cost    uint64     `json:"cost"`
	Excess  uint64     `json:"excess"`      // after the seconds
	Left    uint64     `json:"secondsLeft"` // at most 300
}

// Network is what a network is started with.
type Network struct {
	ID      uint32     `json:"id"`
	MinRate uint64     `json:"minRate"`
	MaxRate uint64     `json:"maxRate"`
	Period  uint64     `json:"period"` // seconds
	Cap     uint64     `json:"cap"`
	Fees    fee.Config `json:"fees"`
}

// MakeRules makes all of it.
func MakeRules() (*Rules, error) {
	r, random := new(Rules), rand.New(rand.NewPCG(3, 0))
	for _, id := range []uint32{1, 5, 12345, 1337} {
		c := genesis.GetStakingConfig(id).RewardConfig
		r.Params = append(r.Params, Network{
			id, c.MinConsumptionRate, c.MaxConsumptionRate, uint64(c.MintingPeriod / time.Second), c.SupplyCap, genesis.GetTxFeeConfig(id).ValidatorFeeConfig,
		})
	}
	r.rewards(random)
	r.fees(random)
	return r, nil
}

func (r *Rules) rewards(random *rand.Rand) {
	upTo := func(n uint64) uint64 { // all lengths
		return random.Uint64N(n>>random.IntN(12) + 1)
	}
	for i := range 300 {
		c := genesis.GetStakingConfig(1).RewardConfig
		if i%3 == 2 {
			c.MaxConsumptionRate, c.SupplyCap = upTo(reward.PercentDenominator), random.Uint64()>>random.IntN(40)+1
			c.MinConsumptionRate = upTo(c.MaxConsumptionRate)
		}
		e := Reward{MinRate: c.MinConsumptionRate, MaxRate: c.MaxConsumptionRate, Period: uint64(c.MintingPeriod / time.Second), Cap: c.SupplyCap}
		e.Supply = c.SupplyCap - upTo(c.SupplyCap-1)
		e.Stake, e.Seconds = upTo(e.Supply), upTo(e.Period)
		switch i % 10 {
		case 7:
			e.Seconds = e.Period
		case 8:
			e.Stake = math.MaxUint64 // more than there is: the reward is all that is left
		case 9:
			e.Supply = c.SupplyCap
		}
		e.Reward = reward.NewCalculator(c).Calculate(time.Duration(e.Seconds)*time.Second, e.Stake, e.Supply)
		r.Rewards = append(r.Rewards, e)
	}
	for i := range 100 {
		s := Split{Reward: random.Uint64() >> (i % 64), Fee: uint32(upTo(reward.PercentDenominator))}
		s.Validator, s.Delegator = reward.Split(s.Reward, s.Fee)
		r.Splits = append(r.Splits, s)
	}
}

func (r *Rules) fees(random *rand.Rand) {
	for i := range 120 {
		e := Fee{Config: genesis.GetTxFeeConfig([]uint32{1, 5, 12345}[i%3]).ValidatorFeeConfig}
		e.State.Current = gas.Gas(random.Uint64N(uint64(e.Config.Capacity) + 1))
		e.State.Excess = gas.Gas(random.Uint64N(uint64(e.Config.ExcessConversionConstant)*30) >> random.IntN(30))
		e.Seconds, e.Funds = random.Uint64N(200), random.Uint64()>>random.IntN(64)
		switch i % 10 {
		case 5:
			e.State.Current = e.Config.Target
		case 6:
			e.State.Excess = gas.Gas(random.Uint64()) // prices without bound
		case 7:
			e.State.Excess, e.Seconds = 0, random.Uint64()>>1
			e.State.Current %= e.Config.Target
		case 8:
			e.State.Current = e.Config.Target - 1
			e.State.Excess = gas.Gas(e.Seconds / 2)
		case 9:
			e.Config = fee.Config{Target: 3, MinPrice: gas.Price(i), ExcessConversionConstant: gas.Gas(i)}
			e.State.Current %= 7
		}
		e.Price = uint64(gas.CalculatePrice(e.Config.MinPrice, e.State.Excess, e.Config.ExcessConversionConstant))
		e.Cost = e.State.CostOf(e.Config, e.Seconds)
		e.Excess = uint64(e.State.AdvanceTime(e.Config.Target, e.Seconds).Excess)
		e.Left = e.State.SecondsRemaining(e.Config, 300, e.Funds)
		r.Fees = append(r.Fees, e)
	}
}
