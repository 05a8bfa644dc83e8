package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// pagesWait bounds all visits.
const pagesWait = 20 * time.Minute

// pageFacts are the members of the facts file that pages are about.
type pageFacts struct {
	ChainID, Address, NFTOwner, ERC20Token, NFTContract, ERC1155Contract string
	SpamToken, HostileToken, BlockID, TxHash, FailedTxHash, WarpTxHash   string
	OddTokens                                                            map[string]string
	NodeIDs, RewardAddresses                                             []string
	SubnetID                                                             string
	Signature                                                            struct{ Message string }
}

// pageVisit is what pages.mjs prints of a visit.
type pageVisit struct {
	Page, Scheme, Live      string
	Width, Status, Requests int
	Overflow                int
	Changed                 bool
	Errors, Foreign, Faults []string
}

// paths returns an address of each page.
func (f *pageFacts) paths() []string {
	chain := "/chain/" + f.ChainID
	list := []string{
		"/", "/search?q=2", "/api", "/icm", "/signatures", "/validators", "/ops", "/signatures/message",
		"/primary", "/primary/validators", "/primary/delegations", "/primary/subnets", "/primary/blockchains", "/primary/vertices",
		"/primary/p", "/primary/x", "/primary/c", "/primary/p/block/1", "/primary/x/block/1", "/primary/subnet/" + f.SubnetID,
		chain, chain + "/blocks", chain + "/txs", chain + "/metrics", chain + "/metrics/txCount", chain + "/icm",
		chain + "/block/" + f.BlockID, chain + "/address/" + f.Address, chain + "/token/" + f.ERC20Token,
		chain + "/nft/" + f.NFTContract, chain + "/nft/" + f.ERC1155Contract, chain + "/token/" + f.HostileToken, chain + "/token/" + f.SpamToken,
	}
	for _, hash := range []string{f.TxHash, f.FailedTxHash, f.WarpTxHash} {
		list = append(list, chain+"/tx/"+hash)
	}
	for _, name := range slices.Sorted(maps.Keys(f.OddTokens)) {
		list = append(list, chain+"/token/"+f.OddTokens[name])
	}
	return append(list, "/primary/validator/"+f.NodeIDs[0], "/primary/address/"+f.RewardAddresses[0])
}

// TestPages opens every page in a browser, narrow and wide, light and dark: nothing fails
// in them, nothing is asked of another host, nothing is wider than the screen, there is
// no serious fault of accessibility, and live parts change by themselves. Screenshots stay
// in the folder that is printed, that of QUORATE_SCREENSHOTS if it is set.
func TestPages(t *testing.T) {
	program, browser := installSDKs(t), findBrowser(t)
	s, factsPath, known := serveDevnet(t, "--api-admin-enabled")
	s.waitIndexed(t, known)
	var f pageFacts
	b, err := os.ReadFile(factsPath)
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	judgePages(t, program, browser, s.URL, f.paths(), map[string]string{"/": "#blocks", "/chain/" + f.ChainID: "main", "/signatures": "#rates"})
}

// judgePages visits pages, and those of live until the part that a selector names has
// changed.
func judgePages(t *testing.T, program, browser, server string, paths []string, live map[string]string) {
	t.Helper()
	folder, err := os.Getenv("QUORATE_SCREENSHOTS"), error(nil)
	if folder == "" {
		folder, err = os.MkdirTemp("", "quorate-pages-")
	} else {
		folder = filepath.Join(folder, t.Name())
		err = os.MkdirAll(folder, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("screenshots are in %s", folder)
	visits := visitPages(t, program, browser, server, folder, map[string]any{"visit": paths, "live": live})
	if want := 4*len(paths) + len(live); len(visits) != want {
		t.Errorf("%d visits, want %d", len(visits), want)
	}
	for _, v := range visits {
		what := v.Page + " " + strconv.Itoa(v.Width) + " " + v.Scheme
		if v.Status != 200 {
			t.Errorf("%s: status %d", what, v.Status)
		}
		if len(v.Errors)+len(v.Foreign)+len(v.Faults) > 0 || v.Overflow > 0 {
			t.Errorf("%s: errors %q, requests to others %q, faults %q, %d px too wide", what, v.Errors, v.Foreign, v.Faults, v.Overflow)
		}
		if v.Live != "" && !v.Changed {
			t.Errorf("%s: %s does not change by itself", v.Page, v.Live)
		}
	}
}

// visitPages runs pages.mjs.
func visitPages(t *testing.T, program, browser, server, folder string, list any) []pageVisit {
	t.Helper()
	b, err := json.Marshal(list)
	file := filepath.Join(testDir(t), "pages.json")
	if err == nil {
		err = os.WriteFile(file, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), pagesWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "--experimental-websocket", "--no-warnings", "pages.mjs", browser, server, file, folder)
	cmd.Dir, cmd.WaitDelay = program, time.Second
	// The browser's helpers write into its profile until they end, which may be after it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	if err := cmd.Cancel(); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
	var visits []pageVisit
	for line := range bytes.Lines(out) {
		var v pageVisit
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("pages.mjs printed %s: %v", line, err)
		}
		visits = append(visits, v)
	}
	t.Logf("%d visits in %v", len(visits), time.Since(begin).Round(time.Second))
	return visits
}
