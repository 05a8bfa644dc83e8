package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/devnet"
	"quorate/devnet/hostile"
	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// hostileNet starts a simulated network and a server that follows it.
func hostileNet(t *testing.T, cfg devnet.Config, args ...string) (*devnet.Devnet, *program) {
	t.Helper()
	cfg.Blocks, cfg.TxsPerBlock = 5, 1
	d, stop, err := startDevnet(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if stop(&err); err != nil {
			t.Error(err)
		}
	})
	// The simulated validators share our cores, and may be slow.
	p := launch(t, "quorate ready", append([]string{"serve", noIndex, "--limits", "request-timeout=60s", "--node-url", d.NodeURL(), "--http-port", "0",
		"--data-dir", t.TempDir(), "--log-display-level", "warn"}, args...)...)
	return d, p
}

// askFor asks for message i and gives the status, the signed message and the error.
func askFor(t *testing.T, url string, d *devnet.Devnet, i uint64, quorum, buffer int) (status int, signed, message string) {
	body := fmt.Sprintf(`{"message":"%x","quorumPercentage":%d,"quorumPercentageBuffer":%d}`, d.Message(i).Bytes(), quorum, buffer)
	status, answer := post(t, url+endpoint1, body)
	signed, _ = answer["signedMessage"].(string)
	return status, signed, fmt.Sprint(answer["message"])
}

// judge verifies signed messages as a destination chain does, with the
// validator set that the simulated network was made with.
type judge struct{ set *valset.Set }

func newJudge(t *testing.T, d *devnet.Devnet) judge {
	t.Helper()
	var members []valset.Member
	for _, v := range d.World().Validators() {
		key := v.Key.PublicKey().Compressed()
		members = append(members, valset.Member{NodeID: v.NodeID, PublicKey: key[:], Weight: v.Weight})
	}
	set, err := valset.New(chain.PrimaryNetworkID, 1, members, valset.NewKeyCache(2000))
	if err != nil {
		t.Fatal(err)
	}
	return judge{set}
}

// valid says why a signed message is not msg signed by a quorum; nil when it is.
func (j judge) valid(signed string, msg *warp.Unsigned, quorum int) error {
	raw, err := hex.DecodeString(strings.TrimPrefix(signed, "0x"))
	if err != nil {
		return err
	}
	m, err := warp.ParseSigned(raw)
	if err != nil {
		return err
	}
	if m.ID() != msg.ID() {
		return fmt.Errorf("another message: %v", m.ID())
	}
	signers, ok := warp.BitsFromSigners(m.Signers, len(j.set.Validators))
	if !ok || !j.set.MeetsQuorum(j.set.Weight(signers), quorum) {
		return fmt.Errorf("no quorum in %x", m.Signers)
	}
	var keys []*bls.PublicKey
	signers.Each(func(i int) { keys = append(keys, j.set.Validators[i].Key) })
	sum, err := bls.DecodeAggregate(m.Signature[:])
	if err != nil {
		return err
	}
	if key := bls.SumKeys(keys); !bls.Verify(&key, bls.HashMessage(m.Bytes()), &sum) {
		return fmt.Errorf("invalid aggregate of %d", len(keys))
	}
	return nil
}

