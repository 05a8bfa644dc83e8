package aggregator

import (
	"bytes"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/engine/metric"
)

// TestFailureOutlivesSets: however many sets come and go, and whatever else is signed, a
// failure has its validators as long as it is listed.
func TestFailureOutlivesSets(t *testing.T) {
	t.Parallel()
	peers := newFakePeers(equal(4)...)
	for _, v := range peers.vals[:2] {
		v.set(refuses(-2))
	}
	b := newBed(t, peers, nil)
	b.wantError(t, request(t, 1, 67, 0), Refused)
	for i := range 2 * maxRowSets {
		set := newFakePeers(uint64(i+2), 1, 1).validatorSet(t, uint64(i))
		msg := message(t, 5000+i)
		signers := warp.NewBits(3)
		signers.Set(1)
		b.journal.answered(time.Now(), &attempt{wish: wish{quorum: 67}, msg: msg, set: set}, newKept(msg, set, signers, [96]byte{}, 67, time.Now()), FromDisk)
	}
	if got := votesOf(t, b, only(t, b, message(t, 1))); got[0] != VoteRefused || got[1] != VoteRefused {
		t.Errorf("votes %v", got)
	}
}

// TestFailureOutlivesRestarts: a failure of yesterday names its validators after two
// restarts, and is gone after a month.
func TestFailureOutlivesRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notes := &notesInMemory{mapStore{m: map[string][]byte{}}}
		peers := newFakePeers(equal(4)...)
		peers.vals[0].set(refuses(-2))
		peers.vals[1].set(keepsSilent)
		peers.vals[2].down = true
		run := func() *bed {
			return newBed(t, peers, func(c *Config) { c.Notes = notes })
		}
		first := run()
		for range 3 {
			first.wantError(t, request(t, 1, 67, 0), Unreachable)
		}
		want := only(t, first, message(t, 1))
		if got := votesOf(t, first, want); !slices.Equal(got, []VoteState{VoteRefused, VoteSilent, VoteUnreachable, VoteSigned}) || want.Repeats != 2 {
			t.Fatalf("votes %v, %+v", got, want.Report)
		}
		first.stop()
		for range 2 {
			<-time.After(12 * time.Hour)
			b := run()
			if got := only(t, b, message(t, 1)); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if all := b.Recent(); len(all) != 1 || all[0].Err != want.Err {
				t.Errorf("recent %+v", all)
			}
			b.stop()
		}
		last := run()
		<-time.After(failureAge)
		if n := len(last.Details(message(t, 1).ID())) + len(last.Recent()); n != 0 {
			t.Errorf("%d rows are a month old", n)
		}
		last.stop()
	})
}

// TestFailureOutlivesKill: what failed is saved within seconds, not only at the end.
func TestFailureOutlivesKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notes := &notesInMemory{mapStore{m: map[string][]byte{}}}
		peers := newFakePeers(equal(3)...)
		for _, v := range peers.vals {
			v.set(refuses(-2))
		}
		first := newBed(t, peers, func(c *Config) { c.Notes = notes })
		first.wantError(t, request(t, 1, 67, 0), Refused)
		pause(saveEvery + time.Second)
		second := newBed(t, peers, func(c *Config) { c.Notes = notes }) // beside the first, which has not ended
		if d := only(t, second, message(t, 1)); len(d.Votes) != 3 {
			t.Errorf("%+v", d)
		}
		second.stop()
		first.stop()
	})
}

func pause(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// TestFailuresAreBounded: of many failures the last are kept, in memory and on disk, in
// their order over a restart too; and what is written at once is little.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	notes := &notesInMemory{mapStore{m: map[string][]byte{}}}
	peers := newFakePeers(equal(3)...)
	set := peers.validatorSet(t, 7)
	m := func() *notebook {
		return &notebook{environment: &environment{
			journal: newJournal(time.Now()), habits: newHabits(), bad: newQuarantine(time.Minute, time.Hour), count: newCounters(metric.NewSet()), log: slog.New(slog.DiscardHandler),
		}, network: testNetwork, notes: notes}
	}
	first := m()
	e := &Error{Kind: Refused, Msg: "no"}
	miss := func(m *notebook, from, to int) {
		for i := from; i < to; i++ {
			m.journal.miss(wish{quorum: 67}, message(t, i), set, time.Second, e, make([]vote, 3))
			m.journal.failed.rows[(m.journal.failed.next+maxFailedRows-1)%maxFailedRows].born = int64(i + 1)
		}
	}
	miss(first, 0, maxFailedRows+50)
	if list := first.journal.takeUnsaved(10_000); len(list) == 0 || len(list) > 20 {
		t.Errorf("%d are saved at once", len(list))
	} else {
		first.journal.again(list)
	}
	first.save(t.Context(), 1<<30)
	if n := len(notes.m); n != maxFailedRows {
		t.Errorf("%d notes", n)
	}
	if list := first.journal.takeUnsaved(1 << 30); len(list) != 0 {
		t.Errorf("%d are saved again", len(list))
	}
	second := m()
	second.restore()
	miss(second, 1000, 1010) // in place of the oldest
	for i := range maxFailedRows + 50 {
		_, kept := second.journal.failures[message(t, i).ID()]
		if want := i >= 60; kept != want {
			t.Errorf("failure %d: kept %v", i, kept)
		}
	}
	second.save(t.Context(), 1<<30)
	if n := len(notes.m); n != maxFailedRows {
		t.Errorf("%d notes", n)
	}
}

