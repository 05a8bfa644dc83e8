package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"quorate/engine/archive"
)

// dataFolder makes a data folder with an archive, keys and kept results.
func dataFolder(t *testing.T) (dir string, cfg Config) {
	t.Helper()
	dir = t.TempDir()
	a, err := archive.Open(filepath.Join(dir, "archive", "chain"), archive.Options{Kind: archive.KindEVM, SegmentBytes: 300})
	if err != nil {
		t.Fatal(err)
	}
	for h := range byte(30) {
		b := archive.Block{Height: uint64(h), ID: [32]byte{h + 1}, Parent: [32]byte{h}, Data: bytes.Repeat([]byte{h}, 40)}
		if err := a.Append(context.Background(), []archive.Block{b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"token.key": "secret", "aliases.json": "{}", "staker.pem": "identity", "other": "not copied"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, Config{
		DataDir: dir,
		Free:    func(string) (uint64, error) { return 1 << 40, nil },
		Results: func(_ context.Context, w io.Writer) error { _, err := io.WriteString(w, "results"); return err },
	}
}

func restoreConfig(dir string) RestoreConfig {
	return RestoreConfig{DataDir: dir, Results: func(dir string, r io.Reader) error {
		b, err := io.ReadAll(r)
		return errors.Join(err, os.WriteFile(filepath.Join(dir, "made"), b, 0o600))
	}, Disown: func(dir string) error { return os.WriteFile(filepath.Join(dir, "disowned"), nil, 0o600) }}
}

func content(t *testing.T, name ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(name...))
	if err != nil {
		return ""
	}
	return string(b)
}

// checkRestored checks what came of a backup of dataFolder without its identity.
func checkRestored(t *testing.T, dir string) {
	t.Helper()
	if content(t, dir, "token.key") != "secret" || content(t, dir, "results", "made") != "results" ||
		content(t, dir, "staker.pem") == "identity" || content(t, dir, "other") != "" {
		t.Error("other files were restored")
	}
	a, err := archive.Open(filepath.Join(dir, "archive", "chain"), archive.Options{Kind: archive.KindEVM, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if found, err := a.Verify(context.Background(), nil); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
	if last, _, _ := a.Last(); last != 29 {
		t.Errorf("up to block %d", last)
	}
	if Pending(dir) != nil || content(t, dir, stagingName, completeName) != "" {
		t.Error("the restore is not finished")
	}
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	_, cfg := dataFolder(t)
	to := t.TempDir()
	m, err := ToDir(t.Context(), cfg, to)
	if err != nil {
		t.Fatal(err)
	}
	copied := int64(0)
	cfg.Progress = func(done, _ int64) { copied = done }
	if _, err := ToDir(t.Context(), cfg, to); err != nil {
		t.Fatal(err)
	}
	if copied >= m.Bytes()/2 {
		t.Errorf("%d of %d bytes were copied again", copied, m.Bytes())
	}
	if _, err := Check(to); err != nil {
		t.Error(err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	if err := FromDir(t.Context(), restoreConfig(dir), to); err != nil {
		t.Fatal(err)
	}
	checkRestored(t, dir)
	if err := FromDir(t.Context(), restoreConfig(dir), to); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("got %v", err)
	}

	var stream bytes.Buffer
	if _, err := ToStream(t.Context(), cfg, &stream); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "new")
	for _, cut := range []int{0, 700, stream.Len() / 2, stream.Len() - 2000} {
		if err := FromStream(t.Context(), restoreConfig(dir), bytes.NewReader(stream.Bytes()[:cut])); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %v", cut, err)
		}
		if content(t, dir, "token.key") != "" {
			t.Error("a part of a backup was put into place")
		}
	}
	full := restoreConfig(dir)
	full.Free = func(string) (uint64, error) { return minFree, nil }
	if err := FromStream(t.Context(), full, bytes.NewReader(stream.Bytes())); err == nil || !strings.Contains(err.Error(), "must stay free") {
		t.Errorf("without room: %v", err)
	}
	if err := FromStream(t.Context(), restoreConfig(dir), &stream); err != nil {
		t.Fatal(err)
	}
	checkRestored(t, dir)
}

// TestOneOwner: a second server has neither the identity nor webhooks and operations of the
// first, unless it is the same one.
func TestOneOwner(t *testing.T) {
	t.Parallel()
	data, cfg := dataFolder(t)
	cfg.Identity = true
	to := t.TempDir()
	if _, err := ToDir(t.Context(), cfg, to); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"results/000001.sst": "made by Badger", "results/LOCK": "123", "index/MANIFEST": "index", "exports/file": "an export", "genesis-00000005": "genesis"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(data, name)), 0o700), os.WriteFile(filepath.Join(data, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, how := range []struct {
		name string
		same bool
		fill func(RestoreConfig) error
	}{
		{"restored", false, func(r RestoreConfig) error { return FromDir(t.Context(), r, to) }},
		{"restored as the same", true, func(r RestoreConfig) error { return FromDir(t.Context(), r, to) }},
		{"cloned", false, func(r RestoreConfig) error { return Clone(t.Context(), r, data) }},
	} {
		dir := filepath.Join(t.TempDir(), "new")
		r, left := restoreConfig(dir), ""
		r.Same, r.Left = how.same, func(name string) { left += name }
		if err := how.fill(r); err != nil {
			t.Fatal(how.name, err)
		}
		_, disowned := os.Stat(filepath.Join(dir, "results", "disowned"))
		if has := content(t, dir, "staker.pem") != ""; has != how.same || (disowned != nil) != how.same {
			t.Errorf("%s: the identity is there: %v; %v", how.name, has, disowned)
		}
		clone := how.name == "cloned"
		if (left == identityName) != (!how.same && !clone) || content(t, dir, "token.key") != "secret" {
			t.Errorf("%s: %q was left out", how.name, left)
		}
		if content(t, dir, "index", "MANIFEST") == "index" != clone || content(t, dir, "genesis-00000005") == "genesis" != clone ||
			content(t, dir, "exports", "file")+content(t, dir, "results", "LOCK")+content(t, dir, "other") != "" {
			t.Errorf("%s: other files are there", how.name)
		}
	}
}

// TestCloneHoles: the logs of a database that was not closed are mostly holes.
func TestCloneHoles(t *testing.T) {
	t.Parallel()
	data, _ := dataFolder(t)
	path := filepath.Join(data, "index", "000001.vlog")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, before := file.WriteAt([]byte("begin"), 0)
	_, middle := file.WriteAt([]byte("middle"), 1<<20+5)
	if err := errors.Join(before, middle, file.Truncate(1<<30), file.Close()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	r := restoreConfig(dir)
	r.Free = func(string) (uint64, error) { return minFree + 8<<20, nil }
	if err := Clone(t.Context(), r, data); err != nil {
		t.Fatal(err)
	}
	got, err := os.Open(filepath.Join(dir, "index", "000001.vlog"))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	st, err := got.Stat()
	b := make([]byte, 1<<20+11)
	if _, short := io.ReadFull(got, b); err != nil || short != nil || st.Size() != 1<<30 ||
		string(b[:5]) != "begin" || string(b[1<<20+5:]) != "middle" || len(bytes.Trim(b[5:1<<20+5], "\x00")) > 0 {
		t.Errorf("%d bytes, %v, %v", st.Size(), err, short)
	}
	if taken := st.Sys().(*syscall.Stat_t).Blocks * 512; taken > 8<<20 {
		t.Errorf("the copy takes %d bytes", taken)
	}
}

// Files of the archive are replaced while a server is backed up, for example by larger
// ones.
func TestReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	dir, cfg := dataFolder(t)
	replaced := false
	cfg.Progress = func(int64, int64) {
		if replaced {
			return
		}
		replaced = true
		a, err := archive.Open(filepath.Join(dir, "archive", "chain"), archive.Options{Kind: archive.KindEVM, SegmentBytes: 300})
		if err != nil {
			t.Fatal(err)
		}
		var blocks []archive.Block
		for h := range byte(30) {
			blocks = append(blocks, archive.Block{Height: uint64(h), ID: [32]byte{h + 1}, Parent: [32]byte{h}, Data: bytes.Repeat([]byte{h, h ^ 0xff, 7}, 40)})
		}
		if err := errors.Join(a.Replace(t.Context(), blocks), a.Close()); err != nil {
			t.Fatal(err)
		}
	}
	to := t.TempDir()
	if _, err := ToDir(t.Context(), cfg, to); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "new")
	if err := FromDir(t.Context(), restoreConfig(restored), to); err != nil {
		t.Fatal(err)
	}
	checkRestored(t, restored)
}

// A backup does not go into what it is of.
func TestBackupInside(t *testing.T) {
	t.Parallel()
	dir, cfg := dataFolder(t)
	for _, to := range []string{dir, filepath.Join(dir, "backup"), filepath.Join(dir, "archive", "..", "..", filepath.Base(dir))} {
		if _, err := ToDir(t.Context(), cfg, to); err == nil || !strings.Contains(err.Error(), "in the data folder") {
			t.Errorf("%s: %v", to, err)
		}
	}
	if _, err := ToDir(t.Context(), cfg, dir+"-backup"); err != nil {
		t.Error(err)
	}
}

// TestBackupOfNothing: a folder with nothing to copy, as of a volume that is not mounted,
// is an error, and takes the place of no backup. Nor is it called sound.
func TestBackupOfNothing(t *testing.T) {
	t.Parallel()
	_, cfg := dataFolder(t)
	to := t.TempDir()
	before, err := ToDir(t.Context(), cfg, to)
	if err != nil {
		t.Fatal(err)
	}
	empty := Config{DataDir: t.TempDir(), Free: cfg.Free}
	if _, err := ToDir(t.Context(), empty, to); !errors.Is(err, errNothing) {
		t.Errorf("into a folder: %v", err)
	}
	if _, err := ToStream(t.Context(), empty, io.Discard); !errors.Is(err, errNothing) {
		t.Errorf("as a stream: %v", err)
	}
	if after, err := readManifest(to); err != nil || len(after.Files) != len(before.Files) {
		t.Errorf("the backup before: %+v, %v", after, err)
	}
	if err := FromDir(t.Context(), restoreConfig(t.TempDir()), to); err != nil {
		t.Error(err)
	}
	if err := VerifyData(t.Context(), VerifyConfig{DataDir: empty.DataDir}); !errors.Is(err, errNothing) {
		t.Errorf("verified: %v", err)
	}
}

func TestNoRoom(t *testing.T) {
	t.Parallel()
	_, cfg := dataFolder(t)
	cfg.Free = func(string) (uint64, error) { return minFree, nil }
	if _, err := ToDir(t.Context(), cfg, t.TempDir()); err == nil || !strings.Contains(err.Error(), "free") {
		t.Errorf("got %v", err)
	}
}

// TestInterruptedBackup ends a backup early: the one before it stays whole.
func TestInterruptedBackup(t *testing.T) {
	t.Parallel()
	dir, cfg := dataFolder(t)
	to := t.TempDir()
	if _, err := ToDir(t.Context(), cfg, to); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "token.key"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Progress = func(done, _ int64) {
		if done > 0 {
			cancel()
		}
	}
	if _, err := ToDir(ctx, cfg, to); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := Check(to); err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(t.TempDir(), "new")
	if err := FromDir(t.Context(), restoreConfig(into), to); err != nil {
		t.Fatal(err)
	}
	checkRestored(t, into)
}

// TestUnfinishedRestore goes on with a restore that was ended while it put files into place.
func TestUnfinishedRestore(t *testing.T) {
	t.Parallel()
	_, cfg := dataFolder(t)
	to := t.TempDir()
	if _, err := ToDir(t.Context(), cfg, to); err != nil {
		t.Fatal(err)
	}
	for stopped := range 6 {
		dir := t.TempDir()
		for _, name := range []string{"index/old", "archive/old", "token.key"} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		r := restoreConfig(dir)
		r.Force = true
		moved := 0
		r.moved = func() error {
			if moved++; moved > stopped {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
		err := FromDir(t.Context(), r, to)
		if err != nil {
			if Pending(dir) == nil {
				t.Fatalf("stopped after %d: %v, and a server would start", stopped, err)
			}
			r.moved = nil
			if err := FromDir(t.Context(), r, "not needed"); err != nil {
				t.Fatal(err)
			}
		}
		checkRestored(t, dir)
		if content(t, dir, "index", "old") != "" || content(t, dir, "archive", "old") != "" {
			t.Error("the old index or archive is left")
		}
	}
}

func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	_, cfg := dataFolder(t)
	to := t.TempDir()
	m, err := ToDir(t.Context(), cfg, to)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{manifestName}, m.Files[0].stored(), m.Files[len(m.Files)-1].stored()) {
		path := filepath.Join(to, filepath.FromSlash(name))
		was := content(t, path)
		bad := []byte(was)
		bad[len(bad)/2] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "new")
		if err := FromDir(t.Context(), restoreConfig(dir), to); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := Check(to); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v", name, err)
		}
		if err := os.WriteFile(path, []byte(was), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"../x", "/etc/passwd", "archive/../x", "archive/a/../b", "index/x", "archive/a/b/c", ""} {
		if checkName(name) == nil {
			t.Errorf("%q is a name", name)
		}
	}
}
