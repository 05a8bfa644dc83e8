package helicon

import (
	"strings"
	"testing"

	"quorate/e2e/helicon/replay"
)

// lastPlain is the last block that was executed before it was accepted.
const lastPlain = 69

// judge compares all that a server serves at the end of the history.
func (s *server) judge(t *testing.T, w *replay.World) {
	t.Helper()
	s.judgeFrom(t, w, 0)
	s.waitPrimary(t, w)
	if err := s.primary(t.Context(), w); err != nil {
		t.Error(err)
	}
}

// judgeFrom compares what a server serves of the C-Chain from a block on.
func (s *server) judgeFrom(t *testing.T, w *replay.World, from int) {
	t.Helper()
	tip := len(w.Blocks) - 1
	s.waitBlock(t, tip)
	var (
		m     misses
		chain struct{ SettledHeight string }
	)
	m.err(s.blocks(t.Context(), w, from, tip))
	m.err(s.get(t.Context(), evmChain, &chain))
	m.want("settledHeight", chain.SettledHeight, w.Blocks[tip].Settled)
	if err := m.join(); err != nil {
		t.Error(err)
	}
}

// TestAcross follows the network before, at and after the activation, by servers on one
// data folder, which is then held against its archive and made again from it.
func TestAcross(t *testing.T) {
	t.Parallel()
	w, dir := world(t), t.TempDir()
	node := startNode(t, w, 60, replay.Lie{})
	for _, tip := range []int{60, lastPlain, lastPlain + 1} {
		node.Advance(tip)
		s := startServer(t, dir, []served{node})
		s.waitBlock(t, tip)
		if err := s.blocks(t.Context(), w, 0, tip); err != nil {
			t.Error("at", tip, err)
		}
		s.stop(t)
	}
	node.Advance(len(w.Blocks))
	s := startServer(t, dir, []served{node})
	s.judge(t, w)
	s.stop(t)
	node.http.Close()
	checkFolder(t, s.data)
	command(t, s.data, "reindex", "all")
	checkFolder(t, s.data)
	s = startServer(t, dir, []served{startNode(t, w, len(w.Blocks), replay.Lie{})})
	s.judge(t, w)
	s.stop(t)
}

// checkFolder checks that the index of a folder is what its archive says.
func checkFolder(t *testing.T, data string) {
	t.Helper()
	out := command(t, data, "check")
	if n := strings.Count(out, " 0 differ"); n == 0 || n != strings.Count(out, " differ") {
		t.Error("check: " + out)
	}
	command(t, data, "verify-data")
}

// TestFresh follows the network only after all of it has happened.
func TestFresh(t *testing.T) {
	t.Parallel()
	w := world(t)
	s := startServer(t, t.TempDir(), []served{startNode(t, w, len(w.Blocks), replay.Lie{})})
	s.judge(t, w)
	s.stop(t)
	checkFolder(t, s.data)
}

// TestKilled ends a server by kill -9 in the midst of the history.
func TestKilled(t *testing.T) {
	t.Parallel()
	w, dir := world(t), t.TempDir()
	node := startNode(t, w, 60, replay.Lie{})
	s := startServer(t, dir, []served{node})
	for _, tip := range []int{lastPlain, lastPlain + 1, 150} {
		node.Advance(tip)
		s.waitBlock(t, max(lastPlain-1, tip-30))
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		s = startServer(t, dir, []served{node})
	}
	node.Advance(len(w.Blocks))
	s.judge(t, w)
	s.stop(t)
	checkFolder(t, s.data)
}
