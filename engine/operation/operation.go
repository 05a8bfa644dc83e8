package operation

import (
	"fmt"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

// Status is how far an operation is. Values are those of the API, and stored.
type Status string

// The states of an operation.
const (
	Running   Status = "RUNNING"
	Completed Status = "COMPLETED"
	Warning   Status = "COMPLETED_WITH_WARNING"
	Failed    Status = "FAILED"
)

// Code says why an operation failed or has a warning. Values are those of the API, and
// stored.
type Code string

// The codes.
const (
	CodeNone      Code = ""
	CodeRequest   Code = "ErrInvalidRequest"
	CodeInternal  Code = "ErrInternal"
	CodeTruncated Code = "WarnTruncatedExport"
)

// Compression is the format of a file. Values are stored.
type Compression string

// The formats.
const (
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
)

// extension returns what a file's name ends with.
func (c Compression) extension() string {
	if c == Zstd {
		return ".csv.zst"
	}
	return ".csv.gz"
}

// Bounds of a request.
const (
	MaxAddresses = 100
	MaxChains    = 100
	// MaxLists bounds addresses times chains: each is a list that is read at the same time.
	MaxLists = 1000
)

// Request is what a client wants.
type Request struct {
	Addresses []evm.Address
	// Chains are blockchain IDs.
	Chains []chain.ID
	// First and Last are the times of the first and of the last block, both inclusive,
	// in Unix milliseconds. Last 0 is no bound.
	First, Last uint64
	Compression Compression
	// Client is who asks, for quotas.
	Client string
}

// Operation is what is known of an export.
type Operation struct {
	ID      string
	Request Request
	Status  Status
	Code    Code
	Message string
	// Next is the time of the first block that is not in a truncated export, in Unix
	// milliseconds.
	Next             uint64
	Created, Updated time.Time
	// Rows is the number of rows without the head, Size that of the file's bytes.
	Rows, Size int64
	// Progress is the share of the blocks that are done, from 0 to 1.
	Progress float64
}

// Over reports whether the operation has ended.
func (o *Operation) Over() bool { return o.Status != Running }

// HasFile reports whether there is a file to download.
func (o *Operation) HasFile() bool { return o.Status == Completed || o.Status == Warning }

// FileName returns the file's name as clients see it.
func (o *Operation) FileName() string {
	return "transactions-" + o.ID + o.Request.Compression.extension()
}

// Kind says what kind of refusal an [Error] is.
type Kind uint8

// The kinds.
const (
	NotIndexed Kind = iota + 1 // a chain has no block yet
	Busy                       // too many operations wait
	Quota                      // too many of this client
	NoRoom                     // no room for a file
	Stopping                   // the server ends, or has not begun
	Unknown                    // a chain is not followed
)

// Error is why an operation is not accepted.
type Error struct {
	Kind Kind
	Msg  string
}

// Error implements error.
func (e *Error) Error() string { return e.Msg }

func refuse(k Kind, format string, args ...any) *Error {
	return &Error{k, fmt.Sprintf(format, args...)}
}
