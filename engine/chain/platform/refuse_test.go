package platform

import (
	"errors"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// What cannot be encoded is an error: nothing is left out without a word.
func TestNotEncodable(t *testing.T) {
	t.Parallel()
	bad := func(what string, b Block) {
		t.Helper()
		if raw, err := b.Bytes(); !errors.Is(err, codec.ErrValue) && !errors.Is(err, codec.ErrType) {
			t.Errorf("%s: got %x, %v", what, raw, err)
		}
	}
	one := []Tx{{Body: &AdvanceTime{}}}
	two := append(one[:1:1], one...)
	bad("a transaction without a body", Block{Kind: BanffStandard, Txs: make([]Tx, 1)})
	bad("an option with a transaction", Block{Kind: BanffCommit, Txs: one})
	bad("a proposal of nothing", Block{Kind: ApricotProposal})
	bad("a proposal of nothing", Block{Kind: BanffProposal})
	bad("a proposal of two", Block{Kind: ApricotProposal, Txs: two})
	bad("an atomic block of two", Block{Kind: ApricotAtomic, Txs: two})
	bad("an unknown block", Block{Kind: 5})
	bad("an unknown block", Block{Kind: 33})
	bad("a credential without a kind", Block{Kind: BanffStandard, Txs: []Tx{{Body: &AdvanceTime{}, Credentials: make([]utxo.Credential, 1)}}})
	bad("an NFT's credential", Block{Kind: BanffStandard, Txs: []Tx{{Body: &AdvanceTime{}, Credentials: []utxo.Credential{{Kind: utxo.NFTSignatures}}}}})
}

// A stake lock that ends at zero is never accepted, and could not be told from none.
func TestLockOfZero(t *testing.T) {
	t.Parallel()
	raw, err := (&Tx{Body: &Base{Base: utxo.Base{Outputs: []utxo.Output{{StakeLock: 1, State: utxo.State{Kind: utxo.TransferOutput}}}}}}).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	const lock = codec.VersionLen + 4 + 4 + chain.IDLen + 4 + chain.IDLen + 4
	if tx, err := ParseTx(raw); err != nil || tx.Body.Funds().Outputs[0].StakeLock != 1 || raw[lock+7] != 1 {
		t.Fatalf("%x: got %+v, %v", raw, tx, err)
	}
	raw[lock+7] = 0
	if _, err := ParseTx(raw); !errors.Is(err, codec.ErrValue) {
		t.Errorf("got %v", err)
	}
}

// The kinds that name themselves are those that can be parsed.
func TestKinds(t *testing.T) {
	t.Parallel()
	for i := range TxKind(45) {
		if i.known() && kinds[i].body().Kind() != i {
			t.Errorf("%s makes a %s", i, kinds[i].body().Kind())
		}
	}
	if s := TxKind(21).String(); s != "transaction type 21" {
		t.Errorf("got %s", s)
	}
	for i := range BlockKind(45) {
		if _, named := blockNames[i]; named != i.known() {
			t.Errorf("%s: named %v, known %v", i, named, i.known())
		}
	}
	if ApricotProposal.Option() || !BanffAbort.Option() || !BanffProposal.Proposal() || BanffCommit.Proposal() || ApricotAtomic.Banff() || !BanffProposal.Banff() {
		t.Error("kinds of blocks are mixed up")
	}
	if (&Block{Kind: BanffStandard, Txs: make([]Tx, 1)}).Proposed() != nil || (&Block{}).Proposed() != nil {
		t.Error("something is proposed")
	}
}
