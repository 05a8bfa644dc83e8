package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"testing"
	"time"
)

// TestExplorerClients: ethers' provider for Etherscan reads from a server what viem and ethers
// read over chain RPC.
func TestExplorerClients(t *testing.T) {
	beside(t)
	dir := installSDKs(t)
	s, factsPath, f := serveDevnet(t)
	s.waitIndexed(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), sdkWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "explorer.mjs", factsPath)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the program ended with %v:\n%s", err, stderr.Bytes())
	}
	var said struct{ Compared int }
	if err := json.Unmarshal(out, &said); err != nil || said.Compared < 80 {
		t.Errorf("compared %d answers, want 80: %s %v", said.Compared, out, err)
	}
}
