package shape

import "quorate/httpapi/openapi"

// AVAX is an amount of AVAX in decimal, with up to 18 decimals.
type AVAX string

// Schema implements openapi.Schemer.
func (AVAX) Schema() *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]{1,18})?$`, Example: "454257251.714986502"}
}

// Supply is the supply of AVAX. TotalSupply is what the network began with and what was paid
// or staked as rewards, without what was burned; CirculatingSupply the same without what the genesis
// has locked now. TotalLocked are outputs of the P- and the X-Chain, staked ones too, whose
// lock is not over at the P-Chain's time.
type Supply struct {
	CirculatingSupply AVAX   `json:"circulatingSupply"`
	TotalSupply       AVAX   `json:"totalSupply"`
	TotalPBurned      AVAX   `json:"totalPBurned"`
	TotalCBurned      AVAX   `json:"totalCBurned"`
	TotalXBurned      AVAX   `json:"totalXBurned"`
	TotalStaked       AVAX   `json:"totalStaked"`
	TotalLocked       AVAX   `json:"totalLocked"`
	TotalRewards      AVAX   `json:"totalRewards"`
	GenesisUnlock     AVAX   `json:"genesisUnlock"`
	L1ValidatorFees   AVAX   `json:"l1ValidatorFees"`
	LastUpdated       string `json:"lastUpdated"`
}
