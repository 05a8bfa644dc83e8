package primary

import "testing"

func TestRestaked(t *testing.T) {
	t.Parallel()
	const much = 300_000_000_999_999
	for _, test := range []struct {
		name                    string
		own, fees, room         uint64
		shares                  uint32
		wantOwn, wantFees, left uint64 // left: of own, by shares alone
	}{
		{"nothing", 101, 51, 1000, 0, 0, 0, 101},
		{"half, rounded up", 101, 51, 1000, 500_000, 51, 26, 50},
		{"as a node did", 377_991, 0, 1 << 50, 500_000, 188_996, 0, 188_995},
		{"everything", 101, 51, 1000, million, 101, 51, 0},
		{"just fits", 100, 50, 150, million, 100, 50, 0},
		{"no room", 100, 50, 0, million, 0, 0, 0},
		{"some room, by parts", 100, 50, 31, million, 20, 11, 0},
		{"half of it has room", 100, 50, 74, 500_000, 49, 25, 50},
		{"nothing at all", 0, 0, 0, million, 0, 0, 0},
		// The parts times the amount need more than 64 bits: the node divides first.
		{"much", much, 0, 1 << 60, 300_000, much - 210_000_000_000_000, 0, 210_000_000_000_000},
		{"much to share", 1 << 62, 1 << 62, 1 << 62, million, 1 << 61, 1 << 61, 0},
	} {
		own, fees := restaked(test.own, test.fees, test.room, test.shares)
		if left := rest(test.own, test.shares); own != test.wantOwn || fees != test.wantFees || left != test.left {
			t.Errorf("%s: %d and %d, %d left; want %d and %d, %d left", test.name, own, fees, left, test.wantOwn, test.wantFees, test.left)
		}
	}
}

// TestRates: the lower rate falls by what the upgrade says, rounded down.
func TestRates(t *testing.T) {
	t.Parallel()
	const at = 1_700_000_000
	s := &State{forks: Forks{Helicon: at}}
	for after, want := range map[int64]uint64{
		-1: 100_000, 0: 100_000, 311: 100_000, 312: 99_999, 451: 99_999, 90*day/2 - 1: 87_501, 90 * day / 2: 87_500,
		90*day - 1: 75_001, 90 * day: 75_000, 1000 * day: 75_000,
	} {
		if got := s.rates(uint64(at + after)); got != [2]uint64{want, maxRate} { // after 1970
			t.Errorf("%d s after: %d, want %d", after, got, want)
		}
	}
	s.forks.Helicon = Never
	if got := s.rates(Never - 1); got != [2]uint64{minRate, maxRate} {
		t.Errorf("without Helicon: %d", got)
	}
}
