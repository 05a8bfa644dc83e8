package rules

// Params are what a network is started with.
type Params struct {
	Rewards Rewards
	Fees    FeeConfig
}

const (
	year    = 365 * 24 * 60 * 60        // seconds
	million = 1_000_000 * 1_000_000_000 // AVAX in nAVAX
)

// For returns the parameters of a network. Networks other than mainnet and fuji have
// those of the local network unless their nodes were started with others;
// platform.getValidatorFeeConfig returns the fees that a node applies.
func For(networkID uint32) Params {
	p := Params{
		Rewards{MinRate: 100_000, MaxRate: 120_000, Period: year, SupplyCap: 720 * million},
		FeeConfig{Capacity: 20_000, Target: 10_000, MinPrice: 512, ExcessConversion: 1_246_488_515},
	}
	switch networkID {
	case 1:
	case 5:
		p.Fees.ExcessConversion = 51_937_021
	default:
		p.Fees.MinPrice, p.Fees.ExcessConversion = 1, 865_617
	}
	return p
}
