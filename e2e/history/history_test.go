package history

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/chains"
	"github.com/ava-labs/avalanchego/chains/atomic"
	"github.com/ava-labs/avalanchego/database/memdb"
	"github.com/ava-labs/avalanchego/database/prefixdb"
	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow"
	"github.com/ava-labs/avalanchego/snow/engine/common"
	"github.com/ava-labs/avalanchego/snow/engine/enginetest"
	"github.com/ava-labs/avalanchego/snow/snowtest"
	"github.com/ava-labs/avalanchego/snow/uptime"
	"github.com/ava-labs/avalanchego/snow/validators"
	"github.com/ava-labs/avalanchego/upgrade"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	"github.com/ava-labs/avalanchego/vms/platformvm/block"
	"github.com/ava-labs/avalanchego/vms/platformvm/config"
	pgenesis "github.com/ava-labs/avalanchego/vms/platformvm/genesis"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"

	"quorate/e2e/quorate"
)

var client = &http.Client{Timeout: time.Minute}

// node is the simulated one, asked by HTTP.
type node string

func (n node) call(t *testing.T, path, method, params string) json.RawMessage {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	resp, err := client.Post(string(n)+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return result(t, method, params, resp.Body)
}

func result(t *testing.T, method, params string, body io.Reader) json.RawMessage {
	t.Helper()
	var r struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.NewDecoder(body).Decode(&r); err != nil {
		t.Fatalf("%s %s: %v", method, params, err)
	}
	if len(r.Error) > 0 {
		t.Fatalf("%s %s: %s", method, params, r.Error)
	}
	return r.Result
}

// simulate runs the network and returns its node and genesis bytes.
func simulate(t *testing.T) (node, []byte) {
	t.Helper()
	binary, err := quorate.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "genesis")
	cmd := exec.Command(binary, "devnet", "--http-port", "0",
		"--helicon", "never", // which the release in go.mod does not know
		"--scenario", "{primary-blocks: 1500, height-interval: 0s, l1s: 2, l1-inactive: 1, keyless: 1}",
		"--blocks", "5", "--seed", "7", "--genesis-file", file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	var url string
	if _, err := fmt.Fscanf(out, "devnet ready %s\n", &url); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return node(url), raw
}

// machine is avalanchego's P-Chain.
type machine struct {
	vm      *platformvm.VM
	ctx     *snow.Context
	handler http.Handler
}

func (m *machine) call(t *testing.T, method, params string) json.RawMessage {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, r)
	return result(t, method, params, w.Body)
}

func newMachine(t *testing.T, raw []byte, upgrades upgrade.Config) *machine {
	t.Helper()
	g, err := pgenesis.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	ctx := snowtest.Context(t, ids.Empty)
	ctx.NetworkID = 12345
	for _, tx := range g.Chains {
		alias := strings.TrimSuffix(tx.Unsigned.(*txs.CreateChainTx).ChainName, "-Chain")
		if alias == "X" {
			ctx.XChainID = tx.ID()
		} else {
			ctx.CChainID = tx.ID()
		}
	}
	ctx.AVAXAssetID = g.UTXOs[0].AssetID()
	base := memdb.New() // one for both: they are written together
	ctx.SharedMemory = atomic.NewMemory(prefixdb.New([]byte{1}, base)).NewSharedMemory(ctx.ChainID)
	p := genesis.LocalParams
	m := &machine{ctx: ctx, vm: &platformvm.VM{Internal: config.Internal{
		Chains: chains.TestManager, UptimeLockedCalculator: uptime.NewLockedCalculator(), SybilProtectionEnabled: true,
		Validators: validators.NewManager(), DynamicFeeConfig: p.DynamicFeeConfig, ValidatorFeeConfig: p.ValidatorFeeConfig,
		MinValidatorStake: p.MinValidatorStake, MaxValidatorStake: p.MaxValidatorStake, MinDelegatorStake: p.MinDelegatorStake,
		MinDelegationFee: p.MinDelegationFee, MinStakeDuration: p.MinStakeDuration, MaxStakeDuration: p.MaxStakeDuration,
		RewardConfig: p.RewardConfig, UpgradeConfig: upgrades, UptimePercentage: p.UptimeRequirement,
	}}}
	sender := &enginetest.Sender{
		SendAppGossipF: func(context.Context, common.SendConfig, []byte) error { return nil },
		SendAppErrorF:  func(context.Context, ids.NodeID, uint32, int32, string) error { return nil },
	}
	ctx.Lock.Lock()
	defer ctx.Lock.Unlock()
	if err := m.vm.Initialize(t.Context(), ctx, prefixdb.New([]byte{0}, base), raw, nil, nil, nil, sender); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx.Lock.Lock()
		defer ctx.Lock.Unlock()
		if err := m.vm.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := m.vm.SetState(t.Context(), snow.Bootstrapping); err != nil {
		t.Fatal(err)
	}
	handlers, err := m.vm.CreateHandlers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.handler = handlers[""]
	return m
}

