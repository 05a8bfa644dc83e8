package valset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
)

// Rows are validator sets that follow from the blocks of the P-Chain, executed here. ok
// is false for what they do not have, such as a height that they have not reached.
type Rows interface {
	// Made says which rows these are: it changes when they are made again.
	Made() string
	AllValidatorsAt(height uint64) (sets map[chain.ID][]Member, ok bool, err error)
	ValidatorsAt(subnet chain.ID, height uint64) (members []Member, ok bool, err error)
	SubnetOf(blockchain chain.ID) (subnet chain.ID, ok bool, err error)
}

const (
	// firstSets is how many sets of a subnet are compared with the node's before others
	// are used as they are, and eachSet and eachAll how often after that one is.
	firstSets = 3
	eachSet   = 16
	eachAll   = 64
	// comparePatience bounds the wait for the node where rows have proved right before,
	// and compareAgain is how long it is let be after it did not answer.
	comparePatience = 2 * time.Second
	compareAgain    = 5 * time.Second
	// maxSubnets bounds what is remembered of subnets; with more, it starts over.
	maxSubnets = 1 << 16
)

// Trust is what is known of how right rows are. It is to be kept over restarts.
type Trust struct {
	// Confirmed are the rows ([Rows].Made) whose sets of all subnets were a node's.
	Confirmed string `json:"confirmed,omitempty"`
	// Doubt is the set that was not the node's. Until it is, rows are not used.
	Doubt *Doubt `json:"doubt,omitempty"`
}

// Doubt names a set of which rows and a node have different members.
type Doubt struct {
	Subnet chain.ID `json:"subnet"`
	Height uint64   `json:"height"`
}

// OwnConfig is what an [Own] is built of. Trust and OnTrust may be zero.
type OwnConfig struct {
	Source Source // a node
	Trust  Trust  // of before
	// OnTrust takes what is to be kept.
	OnTrust func(Trust)
	Logger  *slog.Logger
	Metrics *metric.Set
}

// Own is a source of validator sets that takes them from rows where they have them, so
// that no node is asked, and from the node otherwise.
//
// Rows that are wrong must not be signed by, so they are compared with the node's answer.
// The sets of all subnets at a height, which the keeper loads for the proposed height and
// for epochs, are compared whenever one of them is none that was compared before; single
// sets at heights that requests name, by sample: the first ones of each subnet, then each
// 16th. At the first difference the node's answer is used, and rows are not used any more
// before the node has the same there. While no node answers, rows are used if all their
// sets at some height have been a node's before, and there was no difference since.
type Own struct {
	Source // for all but what the methods below say
	cfg    OwnConfig
	rows   atomic.Pointer[Rows]
	count  struct{ used, compared, differ, unchecked metric.Counter }

	mu    sync.Mutex // guards what follows
	trust Trust
	// made are the rows that the rest is about.
	made string
	// single counts the sets of each subnet: those that were compared, and all.
	single map[chain.ID]*struct{ compared, used int }
	// same has the sets that were compared last.
	same  map[chain.ID][sha256.Size]byte
	loads int       // of all sets
	calls int       // in doubt
	away  time.Time // since then no node answered; zero: one did
	// late is the node's last answer about a height that rows had not reached.
	late *answer
}

// answer has the digests of a node's sets of all subnets at a height.
type answer struct {
	height  uint64
	digests map[chain.ID][sha256.Size]byte
}

// NewOwn returns a source without rows: see [Own.SetRows].
func NewOwn(cfg OwnConfig) *Own {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = metric.NewSet()
	}
	o := &Own{Source: cfg.Source, cfg: cfg, trust: cfg.Trust}
	counter := func(name, help string) metric.Counter {
		return cfg.Metrics.Counter("quorate_valset_own_"+name+"_total", help)
	}
	o.count.used = counter("sets", "Answers about validator sets that came from own rows.")
	o.count.compared = counter("compared", "Answers from own rows that were compared with a node's.")
	o.count.differ = counter("differences", "Validator sets of own rows that were not the node's.")
	o.count.unchecked = counter("unchecked", "Answers from own rows that were due to be compared while no node answered.")
	cfg.Metrics.GaugeFunc("quorate_valset_own_trusted", "Whether validator sets of own rows are used: 1 once a node's were the same, 0 before and after a difference.", func() float64 {
		r := o.rows.Load()
		o.mu.Lock()
		defer o.mu.Unlock()
		if r != nil && o.trusted((*r).Made()) {
			return 1
		}
		return 0
	})
	return o
}

