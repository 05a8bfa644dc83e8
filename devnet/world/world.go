// Package world is the deterministic model behind the simulated network: the
// identities of its validators, its chains, its P-Chain state by height and the
// warp messages that its C-Chain and its L1s' chains have emitted. The same
// [Params] give the same bytes, whatever the machine and the time. It does no
// I/O and starts nothing.
package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"quorate/devnet/traffic"
	"quorate/engine/chain"
)

const (
	// NetworkID is the network ID of the simulated network: that of a local one.
	NetworkID uint32 = 12345
	// EVMChainID is the EVM chain ID of the C-Chain.
	EVMChainID = "43112"
	// MaxValidators bounds the number of validators, so that no sum of weights overflows.
	MaxValidators = 4096
	// MaxL1s bounds the number of L1s.
	MaxL1s = 16
	// DefaultL1Members is how many validators an L1 has unless told otherwise.
	DefaultL1Members = 5
	// DefaultEmitted is how many warp messages the C-Chain has emitted unless told otherwise.
	DefaultEmitted uint64 = 1 << 32

	genesisUnix = 1735689600 // 2025-01-01T00:00:00Z
	// stakeEndUnix lies far enough ahead that no validator's stake ends while the network is in use.
	stakeEndUnix = 2366841600 // 2045-01-01T00:00:00Z
)

// Weights names how stake is spread over the validators.
type Weights string

const (
	// Equal: every validator the same stake.
	Equal Weights = "equal"
	// Zipf: validator i has a share proportional to 1/(i+1), with a floor.
	Zipf Weights = "zipf"
)

const (
	equalStake = 2_000_000_000_000_000 // nAVAX, as on a local network
	zipfTop    = 3_000_000_000_000_000 // nAVAX, the most that mainnet lets a validator have
	zipfFloor  = 2_000_000_000_000     // nAVAX, the least that mainnet asks of a validator
)

// ErrParams is wrapped by the errors of [New] that the caller can mend.
var ErrParams = errors.New("invalid network parameters")

// Params select a world.
type Params struct {
	// Validators is the number of primary network validators, 1 to [MaxValidators].
	Validators int
	// Weights is how stake is spread; the empty value means [Equal].
	Weights Weights
	// Seed selects every key, ID and message.
	Seed uint64
	// L1s is the number of subnets that were converted to L1s, 0 to [MaxL1s]. Each
	// is validated by the first L1Members validators of the primary network; 0
	// means [DefaultL1Members], or all when there are fewer, at least L1Own.
	L1s, L1Members int
	// L1Own is how many members of every L1, the last ones, validate nothing but
	// it: they are nodes of their own, without stake on the primary network.
	L1Own int
	// L1Late has the last L1 begin as a subnet without validators, until [World.Convert].
	L1Late bool
	// L1Inactive is how many members of every L1 have run out of balance: the last
	// ones. The L1Underfunded before them have 1,000 nAVAX left, enough for less
	// than two seconds. At least one member has its full balance.
	L1Inactive, L1Underfunded int
	// L1Balances are those of the first members of each L1, in nAVAX, none of them 0.
	L1Balances []uint64
	// SharedKeys is how many pairs of validators share a BLS key: 1 and 2, then 3
	// and 4, and so on.
	SharedKeys int
	// Keyless is how many primary network validators, the last ones, have never
	// registered a BLS key. They have one in the L1s, which demand it.
	Keyless int
	// Emitted is the number of warp messages emitted so far; 0 means [DefaultEmitted].
	Emitted uint64
	// Start is the time of the genesis blocks, 2000 to 2040, which counts in whole seconds;
	// zero means [Start].
	Start time.Time
}

// World is a simulated network's state. Its methods may be called from any goroutine.
type World struct {
	params     Params
	root       [32]byte
	messageKey [32]byte
	emitter    [emitterLen]byte
	cChain     chain.ID
	xChain     chain.ID
	founding   founding
	validators []*Validator
	byNodeID   map[chain.NodeID]*Validator
	l1s        []*L1

	traffic traffic.Plan // of interchain messages

	// ledger, if it is set, is where heights and sets come from; base is the height
	// that it had then. Nothing else uses history then.
	ledger Ledger
	base   uint64

	snapshotsMu sync.Mutex // guards snapshots
	snapshots   map[uint64]*Snapshot

	mu      sync.RWMutex       // guards history
	history []block            // by height
	epochs  map[chain.ID]Epoch // of chains that are past their first
}

func (p Params) validate() error {
	switch {
	case p.Validators < 1 || p.Validators > MaxValidators:
		return fmt.Errorf("%w: %d validators, want 1 to %d", ErrParams, p.Validators, MaxValidators)
	case p.Weights != Equal && p.Weights != Zipf:
		return fmt.Errorf("%w: weights %q, want %q or %q", ErrParams, p.Weights, Equal, Zipf)
	case p.L1s < 0 || p.L1s > MaxL1s:
		return fmt.Errorf("%w: %d L1s, want 0 to %d", ErrParams, p.L1s, MaxL1s)
	case p.L1Members < 1 || p.L1Members-p.L1Own > p.Validators:
		return fmt.Errorf("%w: %d members of an L1, want 1 to %d", ErrParams, p.L1Members, p.Validators+p.L1Own)
	case p.L1Inactive < 0 || p.L1Underfunded < 0 || p.L1Inactive+p.L1Underfunded >= p.L1Members:
		return fmt.Errorf("%w: %d inactive and %d underfunded members of an L1 with %d, want at least one that is neither",
			ErrParams, p.L1Inactive, p.L1Underfunded, p.L1Members)
	case p.L1Own < 0 || p.L1Own > p.L1Members || p.nodes() > MaxValidators:
		return fmt.Errorf("%w: %d validators of its own for each of %d L1s with %d members", ErrParams, p.L1Own, p.L1s, p.L1Members)
	case p.L1s == 0 && (p.L1Inactive+p.L1Underfunded+p.L1Own > 0 || p.L1Late):
		return fmt.Errorf("%w: members of L1s, but no L1", ErrParams)
	case p.Start.Year() < 2000 || p.Start.Year() > 2040:
		return fmt.Errorf("%w: a start in the year %d, want 2000 to 2040", ErrParams, p.Start.Year())
	case p.SharedKeys < 0 || p.Keyless < 0 || 1+2*p.SharedKeys+p.Keyless > p.Validators:
		return fmt.Errorf("%w: %d shared keys and %d validators without a key among %d: "+
			"two for each shared key, and the first has a key of its own", ErrParams, p.SharedKeys, p.Keyless, p.Validators)
	}
	return nil
}

