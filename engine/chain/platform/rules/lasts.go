package rules

import (
	"math"
	"time"
)

// Lasts returns for how long an active L1 validator's balance pays a price of so many nAVAX a
// second, if that stays as it is.
func Lasts(balance, price uint64) time.Duration {
	if price == 0 || balance/price > uint64(math.MaxInt64/time.Second) {
		return math.MaxInt64
	}
	return time.Duration(balance/price) * time.Second
}

// lastingSteps are the times before the end of a balance at which its owner is notified.
var lastingSteps = [...]time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// LastingStep returns the least of the times before the end of a balance, an hour, a day and a
// week, that it lasts for less than; 0 if it lasts longer.
func LastingStep(left time.Duration) time.Duration {
	for _, step := range lastingSteps {
		if left < step {
			return step
		}
	}
	return 0
}
