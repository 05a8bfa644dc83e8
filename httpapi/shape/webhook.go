package shape

// WebhookMetadata says what a webhook is about: Addresses are of address_activity, all
// else but KeyType, Keys and SubEvents of one of the two types of the primary network.
type WebhookMetadata struct {
	Addresses []Address `json:"addresses,omitempty" doc:"Of address_activity: accounts, 100 at most."`

	KeyType   string            `json:"keyType,omitempty" enum:"addresses,nodeId,subnetId" doc:"addresses of primary_network_address_activity; nodeId or subnetId of validator_activity."`
	Keys      []string          `json:"keys,omitempty" doc:"Addresses of the P- or the X-Chain, 100 at most; or one node ID or subnet ID."`
	SubEvents *WebhookSubEvents `json:"subEvents,omitempty"`

	BalanceThresholdFilter *BalanceThreshold `json:"balanceThresholdFilter,omitempty"`

	NodeIDs   []NodeID `json:"nodeIds,omitempty" doc:"Validators of these nodes only."`
	SubnetIDs []ID     `json:"subnetIds,omitempty" doc:"Validators of these subnets only."`
	// The balance is that of a validator of an L1.
	L1ValidatorFeeBalanceThreshold Digits `json:"l1ValidatorFeeBalanceThreshold,omitempty" doc:"nAVAX; required for l1_validator_balance_threshold."`
}

// WebhookSubEvents are those that are told: one of the lists, that of the type.
type WebhookSubEvents struct {
	AddressActivitySubEvents   []string `json:"addressActivitySubEvents,omitempty" doc:"balance_change, balance_threshold, reward_distribution."`
	ValidatorActivitySubEvents []string `json:"validatorActivitySubEvents,omitempty" doc:"validator_stake, delegator_stake, reward_distribution, l1_validator_balance_increased, l1_validator_disabled, l1_validator_removed, l1_validator_balance_threshold."`
}

// BalanceThreshold is the amount of AVAX below which a balance is told.
type BalanceThreshold struct {
	BalanceType      string `json:"balanceType" enum:"unlockedUnstaked,unlockedStaked,lockedPlatform,lockedStakeable,lockedStaked,pendingStaked,unlocked,locked" doc:"The last two are the X-Chain's, the others the P-Chain's."`
	BalanceThreshold Digits `json:"balanceThreshold" doc:"nAVAX."`
}

// Webhook is a webhook.
type Webhook struct {
	ID                 string          `json:"id"`
	URL                string          `json:"url"`
	ChainID            string          `json:"chainId"`
	Network            string          `json:"network,omitempty" doc:"Of the types of the primary network."`
	Status             string          `json:"status" enum:"active,inactive"`
	StatusReason       string          `json:"statusReason,omitempty" doc:"Why the server made it inactive."`
	CreatedAt          int64           `json:"createdAt" doc:"Unix seconds."`
	Name               string          `json:"name"`
	Description        string          `json:"description"`
	EventType          string          `json:"eventType" enum:"address_activity,primary_network_address_activity,validator_activity"`
	Metadata           WebhookMetadata `json:"metadata"`
	IncludeInternalTxs *bool           `json:"includeInternalTxs,omitempty" doc:"Of address_activity."`
	IncludeLogs        *bool           `json:"includeLogs,omitempty" doc:"Of address_activity."`
}

// Webhooks is a page of webhooks.
type Webhooks struct {
	Page
	Webhooks []Webhook `json:"webhooks"`
}

// WebhookSelection is the metadata of a request for a webhook.
type WebhookSelection struct {
	WebhookMetadata
	EventSignatures []string `json:"eventSignatures,omitempty" doc:"Not possible: logs are not kept."`
}

// WebhookRequest asks for a webhook.
type WebhookRequest struct {
	EventType          string           `json:"eventType" enum:"address_activity,primary_network_address_activity,validator_activity"`
	URL                string           `json:"url" example:"https://example.com/hook"`
	Name               string           `json:"name,omitempty" example:"deposits"`
	Description        string           `json:"description,omitempty" example:"to our wallet"`
	ChainID            string           `json:"chainId,omitempty" example:"43114" doc:"A chain of the EVM; of primary_network_address_activity p-chain or x-chain; not needed for validator_activity."`
	Network            string           `json:"network,omitempty" example:"mainnet" doc:"Required for the types of the primary network: mainnet or fuji."`
	Metadata           WebhookSelection `json:"metadata"`
	IncludeInternalTxs bool             `json:"includeInternalTxs,omitempty" doc:"Of address_activity."`
	IncludeLogs        bool             `json:"includeLogs,omitempty" doc:"Not possible: logs are not kept."`
}

// WebhookChange changes what it has members for.
type WebhookChange struct {
	Name               *string `json:"name,omitempty" example:"deposits"`
	Description        *string `json:"description,omitempty" example:"to our wallet"`
	URL                *string `json:"url,omitempty" example:"https://example.com/hook"`
	Status             *string `json:"status,omitempty" enum:"active,inactive"`
	IncludeInternalTxs *bool   `json:"includeInternalTxs,omitempty"`
	IncludeLogs        *bool   `json:"includeLogs,omitempty" doc:"Not possible: logs are not kept."`
}

// AddressesChange names addresses to add or to take away.
type AddressesChange struct {
	Addresses []Address `json:"addresses"`
}

// WebhookAddresses is a page of the addresses of a webhook.
type WebhookAddresses struct {
	Page
	Addresses      []Address `json:"addresses"`
	TotalAddresses int       `json:"totalAddresses"`
}

// SharedSecret is what messages of webhooks are signed with.
type SharedSecret struct {
	Secret string `json:"secret" doc:"The key of HMAC-SHA256, in hex."`
}