// SetRows has sets taken from rows from now on.
func (o *Own) SetRows(r Rows) { o.rows.Store(&r) }

// Trouble says which set of the rows is not the node's, or nil.
func (o *Own) Trouble() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.trust.Doubt; d != nil {
		return fmt.Errorf("the validator set of subnet %s at height %d is another one than the node's: the node's are used", d.Subnet, d.Height)
	}
	return nil
}

// trusted reports whether rows may be used while no node answers. It needs mu.
func (o *Own) trusted(made string) bool { return o.trust.Doubt == nil && o.trust.Confirmed == made }

// turn returns what is remembered about the rows that are served now. It needs mu.
func (o *Own) turn(made string) {
	if o.made != made || len(o.single) > maxSubnets || len(o.same) > maxSubnets {
		o.made, o.single, o.same, o.loads = made, make(map[chain.ID]*struct{ compared, used int }), make(map[chain.ID][sha256.Size]byte), 0
	}
}

// ValidatorsAt implements [Source].
func (o *Own) ValidatorsAt(ctx context.Context, subnet chain.ID, height uint64) ([]Member, error) {
	r := o.rows.Load()
	if r == nil || !o.settled(ctx, *r) {
		return o.Source.ValidatorsAt(ctx, subnet, height)
	}
	made := (*r).Made()
	own, ok, err := (*r).ValidatorsAt(subnet, height)
	if err != nil || !ok {
		o.unreadable(err)
		return o.Source.ValidatorsAt(ctx, subnet, height)
	}
	o.mu.Lock()
	o.turn(made)
	s := o.single[subnet]
	if s == nil {
		s = &struct{ compared, used int }{}
		o.single[subnet] = s
	}
	s.used++
	due, trusted, away := s.compared < firstSets || s.used%eachSet == 0, o.trusted(made), o.letBe()
	o.mu.Unlock()
	if !due {
		o.count.used.Inc()
		return own, nil
	}
	if trusted && away {
		return own, o.alone(ctx, false)
	}
	call, cancel := patience(ctx, trusted)
	defer cancel()
	node, err := o.Source.ValidatorsAt(call, subnet, height)
	switch {
	case err != nil && trusted:
		return own, o.alone(ctx, true)
	case err != nil:
		return nil, err
	case digest(own) != digest(node):
		o.differ(made, Doubt{subnet, height}, own, node)
		return node, nil
	}
	o.count.compared.Inc()
	o.count.used.Inc()
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.single[subnet]; s != nil && o.made == made {
		s.compared++
	}
	return own, nil
}

// AllValidatorsAt implements [Source].
func (o *Own) AllValidatorsAt(ctx context.Context, height uint64) (map[chain.ID][]Member, error) {
	r := o.rows.Load()
	if r == nil || !o.settled(ctx, *r) {
		return o.Source.AllValidatorsAt(ctx, height)
	}
	made := (*r).Made()
	if !o.catchUp(*r, made) {
		return o.Source.AllValidatorsAt(ctx, height)
	}
	own, ok, err := (*r).AllValidatorsAt(height)
	if err != nil || !ok {
		o.unreadable(err)
		node, err := o.Source.AllValidatorsAt(ctx, height)
		if err == nil {
			o.mu.Lock()
			o.late = &answer{height, digestsOf(node)}
			o.mu.Unlock()
		}
		return node, err
	}
	digests := digestsOf(own)
	o.mu.Lock()
	o.turn(made)
	due := o.loads%eachAll == 0
	for id, d := range digests {
		due = due || o.same[id] != d
	}
	for id := range o.same {
		_, has := digests[id]
		due = due || !has
	}
	o.loads++
	trusted, away := o.trusted(made), o.letBe()
	o.mu.Unlock()
	if !due {
		o.count.used.Inc()
		return own, nil
	}
	if trusted && away {
		return own, o.alone(ctx, false)
	}
	call, cancel := patience(ctx, trusted)
	defer cancel()
	node, err := o.Source.AllValidatorsAt(call, height)
	switch {
	case noMethod(err), err != nil && !trusted:
		return nil, err
	case err != nil:
		return own, o.alone(ctx, true)
	}
	if id, differ := different(digests, digestsOf(node)); differ {
		o.differ(made, Doubt{id, height}, own[id], node[id])
		return node, nil
	}
	o.count.compared.Inc()
	o.count.used.Inc()
	o.confirm(made, digests)
	return own, nil
}

