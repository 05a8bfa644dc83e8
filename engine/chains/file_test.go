package chains

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var errFault = errors.New("disk on fire")

// faulty fails a call of one name, before it has been done or after.
type faulty struct {
	osDisk
	call  string
	after bool
	times int // calls left to fail
}

func (f *faulty) do(call string, op func() error) error {
	fail := f.call == call && f.times > 0
	if fail {
		f.times--
		if !f.after {
			return &fs.PathError{Op: call, Path: "/secret/place", Err: errFault}
		}
	}
	err := op()
	if fail && err == nil {
		err = &os.LinkError{Op: call, Old: "/secret/place", New: "/other", Err: errFault}
	}
	return err
}

func (f *faulty) WriteSynced(path string, content []byte) error {
	if f.call == "half" && f.times > 0 { // the disk is full
		f.times--
		return errors.Join(os.WriteFile(path, content[:len(content)/2], 0o600), errFault)
	}
	return f.do("write", func() error { return f.osDisk.WriteSynced(path, content) })
}

func (f *faulty) Rename(from, to string) error {
	return f.do("rename", func() error { return f.osDisk.Rename(from, to) })
}

func (f *faulty) MkdirAll(path string) error {
	return f.do("mkdir", func() error { return f.osDisk.MkdirAll(path) })
}

func (f *faulty) SyncDir(path string) error {
	return f.do("sync", func() error { return f.osDisk.SyncDir(path) })
}

// TestFaults lets every step of a write fail, once with nothing done and once
// with the step done, with and without a file before. Whatever fails: the error
// is told, the names stay, a restart finds what was, and the next alias works.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"mkdir", "write", "half", "sync"} {
		for _, after := range []bool{false, true} {
			for _, first := range []bool{false, true} {
				testFault(t, &faulty{call: call, after: after, times: 1}, first)
			}
		}
	}
	// A rename that has failed has not been done: there is no other form.
	testFault(t, &faulty{call: "rename", times: 1}, false)
	testFault(t, &faulty{call: "rename", times: 1}, true)
}

func testFault(t *testing.T, disk *faulty, first bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "d", "aliases.json")
	want := []string{"X", "avm", idX.String()}
	if !first {
		must(t, newRegistry(t, file).Alias("X", "old"))
		want = append(want, "old")
	}
	r, err := open(file, disk)
	must(t, err)
	follow(t, r)
	err = r.Alias("X", "new")
	if !errors.Is(err, errFault) || strings.Contains(err.Error(), "/") || strings.Contains(err.Error(), "restart") {
		t.Fatalf("%+v: got %v", disk, err)
	}
	wantAliases(t, r, "X", want...)
	if _, ok := r.Lookup("new"); ok {
		t.Errorf("%+v: the refused alias is there", disk)
	}
	wantAliases(t, newRegistry(t, file), "X", want...)
	if left, _ := filepath.Glob(filepath.Dir(file) + "/*.tmp"); len(left) != 0 {
		t.Errorf("%+v: left %v", disk, left)
	}
	must(t, r.Alias("X", "new"))
	want = append(want, "new")
	wantAliases(t, r, "X", want...)
	wantAliases(t, newRegistry(t, file), "X", want...)
}

// TestDiskThatStaysBroken tells the caller that the state after a restart is open.
func TestDiskThatStaysBroken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "aliases.json")
	must(t, newRegistry(t, file).Alias("X", "old"))
	r, err := open(file, &stuck{})
	must(t, err)
	follow(t, r)
	if err := r.Alias("X", "new"); !errors.Is(err, errFault) || !strings.Contains(err.Error(), "may be there after a restart") {
		t.Errorf("got %v", err)
	}
	wantAliases(t, r, "X", "X", "avm", idX.String(), "old")
}

// stuck takes one file and then nothing more.
type stuck struct {
	osDisk
	written bool
}

func (s *stuck) WriteSynced(path string, content []byte) error {
	if s.written {
		return errFault
	}
	s.written = true
	return s.osDisk.WriteSynced(path, content)
}

func (s *stuck) SyncDir(string) error { return errFault }

func TestTemporaryFileIsNoTrap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, target := filepath.Join(dir, "aliases.json"), filepath.Join(dir, "precious")
	must(t, os.WriteFile(target, []byte("keep me"), 0o600))
	must(t, os.Symlink(target, file+".tmp"))
	must(t, newRegistry(t, file).Alias("X", "new"))
	if got, err := os.ReadFile(target); err != nil || string(got) != "keep me" {
		t.Errorf("target of the link: %q, %v", got, err)
	}
	wantID(t, newRegistry(t, file), "new", idX)
}

func TestDamagedFile(t *testing.T) {
	t.Parallel()
	x := idX.String()
	for _, c := range []struct{ content, want string }{
		{"", "damaged"},
		{"null", "version 0"},
		{"[]", "damaged"},
		{"{}", "version 0"},
		{`{"version":2,"aliases":{"new":"form"}}`, "version 2; this program reads version 1"},
		{`{"version":1,"aliases":[]} {}`, "damaged"},
		{`{"version":1,"aliases":[{"chain":"` + x + `","alias":"a"}`, "damaged"},
		{`{"version":1,"names":[]}`, `unknown field "names"`},
		{`{"version":1,"aliases":[{"chain":"nope","alias":"a"}]}`, "alias 0"},
		{`{"version":1,"aliases":[{"chain":"` + x + `","alias":"a"},{"chain":"` + x + `","alias":"a/b"}]}`, "alias 1: alias is not a valid name"},
		{`{"version":1,"aliases":[{"chain":"` + x + `","alias":"a"},{"chain":"` + x + `","alias":"a"}]}`, "alias 1: alias already mapped"},
		{`{"version":1,"aliases":[{"chain":"` + x + `","alias":"` + strings.Repeat("a", 513) + `"}]}`, "too long"},
		{`{"version":1,"aliases":[{"chain":"` + x + `"}]}`, "it is empty"},
		{`{"version":1,"aliases":[` + strings.Repeat(`{},`, maxGiven) + `{}]}`, "too many"},
	} {
		file := filepath.Join(t.TempDir(), "aliases.json")
		must(t, os.WriteFile(file, []byte(c.content), 0o600))
		if _, err := Open(file); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%.80q: got %v, want %q and the file's name", c.content, err, c.want)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != c.content {
			t.Errorf("%.80q: the damaged file was changed", c.content)
		}
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder was read as the file")
	}
}

func FuzzFile(f *testing.F) {
	whole, err := encode([]given{{idX, "one"}, {idP, `two"<ü`}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`{"Version":1,"ALIASES":null}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"version":null,"aliases":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		aliases, err := decode(data)
		if err != nil {
			return
		}
		again, err := encode(aliases)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode(again)
		if err != nil || !slices.Equal(back, aliases) {
			t.Fatalf("%q becomes %q: %v", data, again, err)
		}
		r, err := Open("")
		must(t, err)
		r.table.Store(makeTable(nil, aliases))
		for _, g := range aliases {
			if err := r.Alias(idX.String(), g.alias); err == nil {
				t.Fatalf("%q given to a chain that is not followed", g.alias)
			}
		}
	})
}
