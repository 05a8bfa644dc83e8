//go:build race

package main

// raceFactor is how many times as much memory the race detector may take.
const raceFactor = 4
