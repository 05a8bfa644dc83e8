package nodeapi

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"quorate/devnet/world"
	"quorate/engine/chain"
)

// oddServer serves a network with everything that validator sets may hold: 1 and
// 2 share a key, 4 and 5 have none, 3 is an inactive member of the L1, 2 an
// underfunded one.
func oddServer(t *testing.T) (*Server, *world.World) {
	t.Helper()
	w, err := world.New(world.Params{
		Validators: 6, Seed: 1, L1s: 1, L1Members: 4, L1Inactive: 1, L1Underfunded: 1, SharedKeys: 1, Keyless: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{World: w, Live: &fakeLive{}}), w
}

// result decodes the result of one call.
func result(t *testing.T, s *Server, method, params string, into any) string {
	t.Helper()
	_, body := rpcCall(s, "/ext/bc/P", method, params)
	reply := struct{ Result any }{into}
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatal(err)
	}
	return body
}

func TestOddSets(t *testing.T) {
	t.Parallel()
	s, w := oddServer(t)
	v, l1 := w.Validators(), w.L1s()[0].SubnetID.String()
	key := func(i int) string { return "0x" + hex.EncodeToString(v[i].PublicKey[:]) }

	type entry struct {
		PublicKey string
		Weight    string
		NodeIDs   []string
	}
	var all struct {
		ValidatorSets map[string]struct {
			Validators  []entry
			TotalWeight string
		}
	}
	result(t, s, "platform.getAllValidatorsAt", `{"height":"proposed"}`, &all)
	for _, tc := range []struct {
		subnet, total, shared string
		entries               int
	}{
		{chain.PrimaryNetworkID.String(), "12000000000000000", "4000000000000000", 3}, // 0, 1 with 2, and 3
		{l1, "400", "200", 2}, // 0, and 1 with 2
	} {
		set := all.ValidatorSets[tc.subnet]
		if len(set.Validators) != tc.entries || set.TotalWeight != tc.total {
			t.Errorf("%s: %d entries, total %s: %+v", tc.subnet, len(set.Validators), set.TotalWeight, set)
		}
		found := false
		for _, e := range set.Validators {
			if e.PublicKey == key(1) {
				found = true
				if len(e.NodeIDs) != 2 || e.NodeIDs[0] != v[1].NodeID.String() || e.NodeIDs[1] != v[2].NodeID.String() || e.Weight != tc.shared {
					t.Errorf("%s: the shared key's entry is %+v", tc.subnet, e)
				}
			}
		}
		if !found {
			t.Errorf("%s: no entry for the shared key", tc.subnet)
		}
	}

	type member struct {
		PublicKey *string
		Weight    string
	}
	members := map[string]member{}
	body := result(t, s, "platform.getValidatorsAt", `{"height":0,"subnetID":"`+l1+`"}`, &members)
	if len(members) != 4 {
		t.Errorf("members of the L1: %s", body)
	}
	if want := `"NodeID-111111111111111111116DBWJs":{"publicKey":null,"weight":"100"}`; !strings.Contains(body, want) {
		t.Errorf("the inactive are not %s: %s", want, body)
	}
	if _, ok := members[v[3].NodeID.String()]; ok {
		t.Error("an inactive validator is in the set under its own name")
	}
	clear(members)
	body = result(t, s, "platform.getValidatorsAt", `{"height":0}`, &members)
	for i := range v {
		m, ok := members[v[i].NodeID.String()]
		switch {
		case !ok || len(members) != 6:
			t.Errorf("validator %d: %s", i, body)
		case i >= 4 && m.PublicKey != nil:
			t.Errorf("validator %d has key %s", i, *m.PublicKey)
		case i < 4 && (m.PublicKey == nil || *m.PublicKey != key(i)):
			t.Errorf("validator %d: %s", i, body)
		}
	}
}

// TestOddCurrent: an inactive L1 validator keeps name and key among the current
// ones, and a keyless primary network validator has no signer.
func TestOddCurrent(t *testing.T) {
	t.Parallel()
	s, w := oddServer(t)
	v, l := w.Validators(), w.L1s()[0]
	var current struct {
		Validators []map[string]any
	}
	result(t, s, "platform.getCurrentValidators", `{"subnetID":"`+l.SubnetID.String()+`"}`, &current)
	if len(current.Validators) != 4 {
		t.Fatalf("%d current members", len(current.Validators))
	}
	for i, balance := range []string{"1000000000", "1000000000", "1000", "0"} {
		m := current.Validators[i]
		if m["nodeID"] != v[i].NodeID.String() || m["balance"] != balance || m["weight"] != "100" ||
			m["publicKey"] != "0x"+hex.EncodeToString(v[i].PublicKey[:]) || m["validationID"] != l.Members[i].ValidationID.String() {
			t.Errorf("member %d: %v, want balance %s", i, m, balance)
		}
	}
	current.Validators = nil
	result(t, s, "platform.getCurrentValidators", `{}`, &current)
	for i, m := range current.Validators {
		if _, ok := m["signer"]; ok != (i < 4) {
			t.Errorf("validator %d: signer %v", i, m["signer"])
		}
	}
}
