package nodeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/platform"
)

// recordedNetwork is the ID of a real network of avalanchego v1.15.0.
const recordedNetwork = 13338

// local returns JSON of it with addresses as this network writes them.
func local(t *testing.T, text []byte) []byte {
	t.Helper()
	return regexp.MustCompile(`P-custom1[0-9a-z]+`).ReplaceAllFunc(text, func(b []byte) []byte {
		a, err := address.ParseOn(string(b), recordedNetwork, "P")
		if err != nil {
			t.Fatal(err)
		}
		return []byte(pAlias.text(a))
	})
}

// recordedTxs returns the transactions of the network, with their JSON.
func recordedTxs(t *testing.T) (txs []*platform.Tx, texts [][]byte) {
	t.Helper()
	for _, b := range chaintest.Helicon(t, "../../engine/chain/platform/testdata/helicon/p-blocks.jsonl.gz") {
		for _, r := range b.Txs {
			tx, err := platform.ParseTx(r.Tx)
			if err != nil {
				t.Fatal(err)
			}
			txs, texts = append(txs, tx), append(texts, local(t, r.JSON))
		}
	}
	return txs, texts
}

// TestTxJSON compares with what a real node wrote, byte by byte.
func TestTxJSON(t *testing.T) {
	t.Parallel()
	seen := make(map[platform.TxKind]int)
	txs, texts := recordedTxs(t)
	for i, tx := range txs {
		j, err := toJSON(tx)
		if tx.Body.Kind() < platform.KindAddAutoRenewedValidator {
			if err == nil {
				t.Errorf("%v has JSON", tx.Body.Kind())
			}
			continue
		}
		seen[tx.Body.Kind()]++
		got, errGot := json.Marshal(j)
		if err != nil || errGot != nil || !bytes.Equal(got, texts[i]) {
			t.Errorf("%s: got\n%s\nwant\n%s\n%v %v", tx.ID, got, texts[i], err, errGot)
		}
	}
	if len(seen) != 3 {
		t.Errorf("transactions %v", seen)
	}
}

// TestAutoRenewedJSON: the members of a validator, and their order, are those that a real
// node wrote. What its own clock and connections said is left out.
func TestAutoRenewedJSON(t *testing.T) {
	t.Parallel()
	txs, _ := recordedTxs(t)
	compared := 0
	_, c := chains()
	p := &primaryAPI{Server: New(Config{World: must(world.New(world.Params{Validators: 1})), Live: &fakeLive{}}), c: c}
	chaintest.Lines(t, "../../engine/primary/pchain/testdata/helicon-calls.jsonl.gz", func(line []byte) {
		var r struct {
			Result struct{ Validators []json.RawMessage }
		}
		if err := json.Unmarshal(local(t, line), &r); err != nil {
			t.Fatal(err)
		}
		for _, want := range r.Result.Validators {
			var v struct {
				TxID, StartTime, EndTime, Weight, PotentialReward, AccruedDelegateeReward, NextPeriod, AutoCompoundRewardShares, DelegatorCount string
			}
			if err := json.Unmarshal(want, &v); err != nil {
				t.Fatal(err)
			}
			if v.NextPeriod == "" || v.DelegatorCount != "0" {
				continue
			}
			tx := txs[slices.IndexFunc(txs, func(tx *platform.Tx) bool { return tx.ID.String() == v.TxID })]
			body := tx.Body.(*platform.AddAutoRenewedValidator)
			x := &primary.Staker{
				TxID: tx.ID, Tx: tx, NodeID: body.NodeID, Weight: num(t, v.Weight), Start: num(t, v.StartTime), End: num(t, v.EndTime),
				Potential: num(t, v.PotentialReward), DelegateeReward: num(t, v.AccruedDelegateeReward), Fee: body.DelegationFee, Signer: body.Signer,
				Renewal: &primary.Renewal{
					Period: num(t, v.NextPeriod), Restaked: uint32(num(t, v.AutoCompoundRewardShares)), Authority: body.Authority, // small
				},
			}
			got, err := json.Marshal(p.validatorOf(x, nil, false))
			if err != nil {
				t.Fatal(err)
			}
			own := regexp.MustCompile(`"uptime":"[0-9.]+","connected":(true|false)`)
			if got, want := own.ReplaceAll(got, nil), own.ReplaceAll(want, nil); !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			compared++
		}
	})
	if compared < 50 {
		t.Errorf("compared %d validators", compared)
	}
}

