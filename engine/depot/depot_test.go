package depot

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quorate/engine/archive"
	"quorate/engine/archive/container"
	"quorate/engine/primary"
	"quorate/engine/source/container/containertest"
)

// server is an archive and what it has of a depot.
type server struct {
	*archive.Archive
	d   *Depot
	of  Held
	c   *Chain
	tmp string
}

func newServer(t *testing.T, dir, name string) *server {
	t.Helper()
	d, err := Open("file://"+dir, S3{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(t.TempDir(), archive.Options{Kind: archive.KindPlatform, SegmentBytes: 5000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	of := Held{5, name, archive.KindPlatform}
	s := &server{a, d, of, d.Chain(of), t.TempDir()}
	s.c.Heights = 16
	return s
}

// blocks are those of a made-up P-Chain from height 1 on.
func blocks(t *testing.T, n int, salt uint64) (list []archive.Block) {
	t.Helper()
	_, raw := containertest.MakeChain(t, n, salt)
	for i, b := range raw {
		p, err := primary.Parse(primary.PChain, b)
		if err != nil {
			t.Fatal(i, err)
		}
		list = append(list, container.BlockOf(p))
	}
	return list
}

func (s *server) copy(t *testing.T) (c *Copy, refused *[]error) {
	refused = new([]error)
	c = &Copy{Archive: s.Archive, Dir: s.tmp, Depot: s.d, Of: s.of, chain: s.c, OnRefused: func(err error) { *refused = append(*refused, err) }}
	t.Cleanup(func() {
		left, err := os.ReadDir(s.tmp)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the folder of what is on its way: %v, %v", left, err)
		}
	})
	return c, refused
}

// putAll puts all whole spans that the depot lacks, and returns how many.
func (s *server) putAll(t *testing.T) (n int) {
	t.Helper()
	c, _ := s.copy(t)
	c.OnPut = func(Object) { n++ }
	upTo, _, _ := s.Last()
	if err := c.Push(t.Context(), upTo, func(uint64, uint64) bool { return true }); err != nil {
		t.Fatal(err)
	}
	return n
}

// takeAll takes all spans, and returns what was refused.
func (s *server) takeAll(t *testing.T, begin uint64) []error {
	t.Helper()
	c, refused := s.copy(t)
	if err := c.Pull(t.Context(), begin); err != nil {
		t.Fatal(err)
	}
	return *refused
}

func (s *server) check(t *testing.T, want []archive.Block) {
	t.Helper()
	first, _, ok := s.First()
	last, _, _ := s.Last()
	if len(want) == 0 && !ok {
		return
	}
	if n := int(last - first + 1); n != len(want) || first != want[0].Height {
		t.Fatalf("blocks %d to %d, not %d from %d on", first, last, len(want), want[0].Height)
	}
	err := s.Read(t.Context(), first, last, func(b archive.Block) error {
		if w := want[b.Height-first]; w.ID != b.ID || w.Parent != b.Parent || string(w.Data) != string(b.Data) {
			t.Errorf("block %d is another one", b.Height)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, s *server, list []archive.Block) {
	t.Helper()
	for len(list) > 0 {
		n := min(7, len(list))
		if err := s.Append(t.Context(), list[:n]); err != nil {
			t.Fatal(err)
		}
		list = list[n:]
	}
}

// TestPutTake: what two servers have put a third one takes: all of it, what it lacks, or from
// a block in the middle on.
func TestPutTake(t *testing.T) {
	t.Parallel()
	dir, all := t.TempDir(), blocks(t, 120, 1)
	a, b := newServer(t, dir, "P"), newServer(t, dir, "P")
	appendTo(t, a, all[:50])
	if n := a.putAll(t); n != 3 { // 1 to 15, 16 to 31, 32 to 47
		t.Errorf("%d spans were put", n)
	}
	appendTo(t, b, all[20:])
	if n := b.putAll(t); n != 4 {
		t.Errorf("%d further spans were put", n)
	}
	if n := a.putAll(t) + b.putAll(t); n != 0 {
		t.Errorf("%d spans were put again", n)
	}
	whole := all[:111]
	for _, begun := range []int{0, 1, 15, 16, 40, 110} {
		s := newServer(t, dir, "P")
		appendTo(t, s, all[:begun])
		if refused := s.takeAll(t, 0); len(refused) > 0 {
			t.Error(refused)
		}
		s.check(t, whole)
	}
	s := newServer(t, dir, "P")
	if refused := s.takeAll(t, 40); len(refused) > 0 {
		t.Error(refused)
	}
	s.check(t, all[39:111])
	if of := newServer(t, dir, "X"); len(of.takeAll(t, 0)) > 0 {
		t.Error("a chain has spans of another one")
	}
}

// TestNotes: notes come along, each once; what was taken is not put again.
func TestNotes(t *testing.T) {
	t.Parallel()
	dir, all := t.TempDir(), blocks(t, 20, 1)
	a, b := newServer(t, dir, "P"), newServer(t, dir, "P")
	appendTo(t, a, all)
	want := ""
	for i, text := range []string{"one", "two", "three"} {
		if err := a.AddNotes(t.Context(), []archive.Note{{Height: uint64(70 - i), Type: archive.NoteType(1 + i%2), Data: []byte(text)}}); err != nil {
			t.Fatal(err)
		}
		want += text + " "
		a.putAll(t)
		a.putAll(t)
		b.takeAll(t, 0)
		b.takeAll(t, 0)
		b.putAll(t)
		a.takeAll(t, 0)
		for _, s := range []*server{a, b} {
			got := ""
			if err := s.Notes(t.Context(), func(n archive.Note) error { got += string(n.Data) + " "; return nil }); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
	}
	if _, notes, err := a.c.List(t.Context()); err != nil || len(notes) != 3 || notes[0].First != 68 {
		t.Errorf("%v, %v", notes, err)
	}
}

// TestRefused: an object that was changed at any place, cut off, renamed, or is of another
// chain is refused by its name, a good one of the same blocks is taken in its place, and no
// block is wrong.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir, all, other := t.TempDir(), blocks(t, 40, 1), blocks(t, 40, 2)
	a := newServer(t, dir, "P")
	appendTo(t, a, all)
	a.putAll(t)
	spans, _, err := a.c.List(t.Context())
	if err != nil || len(spans) != 2 {
		t.Fatal(spans, err)
	}
	o := newServer(t, t.TempDir(), "P")
	appendTo(t, o, other)
	o.putAll(t)
	foreign, _, err := o.c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(dir, spans[1].Name)
	good, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	bad, err := os.ReadFile(filepath.Join(string(o.c.store.(folder)), foreign[1].Name))
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, content []byte, named bool) {
		t.Helper()
		name := second
		if named { // whoever spoils it gives it the name that fits
			sum := fmt.Sprintf("%x", sha256.Sum256(content))[:sumLen]
			name = filepath.Join(filepath.Dir(second), filepath.Base(second)[:firstLen+1]+sum+spanSuffix)
			if name == second {
				return
			}
		}
		if err := errors.Join(os.Remove(second), os.WriteFile(name, content, 0o600)); err != nil {
			t.Fatal(err)
		}
		s := newServer(t, dir, "P")
		if refused := s.takeAll(t, 0); len(refused) != 1 || !strings.Contains(refused[0].Error(), filepath.Base(name)) {
			t.Errorf("%s: %v", what, refused)
		}
		s.check(t, all[:15])
		if err := os.WriteFile(second, good, 0o600); err != nil {
			t.Fatal(err)
		}
		if named { // with the good one beside it
			s := newServer(t, dir, "P")
			s.takeAll(t, 0)
			s.check(t, all[:31])
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for at := 0; at < len(good); at += 1 + len(good)/25 {
		spoiled := append([]byte(nil), good...)
		spoiled[at] ^= 1 << (at % 8)
		try("a bit", spoiled, false)
		try("a bit, with its sum", spoiled, true)
		try("cut", good[:at], true)
	}
	try("of another chain", bad, true)
	first, err := os.ReadFile(filepath.Join(dir, spans[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	try("of other heights", first, true)
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, dir, "P")
	appendTo(t, s, all[:15])
	missing := 0
	o2, err := s.c.Take(t.Context(), spans, s.Archive, 0, s.tmp, func(err error) {
		if missing++; !errors.Is(err, ErrMissing) {
			t.Error(err)
		}
	})
	if o2 != nil || err != nil || missing != 1 {
		t.Errorf("missing: %v, %v", o2, err)
	}
}

// TestVerify: of spans of the same blocks the larger one is taken, and the others can be
// removed, but not for one that is not sound.
func TestVerify(t *testing.T) {
	t.Parallel()
	dir, all := t.TempDir(), blocks(t, 40, 1)
	a := newServer(t, dir, "P")
	appendTo(t, a, all)
	a.putAll(t)
	spans, _, err := a.c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The same blocks with more in them, and something larger that is none.
	b := newServer(t, dir, "P")
	p, err := primary.ParseArchived(primary.PChain, all[20].Height, all[20].Parent, all[20].Data)
	if err != nil {
		t.Fatal(err)
	}
	p.Accepted = 5
	all[20] = container.BlockOf(p)
	if err := b.Append(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if _, err := b.c.Put(t.Context(), b.Archive, 16, 31, b.tmp); err != nil {
		t.Fatal(err)
	}
	if _, err := b.c.put(t.Context(), b.tmp, 16, spanSuffix, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 100_000))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if s, err := a.c.Sum(t.Context()); err != nil || s.First != 1 || s.Last != 31 || s.Spans != 2 || s.Twins != 2 || s.Missing != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, want := range []struct {
		prune bool
		Verified
	}{{false, Verified{3, 0}}, {true, Verified{2, 1}}, {true, Verified{2, 0}}} {
		refused := 0
		v, err := a.c.Verify(t.Context(), a.tmp, want.prune, func(err error) {
			if refused++; !errors.Is(err, ErrRefused) {
				t.Error(err)
			}
		})
		if err != nil || v != want.Verified || refused != 1 {
			t.Errorf("%+v, %d refused, %v", v, refused, err)
		}
	}
	if left, _, err := a.c.List(t.Context()); err != nil || len(left) != len(spans)+1 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "s3://", "s3:///x", "file://host/x", "file://x", "/tmp", "http://x/y", "s3://b/p?x=1", "s3://user:secret@b/p", "\x00"} {
		if d, err := Open(bad, S3{}); !errors.Is(err, ErrURL) {
			t.Errorf("%q: %v, %v", bad, d, err)
		}
	}
	for _, good := range []string{"s3://bucket", "s3://bucket/a/b/", "file:///tmp/x"} {
		if d, err := Open(good, S3{}); err != nil || d.String() != good {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"localhost:9000", "ftp://x", "http://", "http://x/path"} {
		if _, err := Open("s3://bucket", S3{Endpoint: bad}); err == nil {
			t.Errorf("endpoint %q", bad)
		}
	}
	d, err := Open("file://"+t.TempDir(), S3{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.Chain(Held{1, "P", archive.KindPlatform}).List(ctx); err != nil { // nothing is there
		t.Error(err)
	}
}
