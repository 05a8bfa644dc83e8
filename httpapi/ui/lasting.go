package ui

import (
	"time"

	"quorate/engine/chain/platform/rules"
)

// lasting shows for how long a balance lasts: amber in its last week, red in its last day.
func lasting(left time.Duration) cell {
	c := cell{Text: since(left), Kind: "badge"}
	switch step := rules.LastingStep(left); {
	case left == 0:
		c.Text, c.Mark = "out of balance", "bad"
	case step == 0:
		c.Mark = "ok"
	case step > 24*time.Hour:
		c.Mark = "warn"
	default:
		c.Mark = "bad"
	}
	return c
}
