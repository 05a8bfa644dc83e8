package nodeapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/proposer"
	"quorate/engine/chain/utxo"
)

// chains are made once: what asks a server does not change them.
var chains = sync.OnceValues(func() (*world.World, *primary.Chain) {
	w, err := world.New(world.Params{Validators: 3, Seed: 1, L1s: 1, L1Inactive: 1})
	if err != nil {
		panic(err)
	}
	c, err := primary.Make(primary.Config{World: w, Blocks: 600})
	if err != nil {
		panic(err)
	}
	w.Follow(c)
	return w, c
})

// blockServer is one whose P- and X-Chain have blocks.
func blockServer() (*Server, *world.World, *primary.Chain) {
	w, c := chains()
	return New(Config{World: w, Live: &fakeLive{stopped: map[int]bool{}}, Primary: c}), w, c
}

// ask makes a call, decodes its result and returns the error's text.
func ask(t *testing.T, s *Server, path, method, params string, into any) string {
	t.Helper()
	status, body := rpcCall(s, path, method, params)
	var r struct {
		Result json.RawMessage `json:"result"`
		Error  *rpcError       `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &r); status != 200 || err != nil {
		return fmt.Sprintf("status %d: %s", status, body)
	}
	if r.Error != nil {
		return r.Error.Message
	}
	if err := json.Unmarshal(r.Result, into); err != nil {
		t.Fatalf("%s: %s: %v", method, r.Result, err)
	}
	return ""
}

// unhex reads bytes with a checksum.
func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil || len(b) < 4 {
		t.Fatalf("%q: %v", text, err)
	}
	sum := sha256.Sum256(b[:len(b)-4])
	if string(sum[28:]) != string(b[len(b)-4:]) {
		t.Fatalf("%q: wrong checksum", text)
	}
	return b[:len(b)-4]
}

type gotContainers struct {
	Containers []struct{ ID, Bytes, Index, Encoding string }
}

// TestIndex: the containers of each index are those of the chain, and blocks by
// height are what is in them.
func TestIndex(t *testing.T) {
	t.Parallel()
	s, w, c := blockServer()
	for _, x := range []struct {
		path, chain, service string
		all                  []*primary.Container
	}{
		{"/ext/index/P/block", "/ext/bc/P", "platform", c.Platform()},
		{"/ext/index/X/block", "/ext/bc/" + w.XChainID().String(), "avm", c.AVM()},
		{"/ext/index/X/vtx", "", "", c.Vertices()},
	} {
		var last struct{ ID, Index string }
		if e := ask(t, s, x.path, "index.getLastAccepted", "{}", &last); e != "" || last.ID != x.all[len(x.all)-1].ID.String() ||
			last.Index != fmt.Sprint(len(x.all)-1) {
			t.Errorf("%s: last %+v, %s", x.path, last, e)
		}
		for start := 0; start < len(x.all); start += 1024 {
			var r gotContainers
			if e := ask(t, s, x.path, "index.getContainerRange", fmt.Sprintf(`{"startIndex":"%d","numToFetch":1024,"encoding":"hex"}`, start), &r); e != "" {
				t.Fatal(e)
			}
			for i, got := range r.Containers {
				want := x.all[start+i]
				if raw := unhex(t, got.Bytes); got.ID != want.ID.String() || string(raw) != string(want.Bytes()) || got.Index != fmt.Sprint(start+i) {
					t.Fatalf("%s: container %d is %+v", x.path, start+i, got)
				}
				if x.chain == "" || i%50 > 0 {
					continue
				}
				var b struct{ Block string }
				if e := ask(t, s, x.chain, x.service+".getBlockByHeight", fmt.Sprintf(`{"height":%d}`, start+i+1), &b); e != "" || string(unhex(t, b.Block)) != string(want.Block) {
					t.Fatalf("%s: block %d: %s", x.chain, start+i+1, e)
				}
			}
		}
	}
	for call, want := range map[string]string{
		`getContainerRange {"startIndex":0,"numToFetch":1025}`:       "numToFetch must be in [1,1024] but is 1025",
		`getContainerRange {"startIndex":"999999","numToFetch":"1"}`: fmt.Sprintf("start index (999999) > last accepted index (%d)", len(c.Platform())-1),
		`getContainerByIndex {"index":999999}`:                       "no container at index 999999",
		`getIndex {"id":"` + w.CChainID().String() + `"}`:            "not found",
		`getContainerByID {"id":"` + w.CChainID().String() + `"}`:    "not found",
		`getLastAccepted {"encoding":"json"}`:                        "unsupported encoding in method",
	} {
		method, params, _ := strings.Cut(call, " ")
		if e := ask(t, s, "/ext/index/P/block", "index."+method, params, new(any)); e != want {
			t.Errorf("%s: %q, want %q", call, e, want)
		}
	}
}

// TestPrimaryAnswers compares answers of the P-Chain with its state.
func TestPrimaryAnswers(t *testing.T) {
	t.Parallel()
	s, w, c := blockServer()
	var height struct{ Height string }
	if e := ask(t, s, "/ext/bc/P", "platform.getHeight", "{}", &height); e != "" || height.Height != fmt.Sprint(len(c.Platform())) {
		t.Errorf("height %+v, %s", height, e)
	}
	c.Read(func(st *primary.State) {
		// One subnet after the other: the L1s too.
		for _, id := range append(st.SubnetOrder, chain.PrimaryNetworkID) {
			var r struct{ Validators []map[string]any }
			if e := ask(t, s, "/ext/bc/P", "platform.getCurrentValidators", `{"subnetID":"`+id.String()+`"}`, &r); e != "" {
				t.Fatal(e)
			}
			want := 0
			for _, x := range st.CurrentStakers() {
				if x.Subnet == id && !x.Delegator {
					want++
				}
			}
			for _, v := range st.L1Validators {
				if v.Subnet == id && v.Weight > 0 {
					want++
				}
			}
			if len(r.Validators) != want {
				t.Errorf("subnet %s: %d validators, want %d", id, len(r.Validators), want)
			}
			var chains struct{ BlockchainIDs []string }
			if e := ask(t, s, "/ext/bc/P", "platform.validates", `{"subnetID":"`+id.String()+`"}`, &chains); e != "" {
				t.Error(e)
			}
			for _, b := range chains.BlockchainIDs {
				var by struct{ SubnetID string }
				if e := ask(t, s, "/ext/bc/P", "platform.validatedBy", `{"blockchainID":"`+b+`"}`, &by); e != "" || by.SubnetID != id.String() {
					t.Errorf("chain %s of %s is validated by %+v, %s", b, id, by, e)
				}
			}
		}
		checked := 0
		for id, r := range st.Txs {
			if checked++; checked%40 > 0 {
				continue
			}
			var got struct{ Tx string }
			if e := ask(t, s, "/ext/bc/P", "platform.getTx", `{"txID":"`+id.String()+`"}`, &got); e != "" {
				t.Fatal(e)
			}
			if tx, err := platform.ParseTx(unhex(t, got.Tx)); err != nil || tx.ID != id || tx.Body.Kind() != r.Body.Kind() {
				t.Errorf("transaction %s: %+v, %v", id, tx, err)
			}
		}
		for id, x := range st.Stakers {
			if len(x.Rewards) == 0 || id[0]%8 > 0 {
				continue
			}
			var got struct{ UTXOs []string }
			if e := ask(t, s, "/ext/bc/P", "platform.getRewardUTXOs", `{"txID":"`+id.String()+`"}`, &got); e != "" || len(got.UTXOs) != len(x.Rewards) {
				t.Errorf("rewards of %s: %+v, %s", id, got, e)
			}
		}
	})
	var sum struct{ Stake string }
	if e := ask(t, s, "/ext/bc/P", "platform.getTotalStake", "{}", &sum); e != "" || sum.Stake != fmt.Sprint(3*w.Validators()[0].Weight) {
		t.Errorf("total stake %+v, %s", sum, e)
	}
	for alias, want := range map[string]bool{"P": true, "C": true, "X": true} {
		var got struct{ IsBootstrapped bool }
		if e := ask(t, s, "/ext/info", "info.isBootstrapped", `{"chain":"`+alias+`"}`, &got); e != "" || got.IsBootstrapped != want {
			t.Errorf("%s: %+v, %s", alias, got, e)
		}
	}
	if checks := s.report().Checks; checks["X"].Message == nil {
		t.Errorf("health: %v", checks)
	}
}

// TestUTXOPages: pages of outputs have each of them once, on both chains and between
// them.
func TestUTXOPages(t *testing.T) {
	t.Parallel()
	s, w, c := blockServer()
	for _, on := range []string{"P", "X"} {
		var list []string
		accounts := map[address.Address]bool{}
		for i := range world.Accounts {
			accounts[w.Account(i)] = true
			list = append(list, `"`+alias(on).text(w.Account(i))+`"`)
		}
		want, waiting := 0, 0
		add := func(all map[utxo.Ref]*utxo.UTXO) {
			for _, u := range all {
				if accounts[u.Addresses[0]] {
					want++
				}
			}
		}
		if on == "P" {
			c.Read(func(st *primary.State) { add(st.UTXOs) })
			c.ReadX(func(x *primary.XState) { waiting = len(x.Exported[chain.PlatformChainID]) })
		} else {
			c.ReadX(func(x *primary.XState) { add(x.UTXOs) })
			c.Read(func(st *primary.State) { waiting = len(st.Exported[w.XChainID()]) })
		}
		service := map[string]string{"P": "platform", "X": "avm"}[on] + ".getUTXOs"
		seen, start := map[string]bool{}, "{}"
		for {
			var r struct {
				UTXOs    []string
				EndIndex json.RawMessage
			}
			params := `{"addresses":[` + strings.Join(list, ",") + `],"limit":100,"startIndex":` + start + `}`
			if e := ask(t, s, "/ext/bc/"+on, service, params, &r); e != "" {
				t.Fatal(e)
			}
			for _, u := range r.UTXOs {
				if _, err := utxo.ParseUTXO(unhex(t, u), on == "P"); err != nil {
					t.Fatal(err)
				}
				seen[u] = true
			}
			if start = string(r.EndIndex); len(r.UTXOs) < 100 {
				break
			}
		}
		if len(seen) != want || want < 100 {
			t.Errorf("%s: %d outputs, want %d", on, len(seen), want)
		}
		var r struct{ UTXOs []string }
		source := map[string]string{"P": "X", "X": "P"}[on]
		if e := ask(t, s, "/ext/bc/"+on, service, `{"addresses":[`+strings.Join(list, ",")+`],"sourceChain":"`+source+`"}`, &r); e != "" || len(r.UTXOs) != waiting {
			t.Errorf("%s: %d wait to be imported, want %d: %s", on, len(r.UTXOs), waiting, e)
		}
	}
}

// TestPrimaryTraits: what a node can be like.
func TestPrimaryTraits(t *testing.T) {
	t.Parallel()
	s, _, c := blockServer()
	last := func(path string) string {
		var r struct{ Index, Bytes string }
		if e := ask(t, s, path, "index.getLastAccepted", "{}", &r); e != "" {
			return e
		}
		raw := unhex(t, r.Bytes)
		_, _, ofP := proposer.Open(raw, platform.ParseBlock)
		_, _, ofX := proposer.Open(raw, avm.ParseBlock)
		if all := c.Platform(); ofP == nil && string(raw) != string(all[len(all)-1].Bytes()) && string(raw) != string(all[len(all)-4].Bytes()) || ofP != nil && ofX != nil {
			return "spoilt"
		}
		return r.Index
	}
	n := len(c.Platform())
	for _, x := range []struct {
		traits PrimaryTraits
		want   string
	}{
		{PrimaryTraits{}, fmt.Sprint(n - 1)},
		{PrimaryTraits{NoIndex: true}, "status 404: 404 page not found\n"},
		{PrimaryTraits{Down: true}, "status 503: API call rejected because chain is not done bootstrapping"},
		{PrimaryTraits{Lag: 3}, fmt.Sprint(n - 4)},
		{PrimaryTraits{IndexFrom: 101}, fmt.Sprint(n - 101)},
		{PrimaryTraits{Lag: 1 << 60}, "no containers have been accepted"},
		{PrimaryTraits{Spoilt: true}, "spoilt"},
		{PrimaryTraits{}, fmt.Sprint(n - 1)},
	} {
		s.SetPrimaryTraits(x.traits)
		if got := last("/ext/index/P/block"); got != x.want {
			t.Errorf("%+v: %s, want %s", x.traits, got, x.want)
		}
	}
	s.SetPrimaryTraits(PrimaryTraits{Lag: 5})
	if e := ask(t, s, "/ext/bc/P", "platform.getBlockByHeight", fmt.Sprintf(`{"height":%d}`, n), new(any)); !strings.HasPrefix(e, "couldn't get block at height") {
		t.Errorf("a block that the node does not know yet: %s", e)
	}
}
