package results

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// killEnv names the folder that a child of the test binary writes to.
const killEnv = "QUORATE_TEST_STORE_DIR"

func killEntry(i int) (key, value []byte) {
	return fmt.Appendf(nil, "key %d", i), []byte(strings.Repeat(fmt.Sprintf("value %d ", i), 1+i%100))
}

// TestKill proves what [DB] promises: what was acknowledged before a
// SIGKILL is there afterwards.
func TestKill(t *testing.T) {
	if dir := os.Getenv(killEnv); dir != "" {
		putForEver(dir)
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), killEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked := -1
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "acknowledged %d", &acked); err != nil {
			t.Errorf("the child says %q", lines.Text())
			break
		}
		if acked == 500 {
			if err := cmd.Process.Kill(); err != nil { // further lines may be on their way
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	if acked < 500 {
		t.Fatalf("the child was gone after entry %d", acked)
	}
	r, _ := start(t, dir, Options{})
	for i := range acked + 1 {
		key, value := killEntry(i)
		mustHave(t, r, key, value)
	}
	// The database goes on where it was.
	key, value := killEntry(acked + 10_000)
	if err := r.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
	mustHave(t, r, key, value)
}

// putForEver is the child: it does not return.
func putForEver(dir string) {
	die := func(err error) {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	r, err := Open(dir, Options{})
	if err != nil {
		die(err)
	}
	go func() { die(r.Run(context.Background())) }()
	for i := 0; ; i++ {
		key, value := killEntry(i)
		if err := r.Put(context.Background(), key, value); err != nil {
			die(err)
		}
		if _, err := fmt.Printf("acknowledged %d\n", i); err != nil {
			die(err)
		}
	}
}
