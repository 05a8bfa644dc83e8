// Package torture says how far the tests go that repeat one thing many times: a
// server is killed again and again, liars lie in hundreds of messages. Every run of
// the tests takes each of them a short way; make torture takes them all the way.
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