// accept executes a block as a node does that catches up: all but signatures and what
// rests on them is verified.
func (m *machine) accept(raw []byte) error {
	m.ctx.Lock.Lock()
	defer m.ctx.Lock.Unlock()
	b, err := m.vm.ParseBlock(context.Background(), raw)
	if err != nil {
		return err
	}
	if err := b.Verify(context.Background()); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return b.Accept(context.Background())
}

func TestHistory(t *testing.T) {
	n, raw := simulate(t)
	var upgrades upgrade.Config
	if err := json.Unmarshal(n.call(t, "/ext/info", "info.upgrades", "{}"), &upgrades); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, raw, upgrades)
	var height struct {
		Height uint64 `json:"height,string"`
	}
	if err := json.Unmarshal(n.call(t, "/ext/bc/P", "platform.getHeight", "{}"), &height); err != nil {
		t.Fatal(err)
	}
	m.vm.Clock().Set(time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC))
	for h := uint64(1); h <= height.Height; h++ {
		var b struct{ Block string }
		if err := json.Unmarshal(n.call(t, "/ext/bc/P", "platform.getBlockByHeight", fmt.Sprintf(`{"height":%d,"encoding":"hexnc"}`, h)), &b); err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(strings.TrimPrefix(b.Block, "0x"))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.accept(raw); err != nil {
			t.Fatalf("block %d of %d: %v: %s", h, height.Height, err, describe(raw))
		}
	}
	compare(t, n, m)
}

// describe names what is in a block.
func describe(raw []byte) string {
	b, err := block.Parse(block.Codec, raw)
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%T", b)
	for _, tx := range b.Txs() {
		text += fmt.Sprintf(" %T", tx.Unsigned)
	}
	return text
}

// compare asks both the same.
func compare(t *testing.T, n node, m *machine) {
	t.Helper()
	same := func(method, params string) {
		t.Helper()
		a, b := n.call(t, "/ext/bc/P", method, params), m.call(t, method, params)
		if x, y := plain(t, a), plain(t, b); !bytes.Equal(x, y) {
			t.Errorf("%s %s:\nsimulated  %.1500s\navalanchego %.1500s", method, params, x, y)
		}
	}
	for _, method := range []string{"getTimestamp", "getCurrentSupply", "getSubnets", "getBlockchains", "getHeight", "getCurrentValidators", "getTotalStake"} {
		same("platform."+method, "{}")
	}
	var subnets struct{ Subnets []struct{ ID string } }
	if err := json.Unmarshal(m.call(t, "platform.getSubnets", "{}"), &subnets); err != nil {
		t.Fatal(err)
	}
	for _, s := range subnets.Subnets {
		params := fmt.Sprintf(`{"subnetID":%q}`, s.ID)
		same("platform.getCurrentValidators", params)
		same("platform.getTotalStake", params)
		if s.ID != ids.Empty.String() {
			same("platform.getSubnet", params)
		}
	}
}

// plain is JSON without what a node that is alone cannot know, and with lists in one
// order.
func plain(t *testing.T, raw []byte) []byte {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	v = tidy(v)
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tidy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "uptime")
		delete(v, "connected")
		for k := range v {
			v[k] = tidy(v[k])
		}
	case []any:
		for i := range v {
			v[i] = tidy(v[i])
		}
		sort.Slice(v, func(i, j int) bool { return fmt.Sprint(v[i]) < fmt.Sprint(v[j]) })
	}
	return v
}