// TestLargeFailure: of a set that is too large the heaviest are kept, in several notes;
// pieces that do not belong together are not put together.
func TestLargeFailure(t *testing.T) {
	t.Parallel()
	votes := make([]Vote, 10_000)
	for i := range votes {
		votes[i] = Vote{Weight: uint64(i), NodeIDs: []chain.NodeID{{byte(i), byte(i >> 8)}}, State: VoteSilent}
	}
	kept := heaviest(votes)
	if len(kept) < 4000 || len(kept) == len(votes) || kept[0].Weight != 9999 || kept[len(kept)-1].Weight != uint64(10_000-len(kept)) {
		t.Fatalf("%d votes, of weight %d to %d", len(kept), kept[0].Weight, kept[len(kept)-1].Weight)
	}
	u := unsaved{slot: 5, failure: failure{report: Report{Kind: Refused, Unsigned: make([]byte, maxRowBytes)}, votes: kept}}
	if n := u.bytes(); n > maxFailureBytes {
		t.Errorf("it takes %d bytes", n)
	}
	type note struct {
		piece byte
		value []byte
	}
	save := func(stamp int64) (list []note) {
		if err := u.notes([]byte("abcd"), stamp, func(key, value []byte) {
			if !bytes.Equal(key[:6], []byte("abcdf\x05")) || len(key) != failureKey || len(value) > 64<<10 {
				t.Errorf("key %q, %d bytes", key, len(value))
			}
			list = append(list, note{key[6], value})
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	restored := func(lists ...[]note) *failure {
		saved := savedFailures{}
		for _, list := range lists {
			for _, n := range list {
				saved.add(5, n.piece, n.value)
			}
		}
		j := newJournal(time.Now())
		if _, err := j.restoreFailures(saved); err != nil {
			t.Error(err)
		}
		if r := j.failed.rows[5]; r != nil {
			return &failure{votes: r.details}
		}
		return nil
	}
	old := save(1)
	if len(old) < 3 {
		t.Fatalf("%d notes", len(old))
	}
	slices.Reverse(old)
	if f := restored(old); f == nil || !reflect.DeepEqual(f.votes, kept) {
		t.Error("it does not read back the same")
	}
	u.votes = kept[:10]
	fresh := save(2)
	if len(fresh) != 1 {
		t.Fatalf("%d notes", len(fresh))
	}
	for _, f := range []*failure{restored(fresh, old), restored(old, fresh)} {
		if f == nil || len(f.votes) != 10 {
			t.Errorf("with what is left of an older save: %+v", f)
		}
	}
	u.votes = kept
	if f := restored(save(3)[:2], old[2:]); f != nil {
		t.Error("a save that was cut off is put together with another one's rest")
	}
}

// FuzzFailure: whatever lies on the disk is refused or reads back the same.
func FuzzFailure(f *testing.F) {
	one := failure{born: 5, last: 6, repeats: 7, counted: true, keyless: 8, report: Report{
		Message: chain.ID{1}, Quorum: 67, Buffer: 3, Weight: 4, Total: 9, Validators: 2, Took: time.Second, Kind: Unreachable, Err: "no", Unsigned: []byte{1},
	}, votes: []Vote{{NodeIDs: []chain.NodeID{{1}, {2}}, Weight: 3, State: VoteSilent, Code: -2, Took: time.Millisecond, Quarantined: true}}}
	b, err := one.record()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseFailure(b)
		if err != nil {
			return
		}
		again, err := got.record()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := parseFailure(again); err != nil || !reflect.DeepEqual(got, back) {
			t.Errorf("%+v reads back as %+v, %v", got, back, err)
		}
	})
}
