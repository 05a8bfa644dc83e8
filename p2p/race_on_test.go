//go:build race

package p2p

// raceEnabled: the race detector makes sync.Pool drop things at random.
const raceEnabled = true