// catchUp compares what the node last said of a height that rows had not reached then,
// and reports whether it is the same, if they have now. Where the proposed height is that
// of the last block, rows never have it when it is asked for.
func (o *Own) catchUp(r Rows, made string) bool {
	o.mu.Lock()
	late := o.late
	o.mu.Unlock()
	if late == nil {
		return true
	}
	own, ok, err := r.AllValidatorsAt(late.height)
	if err != nil || !ok {
		o.unreadable(err)
		return true // the next answer takes its place
	}
	o.mu.Lock()
	if o.late == late {
		o.late = nil
	}
	o.turn(made)
	o.mu.Unlock()
	digests := digestsOf(own)
	if id, differ := different(digests, late.digests); differ {
		o.differ(made, Doubt{id, late.height}, own[id], nil)
		return false
	}
	o.count.compared.Inc()
	o.confirm(made, digests)
	return true
}

// SubnetOf implements [Source]: the node is asked, and rows where it does not answer.
func (o *Own) SubnetOf(ctx context.Context, blockchain chain.ID) (chain.ID, error) {
	id, err := o.Source.SubnetOf(ctx, blockchain)
	r := o.rows.Load()
	if err == nil || notFound(err) || ctx.Err() != nil || r == nil {
		return id, err
	}
	made := (*r).Made()
	o.mu.Lock()
	trusted := o.trusted(made)
	o.mu.Unlock()
	if own, ok, e := (*r).SubnetOf(blockchain); trusted && ok && e == nil {
		return own, nil
	}
	return id, err
}

// patience bounds a comparison that is not waited for at any price.
func patience(ctx context.Context, trusted bool) (context.Context, context.CancelFunc) {
	if trusted {
		return context.WithTimeout(ctx, comparePatience)
	}
	return ctx, func() {}
}

// letBe reports whether the node is not asked because it did not answer. It needs mu.
func (o *Own) letBe() bool { return !o.away.IsZero() && time.Since(o.away) < compareAgain }

// alone notes that rows are used although the node should have been asked, or was.
func (o *Own) alone(ctx context.Context, asked bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if asked {
		o.mu.Lock()
		o.away = time.Now()
		o.mu.Unlock()
	}
	o.count.used.Inc()
	o.count.unchecked.Inc()
	return nil
}

func (o *Own) unreadable(err error) {
	if err != nil {
		o.cfg.Logger.Error("validator sets cannot be read from own rows, the node is asked", "err", err)
	}
}

// settled reports whether there is no doubt about the rows. In doubt it looks now and then
// whether the node has come to the same, or rows were made again.
func (o *Own) settled(ctx context.Context, r Rows) bool {
	o.mu.Lock()
	doubt, again := o.trust.Doubt, o.calls%eachSet == 0
	if doubt != nil {
		o.calls++
	}
	o.mu.Unlock()
	if doubt == nil || !again {
		return doubt == nil
	}
	own, ok, err := r.ValidatorsAt(doubt.Subnet, doubt.Height)
	if err != nil || !ok {
		return false
	}
	node, err := o.Source.ValidatorsAt(ctx, doubt.Subnet, doubt.Height)
	if err != nil || digest(own) != digest(node) {
		return false
	}
	o.mu.Lock()
	o.trust, o.made, o.calls = Trust{}, "", 0 // all are compared again
	o.mu.Unlock()
	o.cfg.Logger.Warn("own rows have the node's validator set again, and are used once others were compared",
		"subnet", doubt.Subnet, "height", doubt.Height)
	o.keep(Trust{})
	return true
}

