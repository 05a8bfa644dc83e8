//go:build !race

package torture

// raced reports whether the race detector watches.
const raced = false
