// Package soak holds the tests that keep the built binary busy: it follows a chain of
// 400 transactions a second while clients read pages and metrics all the time, and
// its memory has to become flat; pages are read beside a rebuild and a backup; and many
// first pages are open at once.
//
// make e2e takes half a minute for the first, make torture an hour; by hand
//
//	QUORATE_SOAK=20m go test -v -count=1 -timeout 40m -run TestSoakHead ./soak
package soak
