package packaging

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rhysd/actionlint"
)

// root is the folder of the repository.
const root = "../.."

// need skips a test for want of a tool; in CI it fails.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, name := range tools {
		if _, err := exec.LookPath(name); err != nil {
			leaveOut(t, "there is no "+name)
		}
	}
}

func leaveOut(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("left out, which CI does not allow: " + why)
	}
	t.Skip(why)
}

// run runs a command in a folder and returns what it printed.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// TestPackages: the same commit makes the same packages, and dpkg installs the program,
// its user and its configuration, with which it serves.
func TestPackages(t *testing.T) {
	need(t, "dpkg", "rpm", "systemd-sysusers")
	first, second := filepath.Join(t.TempDir(), "dist"), filepath.Join(t.TempDir(), "dist")
	for _, dist := range []string{first, second} {
		env := []string{"DIST=" + dist, "ARCHS=" + runtime.GOARCH, "VERSION=v1.2.3", "SOURCE_DATE_EPOCH=1700000000", "GOFLAGS=-trimpath"}
		run(t, root, env, "packaging/build.sh")
		run(t, dist, nil, "sha256sum", "--check", "SHA256SUMS")
	}
	a, b := read(t, filepath.Join(first, "SHA256SUMS")), read(t, filepath.Join(second, "SHA256SUMS"))
	if a != b || strings.Count(a, "\n") != 4 {
		t.Errorf("not the same:\n%s\n%s", a, b)
	}
	rpm := glob(t, first, "quorate-1.2.3-1.*.rpm")
	if files := run(t, first, nil, "rpm", "--query", "--list", "--package", rpm); !strings.Contains(files, "/usr/bin/quorate\n") {
		t.Errorf("the rpm has\n%s", files)
	}
	archive := glob(t, first, "*.tar.gz")
	if list := run(t, first, nil, "tar", "--list", "--file", archive); !strings.Contains(list, "/man/quorate-serve.1\n") {
		t.Errorf("the tar has\n%s", list)
	}
	unpacked := t.TempDir()
	run(t, first, nil, "tar", "--extract", "--strip-components=1", "--directory="+unpacked, "--file", archive)
	linksHold(t, filepath.Join(unpacked, "doc"))
	if os.Getuid() != 0 {
		leaveOut(t, "only root may change the root folder")
	}
	byRPM := t.TempDir() // without its script, which needs a whole machine of that kind
	run(t, first, nil, "rpm", "--root="+byRPM, "--force-debian", "--nodeps", "--noscripts", "--install", rpm)
	standsAlone(t, filepath.Join(byRPM, "usr/bin/quorate"))
	installed := machine(t)
	run(t, first, nil, "dpkg", "--root="+installed, "--force-depends", "--install", glob(t, first, "quorate_1.2.3_*.deb"))
	standsAlone(t, filepath.Join(installed, "usr/bin/quorate"))
	user := regexp.MustCompile(`(?m)^quorate:[^:]*:(\d+):(\d+):`).FindStringSubmatch(read(t, filepath.Join(installed, "etc/passwd")))
	if user == nil {
		t.Fatal("no user quorate")
	}
	serves(t, installed, id(t, user[1]), id(t, user[2]))
	run(t, first, nil, "dpkg", "--root="+installed, "--remove", "quorate")
	if _, err := os.Stat(filepath.Join(installed, "usr/bin/quorate")); err == nil {
		t.Error("the program is still there")
	}
	if _, err := os.Stat(filepath.Join(installed, "etc/quorate/quorate.yaml")); err != nil {
		t.Error(err) // goes with --purge
	}
}

var link = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)\s]*)?\)`)

// linksHold checks that each link of the documentation leads to a file that is packed, too.
func linksHold(t *testing.T, dir string) {
	t.Helper()
	links := 0
	for _, sub := range []string{"", "docs"} {
		pages, err := filepath.Glob(filepath.Join(dir, sub, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
				links++
				if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
					t.Errorf("%s: %v", page, err)
				}
			}
		}
	}
	if links < 50 {
		t.Errorf("the packed pages have %d links only", links)
	}
}

// machine makes a folder with what the scripts of packages need.
func machine(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"dev", "etc", "tmp", "run", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for file, content := range map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n", "var/lib/dpkg/status": "",
		"dev/null": "", // takes what scripts do not want to know
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	libraries := regexp.MustCompile(`/\S+`)
	for _, tool := range []string{"sh", "chown", "chmod", "systemd-sysusers"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range append(libraries.FindAllString(run(t, "", nil, "ldd", path), -1), path) {
			copyFile(t, file, filepath.Join(dir, file))
		}
		copyFile(t, path, filepath.Join(dir, "bin", tool))
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// standsAlone checks that a program needs no library.
func standsAlone(t *testing.T, program string) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s is not static", program)
		}
	}
}

// serves runs the installed program as its user with the installed folder as its root,
// as a container does, and with the configuration that was installed.
func serves(t *testing.T, dir string, uid, gid uint32) {
	t.Helper()
	data := filepath.Join(dir, "var/lib/quorate") // which systemd makes
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(data, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	program := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "/usr/bin/quorate", args...)
		cmd.Dir, cmd.Env = "/", []string{"QUORATE_DEVNET=true", "QUORATE_HTTP_PORT=0"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: uid, Gid: gid}}
		return cmd
	}
	if out, err := program("version").CombinedOutput(); err != nil || !bytes.HasPrefix(out, []byte("quorate v1.2.3 go")) {
		t.Errorf("version: %v, %s", err, out)
	}
	serve := []string{"serve", "--config-file", "/etc/quorate/quorate.yaml"}
	if out, err := program(append(serve, "--check")...).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("/var/lib/quorate; ")) {
		t.Errorf("check: %v\n%s", err, out)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := program(serve...)
	var log bytes.Buffer
	server.Stderr = &log
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = server.Process.Kill() }) // of one that has ended it is nothing
	line, _ := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "quorate ready ")
	if !ok {
		stop()
		_ = server.Wait() // says that it was killed
		t.Fatalf("not ready: %q\n%s", line, log.Bytes())
	}
	if out, err := program("health", "--alive", "--url", url).CombinedOutput(); err != nil {
		t.Errorf("health: %v\n%s", err, out)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("%v\n%s", err, log.Bytes())
	}
}

func id(t *testing.T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func glob(t *testing.T, dir, pattern string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %q, %v", pattern, list, err)
	}
	return filepath.Base(list[0])
}

// TestWorkflow: the workflow of releases is one that GitHub reads, and runs what there is.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(root, ".github", "workflows", "release.yml")
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	faults, err := linter.LintFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile(`run: make ([a-z-]+)`).FindAllSubmatch(text, -1)
	if len(targets) == 0 {
		t.Error("it makes nothing")
	}
	for _, m := range targets {
		if !bytes.Contains(makefile, append([]byte("\n"), append(m[1], ": "...)...)) {
			t.Errorf("there is no target %s", m[1])
		}
	}
	for _, name := range []string{".ci/run", "packaging/docker/Dockerfile"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil || !bytes.Contains(text, []byte(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
