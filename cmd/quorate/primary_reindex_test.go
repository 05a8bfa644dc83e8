package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	devprimary "quorate/devnet/primary"
	"quorate/devnet/torture"
	"quorate/devnet/world"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// damagePrimary changes one row of each chain of the primary network in a folder that
// no server uses.
func damagePrimary(t *testing.T, dir string) (chains int) {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, "index"), smallStore)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, kind := range []primary.Kind{primary.PChain, primary.XVertices, primary.XChain, primary.CChain} {
		c, err := primary.OpenChain(db, primary.Config{ID: primary.RowsID(world.NetworkID, kind)})
		if err != nil {
			t.Fatal(err)
		}
		b, err := db.Batch()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Set(c.Space().Key(store.PrimaryTxs).Place(primary.Place{Height: 1 << 40}), []byte{byte(kind)}); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		b.Discard()
		chains++
	}
	return chains
}

// killCommand starts a command in a process of its own and kills it later, if it has not
// ended by then, in whatever way.
func killCommand(t *testing.T, later time.Duration, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	select {
	case <-time.After(later):
		_ = cmd.Process.Kill() // it may have ended just now
		<-ended
	case <-ended:
	}
}

// TestPrimaryReindex: rows of the primary network are compared and made again like those
// of other chains, by the server and without one, with the genesis that it was given;
// however often that is killed, the rows are the same in the end.
func TestPrimaryReindex(t *testing.T) {
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{
		Blocks: 5, Validators: 2, PrimaryBlocks: torture.Pick(240, 3000), HeightInterval: time.Hour, BlockInterval: time.Hour,
	})
	dir := t.TempDir()
	genesis := fmt.Sprintf("%d=%s", world.NetworkID, writeFile(t, "genesis", fmt.Sprintf("%x", d.Genesis())))
	run := func(do func(url string), args ...string) {
		t.Helper()
		c := startChild(t, d, dir, append(args, "--log-display-level", "fatal")...)
		awaitPrimary(t, d, c.url)
		do(c.url)
		awaitPrimary(t, d, c.url)
		c.stop(t)
	}
	say := func(want int, args ...string) string {
		t.Helper()
		code, out, told := command(t, nil, append(args, "--data-dir", dir)...)
		if code != want {
			t.Fatalf("%v: exit code %d: %s%s", args, code, out, told)
		}
		return string(out) + told
	}
	clean := func() {
		t.Helper()
		said := say(exitDone, "check")
		for _, name := range []string{"p", "x", "vertices", "c"} {
			if !strings.Contains(said, "chain network-12345-"+name+": ") || strings.Contains(said, "network-12345-"+name+": 0 rows") {
				t.Errorf("check does not compare %s:\n%s", name, said)
			}
		}
	}
	run(func(url string) {
		awaitTold(t, url)
		fees := map[string]uint64{}
		d.Primary().Read(func(s *devprimary.State) { fees["p"] = s.Burned })
		d.Primary().ReadX(func(s *devprimary.XState) { fees["x"] = uint64(len(s.Txs)) * 1_000_000 })
		for kind, want := range fees {
			_, body := get(t, url+"/v2/networks/fuji/metrics/"+kind+"ChainCumulativeFeesBurned?pageSize=1")
			var points struct{ Results []struct{ Value uint64 } }
			if err := json.Unmarshal(body, &points); err != nil || len(points.Results) != 1 || points.Results[0].Value != want || want == 0 {
				t.Errorf("fees of the %s-chain: %s, want %d", kind, body, want)
			}
		}
		for _, args := range [][]string{{"reindex", "primary"}, {"reindex", "all"}, {"reindex", "all", "--chain", "network-12345-x"}} {
			d.Primary().Grow(10)
			if said := say(exitDone, args...); !strings.Contains(said, "chain network-12345-x: made again from ") {
				t.Errorf("%v: %s", args, said)
			}
		}
		if said := say(exitDone, "reindex"); strings.Contains(said, "network-12345") {
			t.Errorf("nothing is stale: %s", said)
		}
		say(exitFailed, "reindex", "--chain", "network-7-p")
		say(exitUsage, "reindex", "--chain", "network-12345-q")
	}, "--genesis-file", genesis)
	clean()
	want := primaryDigests(t, d, dir)
	wantSets(t, d, dir)
	for name, sum := range primaryDigests(t, d, dir) {
		if w := want[name]; !bytes.Equal(sum[:], w[:]) {
			t.Errorf("to print validators changes the rows of %s", name)
		}
	}

	chains := damagePrimary(t, dir)
	if said := say(exitFailed, "check"); strings.Count(said, " 1 differ\n") != chains || strings.Count(said, "follows from no block") != chains {
		t.Errorf("check of damaged rows:\n%s", said)
	}
	if said := say(exitFailed, "check", "--chain", "network-12345-x"); strings.Count(said, " differ\n") != 1 {
		t.Errorf("check of one chain:\n%s", said)
	}
	start := time.Now()
	killCommand(t, time.Hour, "reindex", "primary", "--chain", "network-12345-x", "--data-dir", dir)
	took := 3 * time.Since(start)
	rnd := rand.New(rand.NewPCG(3, 11))
	for i := range torture.Pick(3, 30) {
		order := [][]string{{"reindex", "primary"}, {"check"}}[i%2]
		killCommand(t, time.Duration(rnd.Int64N(int64(took))), append(order, "--data-dir", dir)...)
	}
	run(func(string) {}) // the genesis is known from the folder
	say(exitDone, "reindex", "primary")
	clean()
	for name, sum := range primaryDigests(t, d, dir) {
		if w := want[name]; !bytes.Equal(sum[:], w[:]) {
			t.Errorf("the rows of %s are others", name)
		}
	}
	kept, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(kept, func(f os.DirEntry) bool { return strings.HasPrefix(f.Name(), "genesis-") })
	if i < 0 {
		t.Fatal("no genesis is kept")
	}
	if err := os.Remove(filepath.Join(dir, kept[i].Name())); err != nil {
		t.Fatal(err)
	}
	if said := say(exitFailed, "check", "--chain", "network-12345-p"); !strings.Contains(said, "genesis") {
		t.Error(said)
	}
}

// awaitTold waits until a server shows what its node says of the validators.
func awaitTold(t *testing.T, url string) {
	t.Helper()
	poll(t, 100*time.Millisecond, "uptimes and versions are shown", func() bool {
		_, body := get(t, url+"/v1/networks/fuji/validators?validationStatus=active&pageSize=100")
		var page struct {
			Validators []struct {
				UptimePerformance  *float64
				AvalancheGoVersion string
			}
		}
		if err := json.Unmarshal(body, &page); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		all, uptimes, versions := len(page.Validators), map[float64]bool{}, 0
		for _, v := range page.Validators {
			if v.UptimePerformance == nil {
				return false
			}
			uptimes[*v.UptimePerformance] = true
			if v.AvalancheGoVersion == "avalanchego/1.14.2" {
				versions++
			}
		}
		_, body = get(t, url+"/v1/networks/fuji")
		return all > 0 && uptimes[100] && uptimes[99.5] && versions == 2 && bytes.Contains(body, []byte(`"version":"avalanchego/1.14.2"`))
	})
}
