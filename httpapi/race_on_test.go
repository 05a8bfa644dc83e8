//go:build race

package httpapi

// raceEnabled says that the race detector is on.
const raceEnabled = true