func num(t *testing.T, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestRenewedAnswers: what is asked about auto-renewed validators is answered from the
// state: members, outputs of rewards by the transaction that ended a cycle, upgrades.
func TestRenewedAnswers(t *testing.T) {
	t.Parallel()
	w := must(world.New(world.Params{Validators: 5, Seed: 1}))
	helicon := w.GenesisTime().Add(-30 * 24 * time.Hour)
	c := must(primary.Make(primary.Config{World: w, Blocks: 600, Helicon: helicon}))
	w.Follow(c)
	s := New(Config{World: w, Live: &fakeLive{stopped: map[int]bool{}}, Primary: c, Helicon: helicon})
	var upgrades struct{ HeliconTime, GraniteTime string }
	if e := ask(t, s, "/ext/info", "info.upgrades", "{}", &upgrades); e != "" || upgrades.HeliconTime != "2024-12-02T00:00:00Z" || upgrades.GraniteTime > upgrades.HeliconTime {
		t.Errorf("upgrades %+v, %s", upgrades, e)
	}
	var version struct{ Version, RPCProtocolVersion string }
	if e := ask(t, s, "/ext/info", "info.getNodeVersion", "{}", &version); e != "" || version.Version != "avalanchego/1.15.0" || version.RPCProtocolVersion != "46" {
		t.Errorf("version %+v, %s", version, e)
	}
	var current struct {
		Validators []struct {
			TxID, NodeID, NextPeriod, AutoCompoundRewardShares string
			ValidatorAuthority                                 *struct{ Threshold string }
		}
	}
	if e := ask(t, s, "/ext/bc/P", "platform.getCurrentValidators", "{}", &current); e != "" {
		t.Fatal(e)
	}
	shares := make(map[string]bool)
	for _, v := range current.Validators {
		id, err := chain.ParseID(v.TxID)
		if err != nil {
			t.Fatal(err)
		}
		c.Read(func(st *primary.State) {
			r := st.Stakers[id].Renewal
			if (r == nil) != (v.NextPeriod == "") || (r == nil) != (v.ValidatorAuthority == nil) {
				t.Fatalf("%+v of %+v", v, r)
			}
			if r != nil && (fmt.Sprint(r.Period) != v.NextPeriod || fmt.Sprint(r.Restaked) != v.AutoCompoundRewardShares) {
				t.Errorf("%+v of %+v", v, r)
			}
		})
		shares[v.AutoCompoundRewardShares] = true
	}
	if want := []string{"", "0", "1000000", "500000"}; !slices.Equal(slices.Sorted(maps.Keys(shares)), want) {
		t.Errorf("shares %v", shares)
	}
	c.Read(func(st *primary.State) {
		paid := make(map[chain.ID]int)
		for _, x := range st.Stakers {
			for _, r := range x.Rewards {
				if x.Renewal != nil {
					paid[r.TxID]++
				}
			}
		}
		for id, outputs := range paid {
			var got struct{ UTXOs []string }
			if e := ask(t, s, "/ext/bc/P", "platform.getRewardUTXOs", `{"txID":"`+id.String()+`"}`, &got); e != "" || len(got.UTXOs) != outputs {
				t.Errorf("rewards of %s: %+v, %s", id, got, e)
			}
			var tx struct {
				Tx struct {
					ID         string
					UnsignedTx struct{ TxID string }
				}
			}
			if e := ask(t, s, "/ext/bc/P", "platform.getTx", `{"txID":"`+id.String()+`","encoding":"json"}`, &tx); e != "" || tx.Tx.ID != id.String() {
				t.Fatalf("%s: %+v, %s", id, tx, e)
			}
			by := tx.Tx.UnsignedTx.TxID
			if e := ask(t, s, "/ext/bc/P", "platform.getRewardUTXOs", `{"txID":"`+by+`"}`, &got); e != "" || len(got.UTXOs) != 0 {
				t.Errorf("rewards of %s: %+v, %s", by, got, e)
			}
		}
	})
}

// TestUpgradesWithoutBlocks: the upgrade is announced where the P-Chain has no history too.
func TestUpgradesWithoutBlocks(t *testing.T) {
	t.Parallel()
	w := must(world.New(world.Params{Validators: 1}))
	var upgrades struct{ HeliconTime, GraniteTime string }
	s := New(Config{World: w, Live: &fakeLive{}, Helicon: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)})
	if e := ask(t, s, "/ext/info", "info.upgrades", "{}", &upgrades); e != "" || upgrades.HeliconTime != "2025-01-02T03:04:05Z" || upgrades.GraniteTime != "2020-12-05T05:00:00Z" {
		t.Errorf("upgrades %+v, %s", upgrades, e)
	}
}
