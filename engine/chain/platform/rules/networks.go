package rules

// Params are what a network is started with.
type Params struct {
	Rewards Rewards
	Fees    FeeConfig
	// MaxStake is the most that a validator of the primary network may have staked by
	// itself, in nAVAX.
	MaxStake uint64
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
		3 * million,
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

// Upgrades are the times of the upgrades that rules of this package depend on, in Unix
// seconds. A rule applies from the chain's time that is not before.
type Upgrades struct {
	Cortina uint64 // a validator's share of its delegators' rewards is paid at its end
	Durango uint64 // stakers are current as soon as their transaction is accepted
	Etna    uint64 // validators of L1s pay
	Helicon uint64 // validators may renew themselves, and less is earned; 0: not known
}

// Never is the time of upgrades that are not scheduled.
const Never = 253399622400 // in the year 9999

// Rewards returns the parameters of the primary network for a stake, or a cycle of an
// auto-renewed validator, that starts at a time in Unix seconds. From Helicon on the least
// rate moves within 90 days to 7.5% (ACP-285).
func (u Upgrades) Rewards(r Rewards, start uint64) Rewards {
	const least, days90 = 75_000, 90 * 24 * 60 * 60
	if u.Helicon == 0 || start < u.Helicon || r.MaxRate < least {
		return r
	}
	elapsed := min(start-u.Helicon, days90)
	if r.MinRate < least {
		r.MinRate += (least - r.MinRate) * elapsed / days90
	} else {
		r.MinRate -= (r.MinRate - least) * elapsed / days90
	}
	return r
}

// UpgradesOf returns those of a network. In networks other than mainnet and fuji all
// are active from the beginning, and Helicon never, unless their nodes were started with
// others: info.upgrades returns what a node applies. Source: avalanchego v1.15.0,
// upgrade/upgrade.go.
func UpgradesOf(networkID uint32) Upgrades {
	switch networkID {
	case 1:
		return Upgrades{Cortina: 1682434800, Durango: 1709740800, Etna: 1734368400, Helicon: 1790089200}
	case 5:
		return Upgrades{Cortina: 1680793200, Durango: 1707840000, Etna: 1732550400, Helicon: 1785250800}
	}
	const initially = 1607144400
	return Upgrades{Cortina: initially, Durango: initially, Etna: initially, Helicon: Never}
}