// counters reads the server's metrics, summed over the networks.
func counters(t testing.TB, url string) map[string]float64 {
	t.Helper()
	resp, err := new(http.Client).Get(url + "/ext/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return parseCounters(t, resp.Body)
}

func parseCounters(t testing.TB, r io.Reader) map[string]float64 {
	t.Helper()
	out := make(map[string]float64)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			continue
		}
		out[withoutNetwork(name)] += n
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// withoutNetwork drops the label that tells networks apart.
func withoutNetwork(name string) string {
	base, labels, ok := strings.Cut(strings.TrimSuffix(name, "}"), "{")
	if !ok {
		return name
	}
	var kept []string
	for label := range strings.SplitSeq(labels, ",") {
		if !strings.HasPrefix(label, "network") {
			kept = append(kept, label)
		}
	}
	if len(kept) == 0 {
		return base
	}
	return base + "{" + strings.Join(kept, ",") + "}"
}

// signMany asks for messages from first on, four at a time, and verifies each.
func signMany(t *testing.T, d *devnet.Devnet, url string, first, n, quorum int) {
	t.Helper()
	j := newJudge(t, d)
	gate := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for k := range n {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			i := uint64(first + k) // small
			status, signed, message := askFor(t, url, d, i, quorum, k%3*(100-quorum)/2)
			if status != http.StatusCreated {
				t.Errorf("message %d: status %d, %s", i, status, message)
			} else if err := j.valid(signed, d.Message(i), quorum); err != nil {
				t.Errorf("message %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// caughtAs says how the metrics count each kind, and whether the log names it.
var caughtAs = map[devnet.Kind]struct {
	metric string
	named  bool
}{
	hostile.WrongKey:        {`quorate_aggregator_invalid_total{kind="signature"}`, true},
	hostile.WrongMessage:    {`quorate_aggregator_invalid_total{kind="signature"}`, true},
	hostile.Garbage:         {`quorate_aggregator_invalid_total{kind="encoding"}`, true},
	hostile.Length0:         {`quorate_aggregator_refusals_total{code="0"}`, false}, // an empty answer is a refusal
	hostile.Length1:         {`quorate_aggregator_invalid_total{kind="length"}`, true},
	hostile.Length95:        {`quorate_aggregator_invalid_total{kind="length"}`, true},
	hostile.Length97:        {`quorate_aggregator_invalid_total{kind="length"}`, true},
	hostile.OutsideSubgroup: {`quorate_aggregator_invalid_total{kind="subgroup"}`, true},
	hostile.Infinity:        {`quorate_aggregator_invalid_total{kind="infinity"}`, true},
	hostile.Cancelling:      {"", false}, // not while both are in the sum, which is valid
	hostile.WrongID:         {`quorate_p2p_violations_total{kind="unknown_id"}`, true},
	hostile.Flood:           {`quorate_p2p_violations_total{kind="unknown_id"}`, true},
	hostile.MidFrame:        {`quorate_p2p_questions_expired_total`, false}, // no different from a slow network
	hostile.Oversized:       {unreadable, true},
	hostile.Bomb:            {unreadable, true},
}

// unreadable is the sum of two counters: a bomb that states its size is counted
// as too large, one that does not as malformed.
const unreadable = "too large or malformed"

// allNamed reports whether the log names every liar that it should.
func allNamed(p *program, liars []devnet.Liar) bool {
	log := p.stderr.String()
	return !slices.ContainsFunc(liars, func(l devnet.Liar) bool {
		return caughtAs[l.Kind].named && !strings.Contains(log, l.NodeID.String())
	})
}

// TestHostile: a fifth of the stake lies in every way at once. Every message is
// signed and valid, and every liar is found out.
func TestHostile(t *testing.T) {
	campaign(t)
	d, p := hostileNet(t, devnet.Config{Validators: 100, Byzantine: 0.2})
	// The first message is asked of everyone, the next ones of whom it takes.
	if status, _, message := askFor(t, p.url, d, 0, 67, 33); status != http.StatusCreated {
		t.Fatalf("status %d, %s", status, message)
	}
	signMany(t, d, p.url, 1, torture.Pick(25, 300), 67)
	liars := d.Liars()
	if len(liars) != 20 {
		t.Fatalf("%d liars", len(liars))
	}
	// On a slow machine a lie can come after the answer that it was asked for is
	// given. A quorum of all honest stake asks everyone who is not caught yet.
	for i := uint64(1000); i < 1050 && !allNamed(p, liars); i++ {
		askFor(t, p.url, d, i, 80, 0)
	}
	// Questions that are never answered expire on a clock of their own.
	deadline := time.Now().Add(patience)
	got := counters(t, p.url)
	for got["quorate_p2p_questions_expired_total"] == 0 && time.Now().Before(deadline) {
		<-time.After(100 * time.Millisecond)
		got = counters(t, p.url)
	}
	got[unreadable] = got[`quorate_p2p_violations_total{kind="too_large"}`] + got[`quorate_p2p_violations_total{kind="malformed"}`]
	log := p.stderr.String()
	want := make(map[string]int)
	for _, l := range liars {
		as, known := caughtAs[l.Kind]
		if !known {
			t.Errorf("no word on kind %s", l.Kind)
		}
		if as.metric != "" {
			want[as.metric]++
		}
		n := strings.Count(log, l.NodeID.String())
		if n > 1 || as.named && n == 0 {
			t.Errorf("liar %d, %s, is named %d times", l.Index, l.Kind, n)
		}
		log = strings.ReplaceAll(log, l.NodeID.String(), "liar")
	}
	for metric, n := range want {
		if int(got[metric]) < n {
			t.Errorf("%s is %v with %d such liars", metric, got[metric], n)
		}
	}
	for _, v := range d.World().Validators() {
		if strings.Contains(log, v.NodeID.String()) {
			t.Errorf("honest validator %v is named", v.NodeID)
		}
	}
}

// TestHostileLimit: with all but the quorum lying every message is signed still,
// with one more none is, and the error says so in time.
func TestHostileLimit(t *testing.T) {
	campaign(t)
	t.Run("33", func(t *testing.T) {
		d, p := hostileNet(t, devnet.Config{Validators: torture.Pick(50, 100), Byzantine: 0.33})
		signMany(t, d, p.url, 0, torture.Pick(10, 60), 67)
	})
	t.Run("34", func(t *testing.T) {
		// Not pairs whose errors cancel: with both of them, a sum is valid.
		kinds := slices.DeleteFunc(hostile.Kinds(), func(k devnet.Kind) bool { return k == hostile.Cancelling })
		d, p := hostileNet(t, devnet.Config{Validators: torture.Pick(50, 100), Byzantine: 0.34, Kinds: kinds}, "--limits", "request-timeout=6s")
		var wg sync.WaitGroup
		for i := range uint64(4) {
			wg.Go(func() {
				status, _, message := askFor(t, p.url, d, i, 67, 0)
				if status < 400 || !strings.Contains(message, "quorum of 67% of the stake not reached") {
					t.Errorf("status %d, %s", status, message)
				}
			})
		}
		wg.Wait()
		if status, _, message := askFor(t, p.url, d, 9, 66, 0); status != http.StatusCreated {
			t.Errorf("what 66%% can sign: status %d, %s", status, message)
		}
	})
}

// TestHostilePairs: nobody lies but pairs whose errors cancel, so that sums with
// both are valid. Whoever is asked again for another quorum, every answer holds.
func TestHostilePairs(t *testing.T) {
	campaign(t)
	d, p := hostileNet(t, devnet.Config{Validators: 20, Byzantine: 0.3, Kinds: []devnet.Kind{hostile.Cancelling}})
	j := newJudge(t, d)
	if n := len(d.Liars()); n != 6 {
		t.Fatalf("%d liars", n)
	}
	for i := range uint64(20) {
		// Each answer adds to what is kept of single signatures; larger quorums of
		// the same message use them in other sums.
		for _, quorum := range []int{34, 51, 67, 70} {
			status, signed, message := askFor(t, p.url, d, i, quorum, 0)
			if status != http.StatusCreated {
				t.Errorf("message %d at %d%%: status %d, %s", i, quorum, status, message)
			} else if err := j.valid(signed, d.Message(i), quorum); err != nil {
				t.Errorf("message %d at %d%%: %v", i, quorum, err)
			}
		}
	}
}
