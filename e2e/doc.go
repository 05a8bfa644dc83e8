// Package e2e holds the end-to-end tests: the built binary against five real
// avalanchego nodes, judged by avalanchego's own code.
//
// Run them with make e2e, or here with
//
//	go test -v -count=1 -timeout 25m ./...
//
// They need Linux, Go and a C compiler, Node.js with npm, and a Chromium (tools.sh
// looks for them), and only use loopback addresses. The first run builds
// avalanchego, which takes minutes. One test fills a volume of its own, which takes
// the right to mount one; it is left out without, but for CI, where nothing is. With
// -v the tests also print what they measured.
package e2e