// differ ends the use of rows.
func (o *Own) differ(made string, d Doubt, own, node []Member) {
	o.count.differ.Inc()
	o.mu.Lock()
	t := Trust{Doubt: &d}
	o.trust, o.calls = t, 1
	o.mu.Unlock()
	o.cfg.Logger.Error("a validator set of own rows is not the node's: the node's are used from now on",
		"subnet", d.Subnet, "height", d.Height, "rows", made, "own", summary(own), "node", summary(node))
	o.keep(t)
}

// confirm notes that all sets at a height were the node's.
func (o *Own) confirm(made string, digests map[chain.ID][sha256.Size]byte) {
	o.mu.Lock()
	if o.made == made {
		o.same = digests
	}
	fresh := o.trust.Doubt == nil && o.trust.Confirmed != made
	if fresh {
		o.trust.Confirmed = made
	}
	t := o.trust
	o.mu.Unlock()
	if fresh {
		o.keep(t)
	}
}

func (o *Own) keep(t Trust) {
	if o.cfg.OnTrust != nil {
		o.cfg.OnTrust(t)
	}
}

func summary(members []Member) string {
	total := uint64(0)
	for i := range members {
		total = chain.AddSaturated(total, members[i].Weight)
	}
	return fmt.Sprintf("%d members of weight %d", len(members), total)
}

// different returns a subnet, the first one by its ID, of which there are two sets.
func different(a, b map[chain.ID][sha256.Size]byte) (subnet chain.ID, differ bool) {
	for _, side := range [...]map[chain.ID][sha256.Size]byte{a, b} {
		for id := range side {
			if a[id] != b[id] && (!differ || bytes.Compare(id[:], subnet[:]) < 0) {
				subnet, differ = id, true
			}
		}
	}
	return subnet, differ
}

// digestsOf returns the digests of sets in which someone can sign. Others count as none:
// nodes do not all name them.
func digestsOf(sets map[chain.ID][]Member) map[chain.ID][sha256.Size]byte {
	out := make(map[chain.ID][sha256.Size]byte, len(sets))
	for id, members := range sets {
		if slices.ContainsFunc(members, func(m Member) bool { return m.PublicKey != nil }) {
			out[id] = digest(members)
		}
	}
	return out
}

// digest stands for what matters of a set: its keys with their weights and nodes, and the
// sum of all weights. Nodes name sets in two forms, which have the same digest.
func digest(members []Member) [sha256.Size]byte {
	type entry struct {
		weight uint64
		nodes  []chain.NodeID
	}
	byKey, total := make(map[string]*entry, len(members)), uint64(0)
	for i := range members {
		m := &members[i]
		total = chain.AddSaturated(total, m.Weight)
		if m.PublicKey == nil {
			continue
		}
		e := byKey[string(m.PublicKey)]
		if e == nil {
			e = &entry{}
			byKey[string(m.PublicKey)] = e
		}
		e.weight = chain.AddSaturated(e.weight, m.Weight)
		e.nodes = append(e.nodes, m.NodeID)
	}
	b := binary.BigEndian.AppendUint64(nil, total)
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		e := byKey[key]
		slices.SortFunc(e.nodes, func(a, b chain.NodeID) int { return bytes.Compare(a[:], b[:]) })
		b = append(append(b, byte(len(key))), key...)
		b = binary.BigEndian.AppendUint64(b, e.weight)
		b = binary.BigEndian.AppendUint32(b, uint32(len(e.nodes)))
		for _, id := range e.nodes {
			b = append(b, id[:]...)
		}
	}
	return sha256.Sum256(b)
}

var _ Source = (*Own)(nil)
