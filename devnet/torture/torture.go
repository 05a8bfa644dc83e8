// Package torture says how far the tests go that repeat one thing many times: a
// server is killed again and again, liars lie in hundreds of messages. Every run of
// the tests takes each of them a short way; make torture takes them all the way.
//
// Each run watches for races in the smallest way of all: the race detector makes a test
// several times as dear, and sees nothing in the thousandth row that the tenth has not shown.
package torture

import "os"

// Variable is the environment variable that asks for the whole way, by any value.
const Variable = "QUORATE_TORTURE"

// Pick returns whole when the whole way is asked for, and short otherwise.
func Pick(short, whole int) int {
	if os.Getenv(Variable) != "" {
		return whole
	}
	return short
}

// Watched returns short under the race detector, where nobody asks for the whole way, and
// whole else. make e2e runs every package that calls it without the detector too.
func Watched(short, whole int) int {
	if raced {
		return Pick(short, whole)
	}
	return whole
}
