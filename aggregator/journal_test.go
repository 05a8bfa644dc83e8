package aggregator

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// votesOf returns the states of a message's validators in the order of the fakes.
func votesOf(t *testing.T, b *bed, d *Details) []VoteState {
	t.Helper()
	out := make([]VoteState, len(b.peers.vals))
	for _, v := range d.Votes {
		for i, fake := range b.peers.vals {
			if v.NodeIDs[0] == fake.id {
				out[i] = v.State
			}
		}
	}
	return out
}

func only(t *testing.T, b *bed, message *warp.Unsigned) *Details {
	t.Helper()
	all := b.Details(message.ID())
	if len(all) != 1 {
		t.Fatalf("%d reports of a message: %+v", len(all), all)
	}
	return &all[0]
}

// TestJournal: a message that was signed is listed with what became of each validator,
// and further requests for it count.
func TestJournal(t *testing.T) {
	t.Parallel()
	peers := newFakePeers(equal(6)...)
	peers.vals[0].set(refuses(-2)) // its VM does not sign: that is certain
	peers.vals[1].down = true
	peers.vals[2].set(sends([]byte("no signature")))
	// Everybody is asked, and waited for.
	b := newBed(t, peers, func(c *Config) { c.Timing.Window = 5 * time.Second })
	ctx := context.Background()
	res, err := b.Aggregate(ctx, request(t, 1, 50, 50))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := b.Aggregate(ctx, request(t, 1, 50, 50)); err != nil {
			t.Fatal(err)
		}
	}
	d := only(t, b, message(t, 1))
	o := d.Report
	o.At, o.Took = time.Time{}, 0
	if string(o.Signed) != string(res.Signed) || string(o.Unsigned) != string(message(t, 1).Bytes()) {
		t.Errorf("signed %x, unsigned %x", o.Signed, o.Unsigned)
	}
	o.Signed, o.Unsigned = nil, nil
	if o.Message != message(t, 1).ID() || o.SourceChain != sourceChain || o.Quorum != 50 || o.How != Collected || o.Ahead ||
		o.Repeats != 3 || o.Joined != 0 || o.Kind != 0 || o.Height != 7 || o.Validators != 6 || o.Signers != 3 || o.Weight != o.Total/2 {
		t.Errorf("%+v", o)
	}
	if d.Took <= 0 || time.Since(d.At) > time.Minute {
		t.Errorf("took %v, at %v", d.Took, d.At)
	}
	got := votesOf(t, b, d)
	if want := []VoteState{VoteRefused, VoteUnreachable, VoteInvalid, VoteSigned, VoteSigned, VoteSigned}; !slices.Equal(got, want) {
		t.Errorf("votes %d, want %d", got, want)
	}
	if r := b.Rates(); r.Collected != 1 || r.Kept != 3 || r.Failed != 0 || r.P50 <= 0 || r.P99 < r.P50 || r.Signed() != 4 {
		t.Errorf("rates %+v", r.RateCounts)
	}
	if all := b.Recent(); len(all) != 1 || all[0].Message != o.Message {
		t.Errorf("recent %+v", all)
	}
}

// TestJournalAhead: what was signed ahead is told from what was asked for.
func TestJournalAhead(t *testing.T) {
	t.Parallel()
	b := newBed(t, newFakePeers(equal(4)...), nil)
	req := request(t, 1, 67, 0)
	req.Ahead = true
	for range 2 { // for the proposed set and an epoch's
		if _, err := b.Aggregate(context.Background(), req); err != nil {
			t.Fatal(err)
		}
	}
	if o := only(t, b, message(t, 1)); !o.Ahead || o.Repeats != 0 {
		t.Errorf("%+v", o.Report)
	}
	if _, err := b.Aggregate(context.Background(), request(t, 1, 67, 0)); err != nil {
		t.Fatal(err)
	}
	if o := only(t, b, message(t, 1)); !o.Ahead || o.Repeats != 1 {
		t.Errorf("%+v", o.Report)
	}
	if r := b.Rates(); r.Ahead != 1 || r.Collected != 0 || r.Kept != 1 {
		t.Errorf("rates %+v", r.RateCounts)
	}
}

