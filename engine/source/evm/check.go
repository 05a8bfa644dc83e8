package evm

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/chain/evm/settle"
	"quorate/engine/metric"
)

// Verify says how much of what nodes answer is checked.
type Verify uint8

const (
	// VerifySample checks all that hashes cover, and recovers the senders of as
	// many transactions as a share of the processor's time allows: of all of them
	// at the head of a chain, of a random sample while catching up.
	VerifySample Verify = iota
	// VerifyFull recovers all senders, whatever it takes.
	VerifyFull
	// verifyNothing is for tests whose node makes up its answers.
	verifyNothing
)

// String returns the word that --verify takes.
func (v Verify) String() string {
	if v == VerifyFull {
		return "full"
	}
	return "sample"
}

// ParseVerify reads the value of --verify.
func ParseVerify(s string) (Verify, error) {
	for _, v := range []Verify{VerifySample, VerifyFull} {
		if s == v.String() {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%q is neither sample nor full", s)
}

// ErrFalse is wrapped by errors about an answer that contradicts the hash of its
// block: the node lies, or is broken. It is a bad answer as well.
var ErrFalse = errors.New("the answer does not fit the block's hash")

const (
	// senderShare is the part of one processor's time that may go into recovering
	// senders: with about 40 us each that is one of 13 transactions at the 10,000 a
	// second that two processors ingest, and all of them up to 750 a second. Hashes
	// and roots take about a tenth of the ingest's time beside it.
	senderShare = 0.03
	// senderBurst is how much of that time may be saved up.
	senderBurst = 100 * time.Millisecond
	// leastSample is the part of the transactions whose senders are recovered
	// whatever the time: one of so many.
	leastSample = 64
)

// checker checks blocks of one chain. A nil checker finds nothing wrong.
type checker struct {
	full  bool
	needs func() string // what a release must know that this one does not; may be nil
	// guessed: headers have members that are not known here, in the order that was guessed.
	guessed atomic.Bool

	mismatches, unverified, senders metric.Counter
	spent                           metric.Counter

	logger *slog.Logger

	mu       sync.Mutex // guards what follows
	saved    time.Duration
	last     time.Time
	believed map[string]bool // reasons why blocks cannot be checked
	doubted  evm.Head        // the last block that had another reason
}

func newChecker(v Verify, metrics *metric.Set, logger *slog.Logger, needs func() string) *checker {
	if v == verifyNothing {
		return nil
	}
	counter := func(name, help string) metric.Counter {
		return metrics.Counter("quorate_evm_source_"+name+"_total", help)
	}
	return &checker{
		full:       v == VerifyFull,
		needs:      needs,
		logger:     logger,
		believed:   make(map[string]bool),
		mismatches: counter("mismatches", "Answers that contradict the hash of their block."),
		unverified: counter("unverified", "Blocks that cannot be checked, since they have members or transactions that are not known."),
		senders:    counter("senders", "Senders recovered from signatures."),
		spent:      counter("verify_seconds", "Time spent on checking blocks, in seconds."),
	}
}

// refuse makes a mismatch of err an error about the node's truth.
func (c *checker) refuse(err error) error {
	if err == nil {
		return nil
	}
	c.mismatches.Inc()
	return fmt.Errorf("%w: %w", ErrFalse, err)
}

// unknown returns what this release does not know of the rules of the newest blocks.
func (c *checker) unknown() string {
	switch {
	case c == nil:
		return ""
	case c.guessed.Load():
		return "some members of its header"
	case c.needs == nil:
		return ""
	}
	return c.needs()
}

// foreign reports whether the rules of a block may be unknown here, and marks it then as
// one that cannot be checked.
func (c *checker) foreign(b *evm.Block) bool {
	needs := c.unknown()
	if needs != "" {
		distrust(b, "not as this release knows blocks, which lacks "+needs)
	}
	return needs != ""
}

// disprove decides about a block that does not fit its hash: it is refused, unless it may
// be of rules that are unknown here.
func (c *checker) disprove(b *evm.Block, err error) error {
	if err == nil || c.foreign(b) {
		return nil
	}
	return c.refuse(err)
}

// timed adds the time since start to the metric.
func (c *checker) timed(start time.Time) { c.spent.Add(time.Since(start).Seconds()) }

// header checks that the header has the hash that the node said, and takes its
// encoding. A header with members that are not known here may be one of a later
// upgrade.
func (c *checker) header(b *evm.Block, h *header) error {
	b.Header = h.encoded
	if c == nil {
		return nil
	}
	defer c.timed(time.Now())
	if h.hashes() {
		b.Header = h.encoded
		if len(h.Further) > 0 {
			c.guessed.Store(true)
		}
		return nil
	}
	if len(h.unknown) > 0 {
		distrust(b, "header with members that are not known: "+strings.Join(h.names(), ", "))
		return nil
	}
	return c.disprove(b, &consensus.Mismatch{Number: b.Number, Field: "hash", Got: b.Hash.String(), Want: evm.Keccak(h.encoded).String()})
}

// body checks the transactions and the ExtData against the header.
func (c *checker) body(b *evm.Block, h *header) error {
	if c == nil {
		return nil
	}
	defer c.timed(time.Now())
	known := true
	for i := range b.Txs {
		t := &b.Txs[i]
		if t.Raw == nil {
			known = false
			continue
		}
		if sum := evm.Keccak(t.Raw); sum != t.Hash {
			if err := c.disprove(b, &consensus.Mismatch{Number: b.Number, Field: consensus.TxField(i, "hash"), Got: t.Hash.String(), Want: sum.String()}); err != nil {
				return err
			}
		}
	}
	if err := c.disprove(b, h.CheckTxs(b, known)); err != nil {
		return err
	}
	b.Size = consensus.BlockSize(b, h.HasExtData)
	return nil
}

// receipts checks the receipts against the header, the filters that they came
// with and, by sample, the senders. told are the filters, nil for one that did
// not come.
func (c *checker) receipts(b *evm.Block, told []*bloom) error {
	if c == nil {
		return nil
	}
	defer c.timed(time.Now())
	var h consensus.Header
	if err := h.Parse(b.Header); err != nil {
		return c.refuse(err)
	}
	wrong := -1
	each := func(i int, f *[consensus.BloomLen]byte) {
		if told[i] != nil && *told[i] != *f && (wrong < 0 || i < wrong) {
			wrong = i
		}
	}
	var err error
	if b.Reserved != nil { // a later header has the root, over several blocks
		consensus.Blooms(b.Txs, each)
		err = settle.CheckExecuted(&h, b)
	} else {
		err = h.CheckReceipts(b, each)
	}
	if err == nil && wrong >= 0 {
		err = &consensus.Mismatch{Number: b.Number, Field: consensus.TxField(wrong, "logsBloom"), Got: "another filter", Want: "that of its logs"}
	}
	if err != nil && b.Unverified == "" {
		if err := c.disprove(b, err); err != nil {
			return err
		}
	}
	if b.Unverified != "" {
		// The hash covers the type of each receipt: one that is not known is true then.
		if err := c.believe(b, err == nil && evm.Keccak(b.Header) == b.Hash); err != nil {
			return err
		}
	}
	return c.recover(b)
}

// believe decides about a block that cannot be checked. Its reason is believed if
// the block's hash bears it out, else once the same block was answered twice: by
// another node where there is one, which has the time to answer better.
func (c *checker) believe(b *evm.Block, proven bool) error {
	c.mu.Lock()
	known := c.believed[b.Unverified]
	if !known && !proven {
		if c.doubted != b.Head() {
			c.doubted = b.Head()
			c.mu.Unlock()
			return c.refuse(fmt.Errorf("block %d cannot be checked: %s: it is asked for again", b.Number, b.Unverified))
		}
	}
	if !known && len(c.believed) < maxBelieved {
		c.believed[b.Unverified] = true
	}
	c.mu.Unlock()
	if !known {
		c.logger.Warn("blocks cannot be checked against their hash and are served as unverified: this release does not know all of what they hold",
			"height", b.Number, "hash", b.Hash.String(), "reason", b.Unverified)
	}
	c.unverified.Inc()
	return nil
}

// maxBelieved bounds the reasons that are kept; there is one for each upgrade.
const maxBelieved = 256

type bloom = [consensus.BloomLen]byte

// recover checks senders: all, or a random sample as large as there is time for.
func (c *checker) recover(b *evm.Block) error {
	one := uint32(1) // of so many
	if !c.full {
		one = c.oneOf(len(b.Txs), time.Now())
	}
	start, count := time.Now(), 0
	for i := range b.Txs {
		t := &b.Txs[i]
		if t.Raw == nil || one > 1 && rand.Uint32N(one) != 0 { //nolint:gosec // an opponent does not see the draw before it answers
			continue
		}
		count++
		from, err := consensus.Sender(t.Raw)
		if err == nil && from != t.From {
			err = &consensus.Mismatch{Number: b.Number, Field: consensus.TxField(i, "from"), Got: t.From.String(), Want: from.String()}
		}
		if err != nil {
			return c.refuse(fmt.Errorf("block %d: transaction %d: %w", b.Number, i, err))
		}
	}
	c.senders.Add(float64(count))
	c.mu.Lock()
	c.saved -= time.Since(start)
	c.mu.Unlock()
	return nil
}

// senderCost is what a recovery takes, for the plan: what it took is counted.
const senderCost = 40 * time.Microsecond

// oneOf returns of how many transactions one is to be recovered, for n of them.
func (c *checker) oneOf(n int, now time.Time) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.IsZero() {
		c.saved = senderBurst
	} else if passed := now.Sub(c.last); passed > 0 {
		c.saved = min(senderBurst, c.saved+time.Duration(senderShare*float64(passed)))
	}
	c.last = now
	need := time.Duration(n) * senderCost
	switch {
	case need <= c.saved:
		return 1
	case c.saved <= need/leastSample:
		return leastSample
	}
	return uint32((need + c.saved - 1) / c.saved)
}