// New builds the world that p selects.
func New(p Params) (*World, error) {
	if p.Weights == "" {
		p.Weights = Equal
	}
	if p.Emitted == 0 {
		p.Emitted = DefaultEmitted
	}
	if p.Start.IsZero() {
		p.Start = Start()
	}
	if p.L1Members == 0 {
		p.L1Members = max(min(DefaultL1Members, p.Validators), p.L1Own)
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	w := &World{params: p, root: rootKey(p.Seed), byNodeID: make(map[chain.NodeID]*Validator, p.Validators), epochs: make(map[chain.ID]Epoch)}
	w.messageKey = w.derive("message key", 0)
	copy(w.emitter[:], w.bytes("message emitter", 0))
	if err := w.found(); err != nil {
		return nil, err
	}
	for i := range p.nodes() {
		v, err := w.newValidator(i)
		if err != nil {
			return nil, fmt.Errorf("validator %d: %w", i, err)
		}
		w.validators = append(w.validators, v)
		w.byNodeID[v.NodeID] = v
	}
	for i := range p.L1s {
		l, err := w.newL1(i)
		if err != nil {
			return nil, err
		}
		w.l1s = append(w.l1s, l)
	}
	w.traffic = traffic.Plan{NetworkID: NetworkID, Chains: []chain.ID{w.cChain}}
	for _, l := range w.l1s {
		w.traffic.Chains = append(w.traffic.Chains, l.ChainID)
	}
	w.history = []block{{sets: w.genesis()}}
	return w, nil
}

// nodes is the number of all validators: those of the primary network, then those
// that only L1s have.
func (p Params) nodes() int { return p.Validators + p.L1s*p.L1Own }

// Primary reports whether validator i is one of the primary network.
func (w *World) Primary(i int) bool { return i < w.params.Validators }

// Params returns the parameters, defaults filled in.
func (w *World) Params() Params { return w.params }

// CChainID returns the blockchain ID of the C-Chain.
func (w *World) CChainID() chain.ID { return w.cChain }

// XChainID returns the blockchain ID of the X-Chain.
func (w *World) XChainID() chain.ID { return w.xChain }

// AssetID returns the ID of AVAX.
func (w *World) AssetID() chain.ID { return w.founding.avax }

// ChainSeed returns what a chain's history is made of.
func (w *World) ChainSeed(id chain.ID) [32]byte { return w.keyed('h', id[:], nil) }

// Start is the time of the genesis blocks, at which the histories of chains end, on every
// network that does not say otherwise.
func Start() time.Time { return time.Unix(genesisUnix, 0).UTC() }

// GenesisTime is that of this network.
func (w *World) GenesisTime() time.Time { return w.params.Start.UTC().Truncate(time.Second) }

// StakeEnd is when every validator's stake ends.
func (w *World) StakeEnd() time.Time { return time.Unix(stakeEndUnix, 0).UTC() }

// Validators returns all validators, stopped ones too: first those of the primary
// network, then those that only L1s have. The caller must not change the slice.
func (w *World) Validators() []*Validator { return w.validators }

// Validator finds a validator by its node ID.
func (w *World) Validator(id chain.NodeID) (*Validator, bool) {
	v, ok := w.byNodeID[id]
	return v, ok
}

// Pick deals validators to groups that have no validator in common: group k
// gets at most shares[k] (0 to 1) of the stake at genesis, rounded to a
// millionth, and as much of it as a greedy choice in random order gives. It
// never takes validator 0, whose node serves the API.
func (w *World) Pick(shares ...float64) [][]int {
	var total uint64
	for _, v := range w.validators {
		total += v.Weight
	}
	order := make([]int, 0, len(w.validators))
	for i := 1; i < w.params.Validators; i++ {
		order = append(order, i)
	}
	for i := len(order) - 1; i > 0; i-- {
		pick := w.derive("silent order", uint64(i)) // i is not negative
		j := binary.BigEndian.Uint64(pick[:]) % uint64(i+1)
		order[i], order[j] = order[j], order[i]
	}
	picked := make([][]int, len(shares))
	for k, share := range shares {
		if !(share > 0) {
			continue
		}
		const parts = 1_000_000
		limit := total / parts * uint64(math.Round(math.Min(share, 1)*parts))
		var rest []int
		for _, i := range order {
			if weight := w.validators[i].Weight; weight <= limit {
				limit -= weight
				picked[k] = append(picked[k], i)
			} else {
				rest = append(rest, i)
			}
		}
		order = rest
	}
	return picked
}

func (p Params) weight(i int) uint64 {
	if p.Weights == Zipf {
		return max(zipfTop/uint64(i+1), zipfFloor) // i is not negative
	}
	return equalStake
}
