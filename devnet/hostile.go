package devnet

import (
	"math"
	"slices"
	"time"

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

// conducts says what each validator that is not honest or not well does.
func (c Config) conducts(w *world.World) (map[int]validator.Conduct, []Liar, error) {
	groups := w.Pick(c.Silent, c.Byzantine, c.Slow, c.Flapping, c.Refusing, c.Late)
	for k := range groups {
		groups[k] = slices.DeleteFunc(groups[k], func(i int) bool { _, ok := c.Behaviours[i]; return ok })
	}
	all := make(map[int]validator.Conduct)
	for _, i := range groups[0] {
		all[i] = validator.Conduct{Reply: validator.Silent}
	}
	for _, i := range groups[2] {
		all[i] = validator.Conduct{Reply: validator.Slow(c.SlowDelay)}
	}
	for _, i := range groups[3] {
		// Multiples of the golden ratio spread evenly over 0 to 1, whatever their number.
		_, spread := math.Modf(float64(i) * math.Phi)
		up := time.Duration((0.5 + spread) * float64(c.FlapEvery))
		all[i] = validator.Conduct{Unasked: validator.Flapping(max(up, time.Millisecond))}
	}
	for _, i := range groups[4] {
		all[i] = validator.Conduct{Reply: validator.Refusing(1, "not signed here")}
	}
	emitted := validator.NewEmissions()
	for _, i := range groups[5] {
		all[i] = validator.Conduct{Reply: validator.Late(c.LateBy, emitted)}
	}
	for i, b := range c.Behaviours {
		all[i] = validator.Conduct{Reply: b}
	}
	liars := deal(groups[1], c.Kinds)
	floods := 0
	for _, l := range liars {
		if l.Kind == validator.Flood {
			floods++
		}
	}
	first := -1 // the first of an unfinished cancelling pair
	for k := range liars {
		l := &liars[k]
		v := w.Validators()[l.Index]
		l.NodeID = v.NodeID
		means := validator.Means{
			Own: v.Key, Wrong: w.WrongKey(l.Index), FloodRate: min(validator.DefaultFloodRate, totalFlood/max(floods, 1)),
			Certificate: v.Certificate,
		}
		switch {
		case l.Kind != validator.Cancelling:
		case first < 0:
			first = l.Index
		default:
			means.Wrong, means.Negative, first = w.WrongKey(first), true, -1
		}
		conduct, err := validator.Lie(l.Kind, means)
		if err != nil {
			return nil, nil, err
		}
		all[l.Index] = conduct
	}
	for i := 0; i < len(w.Validators()) && c.ReadRate > 0; i++ {
		conduct := all[i]
		conduct.ReadRate = c.ReadRate
		all[i] = conduct
	}
	return all, liars, nil
}

// deal hands the kinds to the validators in turn; none means all kinds. The two
// of a cancelling pair follow each other.
func deal(validators []int, kinds []Kind) []Liar {
	if len(kinds) == 0 {
		kinds = validator.Kinds()
	}
	alone := slices.ContainsFunc(kinds, func(k Kind) bool { return k != validator.Cancelling })
	liars := make([]Liar, 0, len(validators))
	for turn := 0; len(validators) > 0; turn++ {
		kind, n := kinds[turn%len(kinds)], 1
		if kind == validator.Cancelling {
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
