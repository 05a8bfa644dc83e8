package shape

// WebhookMetadata says what a webhook is about.
type WebhookMetadata struct {
	Addresses []Address `json:"addresses"`
}

// Webhook is a webhook.
type Webhook struct {
	ID                 string          `json:"id"`
	URL                string          `json:"url"`
	ChainID            string          `json:"chainId"`
	Status             string          `json:"status" enum:"active,inactive"`
	StatusReason       string          `json:"statusReason,omitempty" doc:"Why the server made it inactive."`
	CreatedAt          int64           `json:"createdAt" doc:"Unix seconds."`
	Name               string          `json:"name"`
	Description        string          `json:"description"`
	EventType          string          `json:"eventType" enum:"address_activity"`
	Metadata           WebhookMetadata `json:"metadata"`
	IncludeInternalTxs bool            `json:"includeInternalTxs"`
	IncludeLogs        bool            `json:"includeLogs"`
}

// Webhooks is a page of webhooks.
type Webhooks struct {
	Page
	Webhooks []Webhook `json:"webhooks"`
}

// WebhookSelection is the metadata of a request for a webhook.
type WebhookSelection struct {
	Addresses       []Address `json:"addresses"`
	EventSignatures []string  `json:"eventSignatures,omitempty" doc:"Not possible: logs are not kept."`
}

// WebhookRequest asks for a webhook.
type WebhookRequest struct {
	EventType          string           `json:"eventType" enum:"address_activity"`
	URL                string           `json:"url"`
	Name               string           `json:"name,omitempty"`
	Description        string           `json:"description,omitempty"`
	ChainID            string           `json:"chainId"`
	Metadata           WebhookSelection `json:"metadata"`
	IncludeInternalTxs bool             `json:"includeInternalTxs,omitempty"`
	IncludeLogs        bool             `json:"includeLogs,omitempty" doc:"Not possible: logs are not kept."`
}

// WebhookChange changes what it has members for.
type WebhookChange struct {
	Name               *string `json:"name,omitempty"`
	Description        *string `json:"description,omitempty"`
	URL                *string `json:"url,omitempty"`
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
