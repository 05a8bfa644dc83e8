package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

// Status says whether a webhook delivers.
type Status string

// The states of a webhook.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// Hook is a webhook. It never changes: it is replaced.
type Hook struct {
	ID     string `json:"id"`
	Client string `json:"client"` // who made it

	URL         string        `json:"url"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Chain       chain.ID      `json:"chain"`
	Addresses   []evm.Address `json:"addresses"`
	Internal    bool          `json:"internal"` // internal transactions are told
	Status      Status        `json:"status"`
	// Reason says why it was made inactive, empty if its client did.
	Reason  string    `json:"reason,omitempty"`
	Created time.Time `json:"created"`
}

// record is what is committed of a webhook: state and position change together.
type record struct {
	Version int `json:"version"`
	Hook
	Position string    `json:"position"`          // behind the last event that was taken
	Failing  time.Time `json:"failing,omitempty"` // since when deliveries fail; zero: they do not
}

const recordVersion = 1

func (r *record) clone() *record {
	c := *r
	c.Addresses = slices.Clone(r.Addresses)
	return &c
}

func decodeRecord(raw []byte) (*record, error) {
	r := new(record)
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("webhook: a record: %w", err)
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("webhook: a record of version %d", r.Version)
	}
	return r, nil
}

// Why something is refused.
var (
	ErrNotFound = errors.New("there is no such webhook")
	ErrQuota    = errors.New("this client has too many webhooks")
	ErrFull     = errors.New("there are too many webhooks")
	ErrStopping = errors.New("webhooks are not there now: the server is starting or stopping")
	ErrChain    = errors.New("the chain is not followed or has no block yet")
	ErrURL      = errors.New("the address of the receiver is not good")
)
