package devnet

import (
	"maps"
	"math"
	"slices"
	"time"

	"quorate/devnet/hostile"
	"quorate/devnet/validator"
	"quorate/devnet/world"
)

// Liar is a validator that lies.
type Liar = hostile.Liar

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
	lies, liars, err := hostile.Deal(w, groups[1], c.Kinds)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(all, lies)
	for i := 0; i < len(w.Validators()) && c.ReadRate > 0; i++ {
		conduct := all[i]
		conduct.ReadRate = c.ReadRate
		all[i] = conduct
	}
	return all, liars, nil
}
