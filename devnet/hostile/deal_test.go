package hostile

import (
	"slices"
	"testing"
)

func TestDeal(t *testing.T) {
	t.Parallel()
	const wrong, pair, flood = WrongKey, Cancelling, Flood
	for _, tc := range []struct {
		n     int
		kinds []Kind
		want  []Kind
	}{
		{0, nil, []Kind{}},
		{3, []Kind{flood, wrong}, []Kind{flood, wrong, flood}},
		{5, []Kind{pair}, []Kind{pair, pair, pair, pair}}, // the last is honest
		{1, []Kind{pair}, []Kind{}},
		{4, []Kind{wrong, pair}, []Kind{wrong, pair, pair, wrong}},
		{2, []Kind{wrong, pair, flood}, []Kind{wrong, flood}}, // not enough for a pair
		{5, []Kind{pair, wrong, pair}, []Kind{pair, pair, wrong, pair, pair}},
	} {
		all := make([]int, tc.n)
		for i := range all {
			all[i] = 10 + i
		}
		got := []Kind{}
		for k, l := range deal(all, tc.kinds) {
			got = append(got, l.Kind)
			if l.Index != 10+k {
				t.Errorf("%d liars of %v: liar %d is validator %d", tc.n, tc.kinds, k, l.Index)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%d liars of %v: %v, want %v", tc.n, tc.kinds, got, tc.want)
		}
	}
	count := map[Kind]int{}
	for _, l := range deal(make([]int, 32), nil) {
		count[l.Kind]++
	}
	for _, kind := range Kinds() {
		if want := map[Kind]int{pair: 4}[kind]; count[kind] != max(want, 2) {
			t.Errorf("%d of kind %s among 32 liars", count[kind], kind)
		}
	}
}
