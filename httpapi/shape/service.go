package shape

import (
	"quorate/engine/operation"
	"quorate/httpapi/openapi"
)

// SignedMessage is a warp message with the signature of a quorum.
type SignedMessage struct {
	SignedMessage string `json:"signedMessage" doc:"Hex without 0x."`
}

// SignedMessages are those of a transaction, the first of them apart.
type SignedMessages struct {
	SignedMessage
	SignedMessages []string `json:"signedMessages,omitempty" doc:"All of them, if there are several."`
}

// SigningSet is the canonical validator set of a subnet at a P-Chain height.
type SigningSet struct {
	SubnetID     ID                 `json:"subnetId"`
	PChainHeight uint64             `json:"pChainHeight"`
	TotalWeight  string             `json:"totalWeight" doc:"What quorums are measured against, in decimal. It includes validators without a BLS key, which cannot sign."`
	Validators   []SigningValidator `json:"validators" doc:"In canonical order: bit i of a signed message's signers is the i-th."`
}

// SigningValidator is one BLS key of a set.
type SigningValidator struct {
	PublicKey string   `json:"publicKey" doc:"The BLS key, compressed, 0x and 96 hex digits."`
	Weight    string   `json:"weight" doc:"Of all nodes with the key, in decimal."`
	NodeIDs   []NodeID `json:"nodeIds"`
}

// RelayerSignedMessage is what relayers know.
type RelayerSignedMessage struct {
	SignedMessage string `json:"signed-message"`
}

// AggregateRequest asks for the signature of a message; message or justification is
// required.
type AggregateRequest struct {
	Message                string `json:"message,omitempty" example:"0000000000010427d4b22a2a78bcddd456742caf91b56badbff985ee19aef14573e7343fd6520000000a68656c6c6f2077617270" doc:"An unsigned warp message in hex, with 0x or without."`
	Justification          string `json:"justification,omitempty" example:"0x00000000" doc:"Hex, with 0x or without."`
	SigningSubnetID        string `json:"signingSubnetId,omitempty" example:"2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5" doc:"32 bytes in CB58 or hex."`
	QuorumPercentage       int    `json:"quorumPercentage,omitempty"`
	QuorumPercentageBuffer int    `json:"quorumPercentageBuffer,omitempty"`
	PChainHeight           int64  `json:"pChainHeight,omitempty" doc:"The height at which the message will be checked; 0 is the proposed one. Without it that is the height of the destination's epoch, as far as the destination is known and followed, else the proposed one."`
	DestinationID          string `json:"destinationBlockchainId,omitempty" example:"2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5" doc:"The chain that will check the message, in CB58 or hex. It must be followed. An interchain message names it itself."`
}

// RelayerRequest is the same as relayers know it.
type RelayerRequest struct {
	Message                string `json:"message,omitempty" example:"0000000000010427d4b22a2a78bcddd456742caf91b56badbff985ee19aef14573e7343fd6520000000a68656c6c6f2077617270"`
	Justification          string `json:"justification,omitempty" example:"0x00000000"`
	SigningSubnetID        string `json:"signing-subnet-id,omitempty" example:"2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5"`
	QuorumPercentage       int    `json:"quorum-percentage,omitempty"`
	QuorumPercentageBuffer int    `json:"quorum-percentage-buffer,omitempty"`
	PChainHeight           int64  `json:"pchain-height,omitempty" doc:"As pChainHeight of the other route. p-chain-height is the same."`
	DestinationID          string `json:"destination-blockchain-id,omitempty" example:"2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5"`
}

// ExportRequest asks for an export. Dates are days or times (RFC 3339); both bounds are
// part of the export.
type ExportRequest struct {
	Type      string        `json:"type" enum:"TRANSACTION_EXPORT_EVM"`
	FirstDate string        `json:"firstDate,omitempty" example:"2026-01-01"`
	LastDate  string        `json:"lastDate,omitempty" example:"2026-01-31"`
	StartDate string        `json:"startDate,omitempty" example:"2026-01-01" doc:"Deprecated: firstDate goes before it."`
	EndDate   string        `json:"endDate,omitempty" example:"2026-01-31" doc:"Deprecated: lastDate goes before it."`
	Options   ExportOptions `json:"options"`
}

// ExportOptions say what is exported.
type ExportOptions struct {
	Addresses     []Address `json:"addresses"`
	IncludeChains []string  `json:"includeChains" doc:"By number, ID or alias."`
	Compression   string    `json:"compression,omitempty" enum:"gzip,zstd"`
}

// Describe implements openapi.Describer.
func (ExportOptions) Describe(s *openapi.Schema) {
	s.Properties["addresses"].MinItems, s.Properties["addresses"].MaxItems = 1, operation.MaxAddresses
	s.Properties["includeChains"].MinItems, s.Properties["includeChains"].MaxItems = 1, operation.MaxChains
	s.Properties["compression"].Default = string(operation.Gzip)
}

// OperationMetadata say how an operation ended.
type OperationMetadata struct {
	Code        string `json:"code,omitempty" enum:"ErrInvalidRequest,ErrInternal,WarnTruncatedExport"`
	DownloadURL string `json:"downloadUrl,omitempty"`
	NextDate    string `json:"nextDate,omitempty" doc:"The firstDate to go on with."`
}

// Operation is an export and how far it is.
type Operation struct {
	OperationID        string             `json:"operationId"`
	OperationType      string             `json:"operationType" enum:"TRANSACTION_EXPORT_EVM"`
	OperationStatus    string             `json:"operationStatus" enum:"RUNNING,COMPLETED,COMPLETED_WITH_WARNING,FAILED"`
	Message            string             `json:"message,omitempty"`
	Metadata           *OperationMetadata `json:"metadata,omitempty"`
	Progress           float64            `json:"progress,omitempty" doc:"From 0 to 1, while it runs."`
	RowCount           Digits             `json:"rowCount"`
	CreatedAtTimestamp Unix               `json:"createdAtTimestamp"`
	UpdatedAtTimestamp Unix               `json:"updatedAtTimestamp"`
}

// Endpoint is a route that is served.
type Endpoint struct {
	Method      string   `json:"method"`
	Path        string   `json:"path"`
	Parameters  []string `json:"parameters,omitempty"`
	Description string   `json:"description"`
}

// LeftOut is a call that SDKs know and that is not served.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Endpoints is what is served, and what is not.
type Endpoints struct {
	Endpoints []Endpoint `json:"endpoints"`
	LeftOut   []LeftOut  `json:"leftOut"`
}

// Alive says that the service is well, as SDKs know it.
type Alive struct {
	Status  string         `json:"status" enum:"ok"`
	Info    map[string]Any `json:"info"`
	Error   map[string]Any `json:"error"`
	Details map[string]Any `json:"details"`
}

// Check is the result of a health check.
type Check struct {
	Status    string `json:"status" enum:"up,down"`
	Timestamp string `json:"timestamp,omitempty"`
	Error     string `json:"error,omitempty"`
	Warning   string `json:"warning,omitempty"`
}

// Health is whether the server can do its work; why not is for operators.
type Health struct {
	Status  string           `json:"status" enum:"up,down"`
	Error   string           `json:"error,omitempty"` // of /ready
	Details map[string]Check `json:"details,omitempty"`
}

// Described is a description of the interface in the form of OpenAPI.
type Described struct {
	OpenAPI    string         `json:"openapi"`
	Info       Any            `json:"info"`
	Servers    []Any          `json:"servers,omitempty"`
	Tags       []Any          `json:"tags"`
	Paths      map[string]Any `json:"paths"`
	Components Any            `json:"components"`
}
