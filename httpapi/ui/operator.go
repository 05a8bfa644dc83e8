package ui

import (
	"net/netip"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
)

// Operator is what only operators see: the server's own work.
type Operator interface {
	Signatures
	Validators
	// Ops is what the administration has to show; nil unless it is enabled.
	Ops() Ops
}

// Signatures is what became of messages, and what can be done with one.
type Signatures interface {
	// Networks are those that are followed so far.
	Networks() []Network
	// Nodes are those of a network that are followed, by address.
	Nodes(network uint32) []Node
	// NameOf returns the name of a chain, empty if it has none.
	NameOf(id chain.ID) string
	// Recent returns what became of the last messages of a network, the last answered
	// first.
	Recent(network uint32) []Signature
	// Signature returns what became of a message, the last answered first: it may have
	// been signed by several validator sets.
	Signature(message chain.ID) []Signature
	// Rates returns how many requests were answered lately, and how fast.
	Rates(network uint32) Rates
	// TxMessages returns the unsigned messages of a transaction.
	TxMessages(hash [32]byte) ([][]byte, error)
	// Sign has a message signed, as POST /v1/signatureAggregator does.
	Sign(q *SignQuery) (signed []byte, err error)
	// Verify checks a signed message against its validator set.
	Verify(q *VerifyQuery) (*Verdict, error)
}

// Network is one that is followed.
type Network struct {
	ID   uint32
	Name string
}

// Node is a node that is followed, and whether it answers.
type Node struct {
	Address string // without credentials
	Up      bool
}

// Signature is what became of a message.
type Signature struct {
	Network              uint32
	Message, SourceChain chain.ID
	// Unsigned and Signed are the message's bytes; nil if they are not remembered, and
	// Signed also if it was not signed.
	Unsigned, Signed []byte
	// Subnet and Height are those of the validators, zero if they could not be found.
	Subnet chain.ID
	Height uint64
	// Quorum and Buffer are what was asked for, in percent of Total; Weight has signed.
	Quorum, Buffer      int
	Weight, Total       uint64
	Signers, Validators int
	// At is the time of the last answer, Took how long the signatures took; 0 if nobody
	// was asked.
	At   time.Time
	Took time.Duration
	// How is "collected", "reused", "disk" or "memory"; empty if it failed. Ahead: signed
	// before anyone asked.
	How   string
	Ahead bool
	// Joined and Repeats count further requests.
	Joined, Repeats uint64
	// Failure is a short name of why it was not signed, Error the reason in words; empty
	// of one that was.
	Failure, Error string

	// Votes, only of a single message, are in the order of the signers' bits; nil if they
	// are not remembered.
	Votes []Vote
	// Keyless is weight of Total that nobody can sign with.
	Keyless uint64
}

// Vote is what became of one validator.
type Vote struct {
	Nodes  []chain.NodeID
	Weight uint64
	// State is one of the keys of voteStates.
	State       string
	Code        int32
	Took        time.Duration
	Quarantined bool
}

// Rates are numbers of requests for signatures.
type Rates struct {
	// Window is the time covered.
	Window time.Duration
	Counts
	// Points are the counts of equal parts of the window, the oldest first.
	Points []RatePoint
}

// Counts are requests by how they were answered.
type Counts struct {
	Collected, Joined, Kept, Ahead, Failed uint64
	// P50 and P99 are quantiles of the times that collections took; 0 if there was none.
	P50, P99 time.Duration
}

// Signed is how many messages validators signed.
func (c Counts) Signed() uint64 { return c.Collected + c.Ahead }

// Given is how many further requests were answered with a signature that was there, or
// under way.
func (c Counts) Given() uint64 { return c.Joined + c.Kept }

// PerSecond returns how many messages were signed a second.
func (r Rates) PerSecond() float64 {
	if r.Window < time.Second {
		return 0
	}
	return float64(r.Signed()) / r.Window.Seconds()
}

// RatePoint is a part of the window that began at At.
type RatePoint struct {
	At time.Time
	Counts
}

// SignQuery asks for a message to be signed.
type SignQuery struct {
	Message        []byte
	Quorum, Buffer int
	// Subnet, if not nil, is whose validators sign.
	Subnet *chain.ID
	Height uint64
}

