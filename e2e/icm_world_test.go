package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/upgrade"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/payload"
	"github.com/ava-labs/libevm/accounts/abi"
	"github.com/ava-labs/libevm/common"

	"quorate/e2e/contracts"
	"quorate/e2e/l1"
	"quorate/e2e/localnet"
)

// newICM starts a network, makes the L1 and has a server follow both chains.
func newICM(ctx context.Context, t *testing.T) *icmWorld {
	t.Helper()
	w := &icmWorld{ctx: ctx, t: t}
	var err error
	if w.calls, err = abi.JSON(strings.NewReader(icmCalls)); err != nil {
		t.Fatal(err)
	}
	code, err := contracts.Messenger()
	if err != nil {
		t.Fatal(err)
	}
	placed := map[common.Address][]byte{icmMessenger: code}
	release, err := localnet.Build(ctx, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := localnet.BuildPlugin(ctx, release, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	upgrades := upgrade.Default
	upgrades.GraniteEpochDuration = icmEpoch
	w.Network, err = localnet.Start(ctx, localnet.Config{
		Nodes: icmNodes, Release: release, Dir: testDir(t), Spawner: shared.spawner, Progress: os.Stderr,
		Custom: &localnet.Custom{NetworkID: icmNetwork, ChainNumber: icmCNumber, Upgrades: upgrades, Contracts: placed},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	node := w.Nodes[0].URL
	wallet, err := l1.NewWallet(ctx, node)
	if err != nil {
		t.Fatal(err)
	}
	if w.l1, err = l1.Create(ctx, wallet, "messages", icmL1Number, placed); err != nil {
		t.Fatal(err)
	}
	guest := w.validate(wallet, plugin)
	c, err := info.NewClient(node).GetBlockchainID(ctx, "C")
	if err != nil {
		t.Fatal(err)
	}
	w.c = w.chain(c, fmt.Sprint(icmCNumber), node)
	w.l = w.chain(w.l1.Chain, fmt.Sprint(icmL1Number), guest.URL)
	converted, err := wallet.Chain.GetHeight(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.begin(converted)
	file := filepath.Join(testDir(t), "chains.json")
	writeJSON(t, file, map[string]any{"chains": []any{map[string]any{
		"rpc": w.l.rpc(), "blockchain-id": w.l.id, "subnet-id": w.l1.Subnet, "name": "Messages",
		"token": map[string]any{"name": "Coin", "symbol": "CN", "decimals": 18},
	}}})
	w.s = startIndexer(t, node, "--chains-file", file)
	return w
}

// validate runs the L1's only validator, and has the P-Chain convert the subnet.
func (w *icmWorld) validate(wallet *l1.Wallet, plugin string) *localnet.Guest {
	w.t.Helper()
	guests, err := w.Prepare(localnet.Join{
		Name: "guest", Count: 1, Plugins: map[ids.ID]string{constants.SubnetEVMID: plugin}, Subnets: map[ids.ID]string{w.l1.Subnet: ""},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(guests[0].Stop)
	if err := guests[0].Start(); err != nil {
		w.t.Fatal(err)
	}
	if err := w.l1.Convert(w.ctx, wallet, []l1.Member{{Node: guests[0], Weight: 100}}); err != nil {
		w.t.Fatal(err)
	}
	if err := w.WaitGuests(w.ctx, guests); err != nil {
		w.t.Fatal(err)
	}
	return guests[0]
}

// chain connects to a chain.
func (w *icmWorld) chain(id ids.ID, number, url string) *icmChain {
	w.t.Helper()
	c := &icmChain{id: id, number: number, url: url}
	var err error
	if c.s, err = contracts.NewSession(w.ctx, c.rpc()); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.s.Close)
	return c
}

func (c *icmChain) rpc() string { return c.url + "/ext/bc/" + c.id.String() + "/rpc" }

func (c *icmChain) facts() evmFacts {
	return evmFacts{ChainID: c.number, BlockchainID: c.id.String(), RPCURL: c.rpc()}
}

// begin waits until both chains judge by the L1's validator, which the P-Chain has from
// a height on, and makes the contracts that messages are for.
func (w *icmWorld) begin(height uint64) {
	w.t.Helper()
	inbox, err := contracts.Inbox()
	if err != nil {
		w.t.Fatal(err)
	}
	coin, err := contracts.Coin()
	if err != nil {
		w.t.Fatal(err)
	}
	args, err := contracts.Pack([]string{"string", "string", "uint8", "uint256"}, "Fees", "FEE", uint8(18), wei(1_000_000_000))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range []*icmChain{w.c, w.l} {
		await(w.ctx, w.t, "chain "+c.number+" judges by the L1's validator", func() (string, bool) {
			epoch, err := l1.Epoch(w.ctx, c.url, c.id.String())
			if err != nil {
				w.t.Fatal(err)
			}
			if epoch.PChainHeight >= height {
				return "", true
			}
			w.must(c, contracts.Tx{To: &c.s.Rich.Address, Value: wei(1)}) // an idle chain has no further epoch
			return fmt.Sprintf("epoch %d is at %d", epoch.Number, epoch.PChainHeight), false
		})
		made, err := c.s.Deploy(w.ctx, c.s.Rich, inbox, append(coin[:len(coin):len(coin)], args...))
		if err != nil {
			w.t.Fatal(err)
		}
		c.inbox, c.coin = made[0], made[1]
	}
}

// payload returns what the messenger has put into the warp message.
func (m *icmSent) payload(t *testing.T) []byte {
	t.Helper()
	u, err := warp.ParseUnsignedMessage(m.unsigned)
	if err != nil {
		t.Fatal(err)
	}
	call, err := payload.ParseAddressedCall(u.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return call.Payload
}
