package e2e

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/staking"
	"github.com/ava-labs/avalanchego/utils/constants"
	platformapi "github.com/ava-labs/avalanchego/vms/platformvm/api"

	"quorate/e2e/emit"
	"quorate/e2e/l1"
	"quorate/e2e/localnet"
	"quorate/e2e/quorate"
	"quorate/e2e/verify"
)

const (
	// l1Wait bounds everything that an L1's test waits for but the turns of epochs, and
	// turnWait each of them: the longest wait is for two of the local network's epochs, of
	// 30 s each, of the P-Chain and then of the L1.
	l1Wait   = 2 * time.Minute
	turnWait = 2 * time.Minute
	// settleWait is for what follows from a change on the P-Chain: the server sees
	// it, dials a new validator, forgets an old one.
	settleWait = 20 * time.Second
	// certainWait is within what is certain must be told.
	certainWait = 3 * time.Second

	openNumber, privateNumber = 777001, 777002

	// lateWeight is what the guest that joins weighs after the first change.
	lateWeight = 25
)

// epochTurns is how many turns of an L1's epochs messages are signed over: two, in make
// torture ten.
func epochTurns() int {
	if os.Getenv("QUORATE_TORTURE") != "" {
		return 10
	}
	return 2
}

// The guests, by their place, and what they weigh in the open L1; the last one
// joins later. The last two are also the validators of the private L1.
const (
	heavy = iota
	second
	third
	late
	guestCount
)

var (
	openWeights    = [guestCount]uint64{heavy: 40, second: 30, third: 30, late: 20}
	privateWeights = [guestCount]uint64{third: 60, late: 40}
)

// l1World is two L1s whose validators have no stake on the primary network.
type l1World struct {
	*world
	wallet        *l1.Wallet
	open, private *l1.L1
	guests        []*localnet.Guest
	identity      []byte        // certificate and key that the private L1 admits
	home          *emit.Emitter // on the open L1
	joined        ids.ID        // the validation of the guest that joins
	joinedBy      []byte        // the payload that asked for it
	changes       uint64        // of its weight so far
}

// newL1s makes two subnets with a chain each and starts the nodes that are to
// validate them. It does not convert them, and does not wait for the nodes.
func newL1s(ctx context.Context, t *testing.T, w *world) *l1World {
	t.Helper()
	x := &l1World{world: w}
	var err error
	if x.wallet, err = l1.NewWallet(ctx, w.entry()); err != nil {
		t.Fatal(err)
	}
	if x.open, err = l1.Create(ctx, x.wallet, "open", openNumber, nil); err != nil {
		t.Fatal(err)
	}
	if x.private, err = l1.Create(ctx, x.wallet, "private", privateNumber, nil); err != nil {
		t.Fatal(err)
	}
	plugin, err := localnet.BuildPlugin(ctx, w.release, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	plugins := map[ids.ID]string{constants.SubnetEVMID: plugin}
	admitted := newIdentity(t, &x.identity)
	onlyValidators, err := json.Marshal(map[string]any{"validatorOnly": true, "allowedNodes": []ids.NodeID{admitted}})
	if err != nil {
		t.Fatal(err)
	}
	for _, join := range []localnet.Join{
		{Name: "open", Count: third, Subnets: map[ids.ID]string{x.open.Subnet: ""}, Plugins: plugins},
		{Name: "both", Count: guestCount - third, Plugins: plugins,
			Subnets: map[ids.ID]string{x.open.Subnet: "", x.private.Subnet: string(onlyValidators)}},
	} {
		guests, err := w.Prepare(join)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range guests {
			t.Cleanup(g.Stop)
			if err := g.Start(); err != nil {
				t.Fatal(err)
			}
		}
		x.guests = append(x.guests, guests...)
	}
	return x
}

// newIdentity makes a certificate as the server keeps it, and returns its node ID.
func newIdentity(t *testing.T, pair *[]byte) ids.NodeID {
	t.Helper()
	certificate, key, err := staking.NewCertAndKeyBytes()
	if err != nil {
		t.Fatal(err)
	}
	*pair = slices.Concat(certificate, key)
	loaded, err := staking.LoadTLSCertFromBytes(key, certificate)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := staking.ParseCertificate(loaded.Leaf.Raw)
	if err != nil {
		t.Fatal(err)
	}
	return ids.NodeIDFromCert(parsed)
}

// serve starts a server that signs nothing before it is asked, with the identity
// given or one of its own, and returns when it has printed that it is ready.
func (x *l1World) serve(t *testing.T, identity []byte, args ...string) *server {
	t.Helper()
	dir := testDir(t)
	data := filepath.Join(dir, "data")
	if identity != nil {
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "staker.pem"), identity, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return launch(t, quorate.Config{
		Args: append([]string{"serve", "--http-host", "127.0.0.1", "--http-port", freePort(t),
			"--data-dir", data, "--sign-ahead=false", "--health-check-frequency", "1s"}, args...),
		Ready:   "quorate ready",
		LogPath: filepath.Join(dir, "serve.log"),
	})
}

// convert makes both subnets L1s.
func (x *l1World) convert(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		l1      *l1.L1
		weights [guestCount]uint64
		members []int
	}{{x.open, openWeights, []int{heavy, second, third}}, {x.private, privateWeights, []int{third, late}}} {
		var members []l1.Member
		for _, i := range c.members {
			members = append(members, l1.Member{Node: x.guests[i], Weight: c.weights[i]})
		}
		if err := c.l1.Convert(ctx, x.wallet, members); err != nil {
			t.Fatal(err)
		}
	}
}