// TestJournalJoined: requests that wait for one collection are one row.
func TestJournalJoined(t *testing.T) {
	t.Parallel()
	peers := newFakePeers(equal(4)...)
	for _, v := range peers.vals {
		v.set(after(50*time.Millisecond, signs))
	}
	b := newBed(t, peers, nil)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if _, err := b.Aggregate(context.Background(), request(t, 1, 67, 0)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	o, r := only(t, b, message(t, 1)), b.Rates()
	if o.Joined+o.Repeats != 4 || r.Collected != 1 || r.Joined != o.Joined || r.Kept != o.Repeats {
		t.Errorf("%+v, rates %+v", o.Report, r.RateCounts)
	}
}

// TestJournalAheadFailure: what could not be signed ahead is listed, but no request failed.
func TestJournalAheadFailure(t *testing.T) {
	t.Parallel()
	peers := newFakePeers(equal(4)...)
	for _, v := range peers.vals[:2] {
		v.set(refuses(-2))
	}
	b := newBed(t, peers, nil)
	req := request(t, 1, 67, 0)
	req.Ahead = true
	for range 2 {
		if _, err := b.Aggregate(t.Context(), req); err == nil {
			t.Fatal("signed")
		}
	}
	if o := only(t, b, message(t, 1)); !o.Ahead || o.Kind != Refused || o.Repeats != 0 {
		t.Errorf("%+v", o.Report)
	}
	if r := b.Rates(); r.Failed != 0 {
		t.Errorf("nobody has asked: %+v", r.RateCounts)
	}
}

// TestJournalFailure: a message that fails again and again is one row, with the
// validators as they were.
func TestJournalFailure(t *testing.T) {
	t.Parallel()
	peers := newFakePeers(equal(4)...)
	for _, v := range peers.vals[:2] {
		v.set(refuses(-2)) // its VM does not sign: that is certain
	}
	b := newBed(t, peers, nil)
	for range 3 {
		if _, err := b.Aggregate(context.Background(), request(t, 1, 67, 0)); err == nil {
			t.Fatal("signed")
		}
	}
	d := only(t, b, message(t, 1))
	if d.Kind != Refused || d.Err == "" || d.Signed != nil || d.Repeats != 2 || d.Weight > d.Total/2 || d.Quorum != 67 {
		t.Errorf("%+v", d.Report)
	}
	if got := votesOf(t, b, d); got[0] != VoteRefused || got[1] != VoteRefused || d.Votes[0].Weight == 0 {
		t.Errorf("votes %v", got)
	}
	b.refused = newRefusals() // as if a second went by
	if _, err := b.Aggregate(context.Background(), request(t, 1, 67, 0)); err == nil {
		t.Fatal("signed")
	}
	if d = only(t, b, message(t, 1)); d.Repeats != 3 || d.Votes == nil {
		t.Errorf("collected again: %+v", d.Report)
	}
	// A message of a chain that there is not has no validators.
	m, err := warp.New(testNetwork, chain.ID{0xee}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Aggregate(context.Background(), &Request{Message: m.Bytes(), Quorum: 67}); err == nil {
		t.Fatal("signed")
	}
	if d := only(t, b, m); d.Kind != NotFound || d.Votes != nil || d.Validators != 0 || d.SourceChain != (chain.ID{0xee}) {
		t.Errorf("%+v", d)
	}
	if _, err := b.Aggregate(context.Background(), &Request{Message: []byte("no message"), Quorum: 67}); err == nil {
		t.Fatal("signed")
	}
	if r := b.Rates(); r.Failed != 6 || len(b.Recent()) != 2 {
		t.Errorf("rates %+v, %d rows", r.RateCounts, len(b.Recent()))
	}
}

// TestJournalKept: what is on disk is listed when it is given out first, by the set that
// signed it.
func TestJournalKept(t *testing.T) {
	t.Parallel()
	store := &mapStore{m: make(map[string][]byte)}
	peers := newFakePeers(equal(4)...)
	first := newBed(t, peers, func(c *Config) { c.Store = store })
	if _, err := first.Aggregate(context.Background(), request(t, 1, 67, 0)); err != nil {
		t.Fatal(err)
	}
	first.stop()
	b := newBed(t, peers, func(c *Config) { c.Store = store })
	for range 2 {
		if _, err := b.Aggregate(context.Background(), request(t, 1, 67, 0)); err != nil {
			t.Fatal(err)
		}
	}
	d := only(t, b, message(t, 1))
	if d.How != FromDisk || d.Repeats != 1 || d.Took != 0 {
		t.Errorf("%+v", d.Report)
	}
	signed := 0
	for _, v := range d.Votes {
		switch v.State {
		case VoteSigned:
			signed++
		case VoteUnknown:
		default:
			t.Errorf("vote %+v", v)
		}
	}
	if signed != d.Signers || signed < 3 {
		t.Errorf("%d signers of %d", signed, d.Signers)
	}
}

// TestJournalBounds: the journal forgets what is old, and comes back to what is asked
// for again.
func TestJournalBounds(t *testing.T) {
	t.Parallel()
	j := newJournal(time.Now())
	peers := newFakePeers(equal(3)...)
	set := peers.validatorSet(t, 7)
	var all []*kept
	now := time.Now()
	sign := func(i int, set *valset.Set) *kept {
		msg := message(t, i)
		signers := warp.NewBits(3)
		signers.Set(1)
		k := newKept(msg, set, signers, [96]byte{}, 67, now)
		j.answered(now, &attempt{wish: wish{quorum: 67}, msg: msg, set: set}, k, FromDisk)
		return k
	}
	for i := range maxSignedRows + 10 {
		all = append(all, sign(i, set))
	}
	if all[9].row.Load() != nil || all[10].row.Load() == nil || len(j.sets) != 1 {
		t.Errorf("the wrong rows are forgotten; %d sets", len(j.sets))
	}
	msg := message(t, 0)
	j.answered(now, &attempt{msg: msg, set: set}, all[0], FromMemory)
	j.answered(now, &attempt{msg: message(t, 1), set: set}, all[1], FromMemory)
	if all[0].row.Load() == nil || all[1].row.Load() != nil {
		t.Error("one result that was forgotten comes back at a time")
	}
	if r := all[0].row.Load(); r.report.How != FromMemory || r.report.Signers != 1 {
		t.Errorf("%+v", r.report)
	}
	// Failures do not crowd out what was signed.
	for i := range 3 * maxFailedRows {
		j.fail(now, &attempt{msg: message(t, 1000+i)}, &Error{Kind: NotFound, Msg: "no"})
	}
	if all[0].row.Load() == nil || len(j.failures) != maxFailedRows {
		t.Errorf("%d failures are remembered", len(j.failures))
	}
	// Of many sets the last are remembered.
	for i := range 2 * maxRowSets {
		other := newFakePeers(uint64(i+2), 1, 1).validatorSet(t, uint64(i))
		sign(5000+i, other)
	}
	if len(j.sets) != maxRowSets {
		t.Errorf("%d sets", len(j.sets))
	}
	if r := all[0].row.Load(); r == nil || r.set != nil || r.votes != nil {
		t.Error("the votes of an old set are still there")
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	r := newRates(start)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for i := range 100 {
		r.timed(at(time.Second), wayCollected, time.Duration(i+1)*time.Millisecond)
	}
	r.count(at(2*time.Second), wayKept)
	r.count(at(11*time.Second), wayFailed)
	got := r.read(at(20 * time.Second))
	if got.Collected != 100 || got.Kept != 1 || got.Failed != 1 || got.Window != 20*time.Second || len(got.Points) != 3 {
		t.Errorf("%+v", got)
	}
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if got < want || got > want*6/5 {
			t.Errorf("%s %v, want %v to a fifth more", what, got, want)
		}
	}
	near("p50", got.P50, 50*time.Millisecond)
	near("p99", got.P99, 99*time.Millisecond)
	if p := got.Points[1]; p.Failed != 1 || p.Collected != 0 || p.P50 != 0 {
		t.Errorf("%+v", p)
	}
	// What is older than the window is gone, and its slot is used again.
	if got = r.read(at(RateWindow + 5*time.Second)); got.Collected != 0 || got.Failed != 1 || got.Window > RateWindow || len(got.Points) != rateSlots {
		t.Errorf("%+v, %d points", got.RateCounts, len(got.Points))
	}
	r.count(at((rateSlots+1)*rateSlot), wayJoined)
	if got = r.read(at((rateSlots + 1) * rateSlot)); got.Joined != 1 || got.Collected != 0 || got.Kept != 0 {
		t.Errorf("%+v", got.RateCounts)
	}
}
