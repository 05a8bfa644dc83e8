// Package shape has the forms of bodies as Go types: the API's description is made of
// them, and pages decode answers by them.
//
// Answers are not encoded by them: httpapi and httpapi/view write bodies by hand, for
// speed. Tests hold what they write against these types, member by member. A member with
// omitempty may be absent from an answer; it is a pointer where a reader has to tell that
// from its zero value.
package shape

import (
	"github.com/goccy/go-json"

	"quorate/httpapi/openapi"
)

// Digits is a whole number of any size, in decimal.
type Digits string

// Schema implements openapi.Schemer.
func (Digits) Schema() *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: "^[0-9]+$", Example: "1000000"}
}

// Unix is a time in Unix seconds.
type Unix int64

// Schema implements openapi.Schemer.
func (Unix) Schema() *openapi.Schema {
	return &openapi.Schema{Type: "integer", Format: "int64", Description: "Unix time in seconds."}
}

// Address is that of an account of the EVM.
type Address string

// Schema implements openapi.Schemer.
func (Address) Schema() *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: "^0x[0-9a-fA-F]{40}$", Example: "0x71C7656EC7ab88b098defB751B7401B5f6d8976F"}
}

// Hash is 32 bytes in hex.
type Hash string

// Schema implements openapi.Schemer.
func (Hash) Schema() *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: "^0x[0-9a-fA-F]{64}$"}
}

// Hex is any number of bytes in hex.
type Hex string

// Schema implements openapi.Schemer.
func (Hex) Schema() *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: "^0x([0-9a-fA-F]{2})*$"}
}

// ID is 32 bytes in CB58.
type ID string

// Schema implements openapi.Schemer.
func (ID) Schema() *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: "^[1-9A-HJ-NP-Za-km-z]+$", Description: "32 bytes in CB58."}
}

// NodeID is that of a node.
type NodeID string

// Schema implements openapi.Schemer.
func (NodeID) Schema() *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: "^NodeID-[1-9A-HJ-NP-Za-km-z]+$"}
}

// Figure is a number that the form of the contract has as a string where that of the
// SDKs has a number, or the other way round.
type Figure string

// UnmarshalJSON implements json.Unmarshaler: it takes both forms, and null as empty.
func (f *Figure) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(f))
	}
	if string(b) == "null" {
		b = nil
	}
	*f = Figure(b)
	return nil
}

// Schema implements openapi.Schemer.
func (Figure) Schema() *openapi.Schema {
	return &openapi.Schema{
		Description: "A number as a string or as such, as the client's form has it: see docs/data.md.",
		OneOf:       []*openapi.Schema{{Type: "string"}, {Type: "number"}},
	}
}

// Any is any JSON. Whoever decodes an answer does without it.
type Any struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*Any) UnmarshalJSON([]byte) error { return nil }

// Schema implements openapi.Schemer.
func (Any) Schema() *openapi.Schema { return &openapi.Schema{Nullable: true} }

// File is a body that is no JSON; the value is its content type.
type File string

// Schema implements openapi.Schemer.
func (f File) Schema() *openapi.Schema {
	if f == Text || f == Events {
		return &openapi.Schema{Type: "string"}
	}
	return &openapi.Schema{Type: "string", Format: "binary"}
}

// The content types that there are.
const (
	Binary File = "application/octet-stream"
	Text   File = "text/plain"
	Events File = "text/event-stream"
)

// Nothing is the absence of a body.
type Nothing struct{}

// Page is what all lists end with.
type Page struct {
	NextPageToken string `json:"nextPageToken,omitempty" doc:"The pageToken of the next page; absent on the last."`
}

// Error is the body of all errors but those of a few routes.
type Error struct {
	Message    string `json:"message" doc:"What is wrong, as a sentence."`
	StatusCode int    `json:"statusCode"`
	Error      string `json:"error" doc:"The name of the status."`
}

// ListError is that of the first version's metrics.
type ListError struct {
	Message    []string `json:"message"`
	StatusCode int      `json:"statusCode"`
	Error      string   `json:"error"`
}

// RelayerError is that of the drop-in for relayers.
type RelayerError struct {
	Error string `json:"error"`
}
