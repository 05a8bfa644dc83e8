// Package vectors makes the examples of encodings that quorate's own codec is held
// to, with the code of libevm, coreth and subnet-evm. The two share nothing: what
// one writes to a file the other reads.
package vectors
