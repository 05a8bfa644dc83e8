package hostile

import (
	"slices"

	"quorate/devnet/validator"
	"quorate/devnet/world"
	"quorate/engine/chain"
)

// totalFlood bounds the answers per second of all floods together.
const totalFlood = 50_000

// Liar is a validator that lies.
type Liar struct {
	Index  int
	NodeID chain.NodeID
	Kind   Kind
}

// Deal hands the kinds to some validators of a network in turn, and returns what each of
// them does; no kinds mean all that lie.
func Deal(w *world.World, validators []int, kinds []Kind) (map[int]validator.Conduct, []Liar, error) {
	liars, floods := deal(validators, kinds), 0
	for _, l := range liars {
		if l.Kind == Flood {
			floods++
		}
	}
	all := make(map[int]validator.Conduct)
	first := -1 // the first of an unfinished cancelling pair
	for k := range liars {
		l := &liars[k]
		v := w.Validators()[l.Index]
		l.NodeID = v.NodeID
		means := Means{
			Own: v.Key, Wrong: w.WrongKey(l.Index), FloodRate: min(DefaultFloodRate, totalFlood/max(floods, 1)),
			Certificate: v.Certificate,
		}
		switch {
		case l.Kind != Cancelling:
		case first < 0:
			first = l.Index
		default:
			means.Wrong, means.Negative, first = w.WrongKey(first), true, -1
		}
		conduct, err := Lie(l.Kind, means)
		if err != nil {
			return nil, nil, err
		}
		all[l.Index] = conduct
	}
	return all, liars, nil
}

// deal hands the kinds to the validators in turn; none means all kinds. The two
// of a cancelling pair follow each other.
func deal(validators []int, kinds []Kind) []Liar {
	if len(kinds) == 0 {
		kinds = Kinds()
	}
	alone := slices.ContainsFunc(kinds, func(k Kind) bool { return k != Cancelling })
	liars := make([]Liar, 0, len(validators))
	for turn := 0; len(validators) > 0; turn++ {
		kind, n := kinds[turn%len(kinds)], 1
		if kind == Cancelling {
			n = 2
		}
		switch {
		case n <= len(validators):
			for _, i := range validators[:n] {
				liars = append(liars, Liar{Index: i, Kind: kind})
			}
			validators = validators[n:]
		case !alone:
			return liars
		}
	}
	return liars
}