// VerifyQuery asks whether a signed message is valid.
type VerifyQuery struct {
	Signed []byte
	Quorum int
	// Subnet, if not nil, is whose validators must have signed. Height is that of their
	// set, 0 the present one.
	Subnet *chain.ID
	Height uint64
}

// Verdict is what a check of a signed message found.
type Verdict struct {
	// Invalid says why the message is not valid; empty if it is.
	Invalid             string
	Subnet              chain.ID
	Height              uint64
	Weight, Total       uint64
	Signers, Validators int
	Votes               []Vote
}

// Validators are who can be asked to sign.
type Validators interface {
	// Stake returns the stake of the primary network and of the subnets in use, the
	// largest first.
	Stake(network uint32) []SubnetStake
	// ValidatorSet returns the validators of a subnet in use; nil if it is not.
	ValidatorSet(network uint32, subnet chain.ID) *ValidatorSet
}

// SubnetStake is how much of a subnet's stake is connected.
type SubnetStake struct {
	Subnet           chain.ID
	Name             string // empty if it has none
	Height           uint64
	Validators       int
	Connected, Total uint64
	// Next is the active validator of an L1 that runs out of balance first, nil if none is
	// known to.
	Next *Lasting
}

// Lasting is a validator of an L1 and for how long its balance lasts at today's fee.
type Lasting struct {
	Node chain.NodeID
	Left time.Duration
}

// ValidatorSet is a validator set and how its members do.
type ValidatorSet struct {
	SubnetStake
	Keyless uint64 // as of [Signature]
	// Inactive is weight of Total of L1 validators that are out of balance.
	Inactive uint64
	Entries  []ValidatorEntry
}

// ValidatorEntry is a signing key with its nodes.
type ValidatorEntry struct {
	Weight      uint64
	Underfunded bool
	Nodes       []ValidatorNode
}

// ValidatorNode is a node of a validator.
type ValidatorNode struct {
	ID        chain.NodeID
	Connected bool
	// Since is since when it is connected, AwayFor how long it has not been.
	Since   time.Time
	AwayFor time.Duration
	// Lasts says for how long its balance lasts at today's fee, nil if it has none.
	Lasts *Lasting
	// HasAddress: it is known where to dial. TurnedAway: it closes our links. OnRequest: there
	// is a link only for the time of a request.
	HasAddress, TurnedAway, OnRequest bool
	Address                           netip.AddrPort // where it was reached
	Version                           string         // empty if it is not known
	// P50 and P99 are quantiles of the times of its last answers; 0 if there was none.
	P50, P99 time.Duration
	// Asked counts questions; Refused, Silent, Invalid and Violations what became of them.
	Asked, Answered, Refused, Silent, Invalid, Violations uint64
	// Unreliable: it is asked only in need, and tried again at ProbeAt.
	Unreliable bool
	ProbeAt    time.Time
	// QuarantinedUntil is zero if it never was; Fault is why, empty if an earlier run
	// knew.
	QuarantinedUntil time.Time
	Fault            string
}

// Ops is what the administration has to show.
type Ops interface {
	Checks() []Check
	// Log returns the last lines of a level and above, of one logger unless it is empty,
	// the newest first.
	Log(level, logger string, limit int) ([]LogLine, error)
	// Levels are those of each logger, by name.
	Levels() []LoggerLevels
	Keys() []KeyUse
	Disk() (*DiskUse, error)
	// Call calls a method of /ext/admin, such as admin.setLoggerLevel.
	Call(method string, params map[string]string, remote string) (json.RawMessage, error)
}

// Check is a health check with its last result.
type Check struct {
	Name  string
	Error string // empty: it passes
	// Details is JSON, empty if there are none.
	Details      string
	At           time.Time
	Took         time.Duration
	Failures     int64
	FailingSince time.Time
}

// LogLine is a line of the log.
type LogLine struct {
	At                  time.Time
	Level, Logger, Text string
}

// LoggerLevels are the levels of a logger.
type LoggerLevels struct{ Name, File, Display string }

// KeyUse is what an API key was used for, by its name.
type KeyUse struct {
	Name, Tier      string
	Disabled        bool
	UnitsPerMinute  int64
	Requests, Units uint64
}

// DiskUse is what the data folder takes, in bytes.
type DiskUse struct {
	Free, Total, Needed uint64
	Parts               []DiskPart // the largest first
}

// DiskPart is a file or folder in the data folder.
type DiskPart struct {
	Name  string
	Bytes int64
}
