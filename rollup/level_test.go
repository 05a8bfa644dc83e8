package rollup

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// levelRows are values that were stored in buckets, in any order.
type levelRows map[uint32]byte

// levels reads them as a database would, from a bucket on.
func (r levelRows) levels(newest uint32) *Levels {
	var numbers []uint32
	for n := range r {
		if n <= newest {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	return NewLevels(func() (number uint32, value []byte, ok bool, err error) {
		if len(numbers) == 0 {
			return 0, nil, false, nil
		}
		number, numbers = numbers[0], numbers[1:]
		return number, []byte{r[number]}, true, nil
	})
}

func (l *Levels) figure(number uint32) (f int, ok bool, err error) {
	b, err := l.At(number)
	if b == nil || err != nil {
		return 0, false, err
	}
	return int(b[0]), true, nil
}

func TestBack(t *testing.T) {
	t.Parallel()
	type point struct{ number, now, before int }
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		rows := levelRows{}
		for range rnd.IntN(8) {
			rows[rnd.Uint32N(20)] = byte(rnd.IntN(4))
		}
		newest, most := rnd.Uint32N(25), rnd.IntN(30)
		var want []point // by looking at each bucket from the first on
		level, begun := 0, false
		for n := range newest + 1 {
			before := level
			if v, ok := rows[n]; ok {
				level, begun = int(v), true
			}
			if begun {
				want = append(want, point{int(n), level, before})
			}
		}
		slices.Reverse(want)
		want = want[:min(len(want), most+1)]
		var got []point
		if err := Back(newest, rows.levels(newest).figure, func(n uint32, now, before int) bool {
			got = append(got, point{int(n), now, before})
			return len(got) <= most
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, from bucket %d: %v, want %v", seed, newest, got, want)
		}
	}
}

func TestBackFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("unreadable")
	for left := range 3 {
		l := NewLevels(func() (uint32, []byte, bool, error) {
			if left--; left < 0 {
				return 0, nil, false, broken
			}
			return uint32(10 + 5*left), []byte{1}, true, nil
		})
		if err := Back(20, l.figure, func(uint32, int, int) bool { return true }); !errors.Is(err, broken) {
			t.Errorf("%d rows were read: %v", left, err)
		}
	}
}

func TestBefore(t *testing.T) {
	t.Parallel()
	const day = 24 * 60 * 60
	for _, c := range []struct {
		time, now uint64
		number    uint32
		ok        bool
	}{
		{0, 5*day + 1, 5, true},
		{0, 0, 0, true},
		{6 * day, 5 * day, 5, true},
		{5 * day, 5 * day, 4, true},
		{5*day + 1, 5 * day, 5, true},
		{2 * day, 5 * day, 1, true},
		{day + 1, 5 * day, 1, true},
		{day, 5 * day, 0, false},
		{1, 5 * day, 0, false},
	} {
		if number, ok := Day.Before(c.time, c.now); number != c.number || ok != c.ok {
			t.Errorf("before %d, now %d: %d %v, want %d %v", c.time, c.now, number, ok, c.number, c.ok)
		}
	}
}
