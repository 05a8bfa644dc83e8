package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"quorate/devnet"
)

// TestExportFullDisk: an export that fills the disk ends with a reason and gives back its
// room: a smaller one finds it.
func TestExportFullDisk(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 100, TxsPerBlock: 5})
	c, number := cChain(d)
	dir := t.TempDir()
	exports := filepath.Join(dir, "exports")
	s := startChildAs(t, d, dir, ownMounts(), fmt.Sprintf("%s=16k:%s", onTmpfs, exports))
	awaitIndexed(t, s.url, c)
	run := func(addresses []string, from string) exportState {
		t.Helper()
		order := map[string]any{"type": "TRANSACTION_EXPORT_EVM", "options": map[string]any{"addresses": addresses, "includeChains": []string{number}}}
		if from != "" {
			order["firstDate"] = from
		}
		body, err := json.Marshal(order)
		if err != nil {
			t.Fatal(err)
		}
		status, answer := post(t, s.url+"/v1/operations/transactions:export", string(body))
		if status != http.StatusCreated {
			t.Fatalf("%d %s", status, answer)
		}
		var state exportState
		poll(t, 20*time.Millisecond, "the export ends", func() bool {
			state = stateOf(t, s.url, fmt.Sprint(answer["operationId"]))
			return state.Status != "RUNNING"
		})
		return state
	}
	addresses := senders(t, s.url, number, 30)
	for range 3 { // each finds the room of the one before
		state := run(addresses, "")
		if state.Status != "FAILED" || !strings.Contains(state.Message, "no room left") {
			t.Fatalf("%+v", state)
		}
		// The folder as the server sees it.
		inside := fmt.Sprintf("/proc/%d/root%s", s.cmd.Process.Pid, exports)
		var fs syscall.Statfs_t
		if err := syscall.Statfs(inside, &fs); err != nil || fs.Bfree != fs.Blocks || fs.Blocks*uint64(fs.Bsize) != 16<<10 {
			t.Errorf("%d of %d blocks of %d bytes are free, %v", fs.Bfree, fs.Blocks, fs.Bsize, err)
		}
		if files, err := os.ReadDir(inside); err != nil || len(files) != 0 {
			t.Errorf("files: %v, %v", files, err)
		}
	}
	if state := run(addresses[:1], "2024-12-30"); state.Status != "COMPLETED" {
		t.Errorf("with room again: %+v", state)
	}
	s.stop(t)
}
