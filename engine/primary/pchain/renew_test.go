package pchain

import (
	"reflect"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/primary"
)

// Rows of stakers of before renewals are read.
func TestStakerOfBefore(t *testing.T) {
	t.Parallel()
	want := &staker{accrued: 5, paid: 7}
	want.TxID, want.Start, want.End, want.Weight = chain.ID{1}, 10, 20, 30
	b := want.encode(nil)
	b = b[:len(b)-1] // which says that there is no renewal
	b[0] = stakerVersion - 1
	if got, err := decodeStaker(want.TxID, b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	want.Renewal = &primary.Renewal{Since: 1, Restaked: 2, Period: 3, Rewards: 4, Shares: 5}
	if got, err := decodeStaker(want.TxID, want.encode(nil)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// What room there is below the largest stake is divided between what a validator earned
// itself and its share, as avalanchego does it: the first rounded down, the other the rest.
func TestRestaked(t *testing.T) {
	t.Parallel()
	const most = 3_000_000_000_000_000
	for _, e := range []struct {
		weight, gross, accrued uint64
		share                  uint32
		reward, fee            uint64
	}{
		{2_000_000_000_000, 377_991, 0, 500_000, 188_996, 0}, // half of it rounded up: what is paid is rounded down
		{2_000_000_000_000, 377_991, 521, 0, 0, 0},
		{2_000_000_000_000, 377_991, 521, 1_000_000, 377_991, 521},
		{2_000_000_000_000, 377_991, 521, 250_000, 94_498, 131},
		{most, 1000, 500, 1_000_000, 0, 0},
		{most + 1, 1000, 500, 1_000_000, 0, 0},
		{most - 1500, 1000, 500, 1_000_000, 1000, 500},
		{most - 1499, 1000, 500, 1_000_000, 999, 500},
		{most - 1, 1000, 500, 1_000_000, 0, 1},
		{most - 10, 0, 500, 500_000, 0, 10},
		{most - 1_000_000_000_000, 1 << 60, 1 << 60, 1_000_000, 500_000_000_000, 500_000_000_000},
	} {
		s := &staker{accrued: e.accrued}
		s.Weight, s.Gross, s.Renewal = e.weight, e.gross, &primary.Renewal{Restaked: e.share}
		if reward, fee := restaked(s, most); reward != e.reward || fee != e.fee {
			t.Errorf("%+v: got %d and %d", e, reward, fee)
		}
	}
}
