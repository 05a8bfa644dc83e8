// Package bench measures how fast servers sign: it is the work behind "quorate bench
// aggregate". [Run] puts load on a running server and tells how fast it answered. The
// package's tests hold the benchmarks of the whole product and the guard against
// regressions, see "make bench" and "make bench-guard".
//
// There are two ways to load a server. In the closed loop a fixed number of
// clients each send the next request when they have the answer to the last: the
// rate is what the server gives, and a server that stalls is asked less. In the
// open loop requests are due at fixed times, whether or not earlier ones were
// answered, and a latency counts from the time at which a request was due and
// not from when it could be sent. So a stall counts for every request that it
// held up; leaving those out is known as coordinated omission.
package bench
