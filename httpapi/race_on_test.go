//go:build race

package httpapi

// raceEnabled tells that the race detector is on.
const raceEnabled = true