// height returns the P-Chain's.
func (x *l1World) height(ctx context.Context, t *testing.T) uint64 {
	t.Helper()
	height, err := x.wallet.Chain.GetHeight(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return height
}

// set returns the validators of a subnet at a height.
func (x *l1World) set(ctx context.Context, t *testing.T, subnet ids.ID, height platformapi.Height) *verify.Verifier {
	t.Helper()
	v, err := verify.Fetch(ctx, x.entry(), subnet, height)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// settled returns when the server's answer for a message of the usual quorum is
// signed by exactly these guests; each message is asked for once.
func (x *l1World) settled(ctx context.Context, t *testing.T, s *server, fresh func() []byte, l *l1.L1, guests ...int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	await(ctx, t, fmt.Sprintf("signed by guests %v", guests), func() (string, bool) {
		unsigned := fresh()
		r := request(unsigned, fullBuffer)
		r.SigningSubnetID = l.Subnet.String()
		signed, err := s.post(t, r).Signed()
		if err != nil {
			return err.Error(), false
		}
		report, err := x.set(ctx, t, l.Subnet, verify.Proposed).Verify(signed, unsigned, quorum, 100)
		if err != nil {
			return err.Error(), false // the set has changed meanwhile
		}
		return fmt.Sprintf("%v", report.Signers), x.are(report.Signers, guests)
	})
}

// are reports whether the signers are these guests.
func (x *l1World) are(signers []ids.NodeID, guests []int) bool {
	var want []ids.NodeID
	for _, i := range guests {
		want = append(want, x.guests[i].NodeID)
	}
	got := slices.Clone(signers)
	slices.SortFunc(got, ids.NodeID.Compare)
	slices.SortFunc(want, ids.NodeID.Compare)
	return slices.Equal(got, want)
}

// fromC returns a source of new messages of the C-Chain.
func (x *l1World) fromC(t *testing.T) func() []byte {
	return func() []byte { return x.emit(t, 1)[0].Unsigned }
}

// fromHome emits one message on the open L1.
func (x *l1World) fromHome(ctx context.Context, t *testing.T, payload []byte) []byte {
	t.Helper()
	messages, err := x.home.Send(ctx, [][]byte{payload})
	if err != nil {
		t.Fatal(err)
	}
	return messages[0].Unsigned
}

// signedBy has a message signed by a subnet at a height, which must work at once.
func signedBy(t *testing.T, s *server, unsigned []byte, subnet ids.ID, height uint64, justification []byte) []byte {
	t.Helper()
	r := request(unsigned, 0)
	r.SigningSubnetID, r.PChainHeight = subnet.String(), height
	r.Justification = hex.EncodeToString(justification)
	answer := s.post(t, r)
	signed, err := answer.Signed()
	if err != nil {
		t.Fatalf("at height %d, after %v: %v\n%s", height, answer.Took, err, s.LogTail())
	}
	t.Logf("signed by subnet %s at height %d in %v", subnet, height, answer.Took.Round(time.Millisecond))
	return signed
}

// reach waits until a chain's epoch is at a P-Chain height or above, and returns
// the epoch's height. An idle chain leaves its epoch only with the second block
// after its end, so block has the chain make one.
func (x *l1World) reach(ctx context.Context, t *testing.T, url, chain string, height uint64, block func()) uint64 {
	t.Helper()
	var at uint64
	await(ctx, t, fmt.Sprintf("the epoch of %s is at P-Chain height %d", chain, height), func() (string, bool) {
		epoch, err := l1.Epoch(ctx, url, chain)
		if err != nil {
			t.Fatal(err)
		}
		at = epoch.PChainHeight
		if at >= height {
			return "", true
		}
		end := time.Unix(epoch.StartTime, 0).Add(l1.EpochDuration)
		if time.Now().After(end) {
			block()
		}
		return fmt.Sprintf("epoch %d is at %d and ends at %v", epoch.Number, at, end), false
	})
	return at
}

// chainsFile names the open L1 to a server, with the node that runs it.
func (x *l1World) chainsFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(testDir(t), "chains.yaml")
	content := fmt.Sprintf("chains:\n  - rpc: %s/ext/bc/%s/rpc\n    blockchain-id: %s\n    subnet-id: %s\n    names: [open]\n",
		x.guests[heavy].URL, x.open.Chain, x.open.Chain, x.open.Subnet)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
