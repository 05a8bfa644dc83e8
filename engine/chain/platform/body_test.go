package platform

import (
	"reflect"
	"slices"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/utxo"
)

// What a transaction says of itself is what its members hold, whatever its type: a type that
// has a stake says so, and nothing is said that is not there.
func TestBodies(t *testing.T) {
	t.Parallel()
	var all []*Tx
	add := func(raw []byte) {
		tx, err := ParseTx(raw)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tx)
	}
	for _, e := range golden(t).Txs {
		add(e.Bytes)
	}
	for _, b := range chaintest.Helicon(t, heliconBlocks) {
		for _, tx := range b.Txs {
			add(tx.Tx)
		}
	}
	seen := map[TxKind]bool{}
	for _, tx := range all {
		seen[tx.Body.Kind()] = true
		checkBody(t, tx.Body)
	}
	if len(seen) != 23 {
		t.Errorf("examples of %d kinds", len(seen))
	}
}

func checkBody(t *testing.T, b Body) {
	t.Helper()
	members := reflect.ValueOf(b).Elem()
	same := func(name string, got any) {
		t.Helper()
		want := members.FieldByName(name)
		if !want.IsValid() {
			want = reflect.Zero(reflect.TypeOf(got))
		}
		if !reflect.DeepEqual(got, want.Interface()) {
			t.Errorf("%s: %s is %v, not %v", b.Kind(), name, got, want)
		}
	}
	staking, stakes := b.Staking()
	same("Stake", staking.Stake)
	if stakes {
		same("Signer", staking.Signer)
		same("NodeID", staking.NodeID)
		same("Subnet", staking.Subnet)
		same("DelegationFee", staking.DelegationFee)
	}
	imported, exported := b.Crossing()
	same("Imported", imported)
	same("Exported", exported)
	outputs := []utxo.Output{}
	if base := b.Funds(); base != nil {
		outputs = base.Outputs
	}
	if want := len(slices.Concat(outputs, exported, staking.Stake)); OutputsOf(b) != want {
		t.Errorf("%s makes %d outputs, not %d", b.Kind(), OutputsOf(b), want)
	}
	checkL1(t, b, members)
	if staked, ok := b.Rewards(); ok {
		same("TxID", staked)
	}
}

func checkL1(t *testing.T, b Body, members reflect.Value) {
	t.Helper()
	var ids []chain.ID
	sum := uint64(0)
	if c, ok := b.(*ConvertSubnetToL1); ok {
		for i := range c.Validators {
			ids, sum = append(ids, ConvertedValidationID(c.Subnet, uint32(i))), sum+c.Validators[i].Balance // few
		}
	}
	if m := members.FieldByName("ValidationID"); m.IsValid() {
		ids = append(ids, m.Interface().(chain.ID))
	}
	if m := members.FieldByName("Balance"); m.IsValid() {
		sum += m.Uint()
	}
	if got, _ := b.L1Balance(); got != sum {
		t.Errorf("%s sets %d aside, not %d", b.Kind(), got, sum)
	}
	if members.FieldByName("Message").IsValid() {
		return // in the examples it is not one of a manager
	}
	for i, c := range b.L1Changes() {
		if c.ValidationID != ids[i] {
			t.Errorf("%s changes %s, not %s", b.Kind(), c.ValidationID, ids[i])
		}
	}
	if got := len(b.L1Changes()); got != len(ids) {
		t.Errorf("%s changes %d validators, not %d", b.Kind(), got, len(ids))
	}
}

// What a manager asks for is in its message, which may be anything.
func TestManaged(t *testing.T) {
	t.Parallel()
	for _, b := range []Body{&RegisterL1Validator{Message: []byte{1}}, &SetL1ValidatorWeight{Message: []byte{1}}} {
		if all := b.L1Changes(); all != nil {
			t.Errorf("%s changes %v", b.Kind(), all)
		}
	}
	if _, err := (&SetL1ValidatorWeight{}).Weight(); err == nil {
		t.Error("a weight of no message")
	}
}
