package container

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/ingest"
	"quorate/engine/primary"
	"quorate/engine/source"
	"quorate/engine/source/container/containertest"
)

// unreadableAt checks that an error is about the block of a height that cannot be read, and
// blames nobody.
func unreadableAt(t *testing.T, err error, height uint64) *ingest.UnreadableError {
	t.Helper()
	var u *ingest.UnreadableError
	if !errors.As(err, &u) || u.Height != height || errors.Is(err, ErrBadAnswer) {
		t.Fatalf("got %v, want block %d unreadable", err, height)
	}
	return u
}

// TestUnreadable: what is below a block of an unknown type is read, with an index and
// without, also when it is the last one, and the node is not blamed.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeFuture(t, 20, 0, 9, 20)
	for _, bare := range []bool{false, true} {
		f := containertest.New(t, primary.PChain, containers)
		f.Genesis, f.NoIndex = genesis, bare
		var log bytes.Buffer
		node, err := source.New(source.Config{Nodes: []source.Endpoint{f.At}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(node.Close)
		c, err := New(Config{Chain: primary.PChain, Node: node, Needs: func() string { return "avalanchego 9.0.0" }})
		if err != nil {
			t.Fatal(err)
		}
		if head, err := c.Tip(t.Context()); err != nil || head.Height != 20 {
			t.Errorf("last block %+v, %v", head, err)
		}
		blocks, err := c.Fetch(t.Context(), 1, 20)
		u := unreadableAt(t, err, 9)
		if len(blocks) != 8 || u.Needs != "avalanchego 9.0.0" || !strings.Contains(u.Error(), "type not allowed: 99") || strings.Contains(u.Error(), "after the end") {
			t.Errorf("%d blocks, %v", len(blocks), u)
		}
		if !bare && (u.Time.Unix() != 9 || u.ID.IsZero()) {
			t.Errorf("%+v: it has a header", u)
		}
		if blocks, err = c.Fetch(t.Context(), 10, 19); err != nil || len(blocks) != 10 {
			t.Errorf("above it: %d blocks, %v", len(blocks), err)
		}
		if log.Len() > 0 {
			t.Errorf("the node is blamed:\n%s", &log)
		}
	}
}

// TestUnreadableHeader: a header of an unknown kind is like a block of an unknown type.
func TestUnreadableHeader(t *testing.T) {
	t.Parallel()
	_, containers := containertest.MakeChain(t, 6, 0)
	containers[3] = bytes.Clone(containers[3])
	containers[3][5] = 7 // the kind of the header
	c := newClient(t, primary.PChain, nil, containertest.New(t, primary.PChain, containers))
	blocks, err := c.Fetch(t.Context(), 1, 6)
	if u := unreadableAt(t, err, 4); len(blocks) != 3 || !strings.Contains(u.Error(), "type not allowed: 7") {
		t.Errorf("%d blocks, %v", len(blocks), u)
	}
}

// TestUnreadableLie: a node with a block that nobody can read is asked last while another
// one has the right block, one that calls its container wrongly gives a bad answer, and one
// that waits for the block does not hide that another one's cannot be read.
func TestUnreadableLie(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeChain(t, 12, 0)
	_, future := containertest.MakeFuture(t, 12, 0, 9)
	liar, honest := containertest.New(t, primary.PChain, future), containertest.New(t, primary.PChain, containers)
	liar.Genesis, honest.Genesis = genesis, genesis
	c := newClient(t, primary.PChain, nil, liar, honest)
	for range 3 {
		if blocks, err := c.Fetch(t.Context(), 9, 9); err != nil || len(blocks) != 1 {
			t.Fatalf("%d blocks, %v", len(blocks), err)
		}
	}
	if n := liar.Count("index.getContainerRange"); n > 1 {
		t.Errorf("the liar was asked %d times", n)
	}
	for _, f := range []*fake{liar, honest} {
		f.Set(func(f *fake) { f.NoIndex = true })
	}
	c = newClient(t, primary.PChain, nil, liar, honest)
	for range 3 {
		if blocks, err := c.Fetch(t.Context(), 9, 9); err != nil || len(blocks) != 1 {
			t.Fatalf("without an index: %d blocks, %v", len(blocks), err)
		}
	}

	slow := containertest.New(t, primary.PChain, containers[:8])
	slow.Genesis = genesis
	c = newClient(t, primary.PChain, nil, slow, containertest.New(t, primary.PChain, future))
	_, err := c.Fetch(t.Context(), 9, 9)
	unreadableAt(t, err, 9)
	if !errors.Is(err, ingest.ErrNotFound) {
		t.Errorf("a node waits for it: %v", err)
	}

	wrong := containertest.New(t, primary.PChain, future)
	wrong.Spoil = func(_ string, m map[string]any) {
		if list, ok := m["containers"].([]map[string]any); ok {
			for _, e := range list {
				e["id"] = chain.ID(sha256.Sum256([]byte(e["id"].(string)))).String()
			}
		}
	}
	c = newClient(t, primary.PChain, nil, wrong)
	if blocks, err := c.Fetch(t.Context(), 9, 9); !errors.Is(err, ErrBadAnswer) || len(blocks) > 0 {
		t.Errorf("another ID: %d blocks, %v", len(blocks), err)
	}
}

// TestUnreadableIncomplete: in an index that is not complete a block that cannot be read
// says no height, so what is below it is asked for one by one.
func TestUnreadableIncomplete(t *testing.T) {
	t.Parallel()
	genesis, containers := containertest.MakeFuture(t, 20, 0, 15, 20)
	f := containertest.New(t, primary.PChain, containers)
	f.Genesis, f.Drop = genesis, func(h uint64) bool { return h < 4 }
	c := newClient(t, primary.PChain, nil, f)
	var got []uint64
	for from := uint64(1); ; {
		blocks, err := c.Fetch(t.Context(), from, 18)
		for _, b := range blocks {
			got = append(got, b.Link().Height)
		}
		if err != nil {
			unreadableAt(t, err, 15)
			break
		}
		if from += uint64(len(blocks)); len(blocks) == 0 || from > 18 {
			break
		}
	}
	if !slices.Equal(got, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}) {
		t.Errorf("got blocks %v", got)
	}
}
