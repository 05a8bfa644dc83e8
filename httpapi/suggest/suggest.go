// Package suggest tells mistyped names from unknown ones: a name of six letters or
// more that is within two letters of a known one was most likely meant to be that,
// and is worth an error; anything else is somebody else's.
package suggest

import "github.com/agnivade/levenshtein"

const (
	// minLetters is the least length of a name that is compared: short words are too
	// often near each other by chance.
	minLetters = 6
	// maxLetters bounds the work on names that come from outside.
	maxLetters = 64
	// maxDistance is how many letters may differ.
	maxDistance = 2
)

// Nearest returns the known name that an unknown one was most likely meant to be,
// the first of several that are as near, and whether there is one.
func Nearest[S ~[]string](name string, known S) (nearest string, ok bool) {
	if len(name) < minLetters || len(name) > maxLetters {
		return "", false
	}
	best := maxDistance + 1
	for _, k := range known {
		if diff := len(k) - len(name); diff > maxDistance || diff < -maxDistance {
			continue
		}
		if d := levenshtein.ComputeDistance(name, k); d > 0 && d < best {
			nearest, best = k, d
		}
	}
	return nearest, best <= maxDistance
}
