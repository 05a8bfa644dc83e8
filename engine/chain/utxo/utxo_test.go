package utxo_test

import (
	"errors"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// The fields of each kind are compared with avalanchego's in the tests of
// engine/chain/platform and engine/chain/avm. Here is what the two chains refuse of
// each other.

func TestChainsDiffer(t *testing.T) {
	t.Parallel()
	check := func(name string, u utxo.UTXO, platform, ok bool) {
		t.Helper()
		raw, err := u.Bytes(platform)
		if (err == nil) != ok {
			t.Errorf("%s: written as %x, %v", name, raw, err)
		}
		if err != nil {
			if !errors.Is(err, codec.ErrType) {
				t.Errorf("%s: %v", name, err)
			}
			return
		}
		back, err := utxo.ParseUTXO(raw, platform)
		if err != nil || back.Kind != u.Kind || back.StakeLock != u.StakeLock {
			t.Errorf("%s: read as %+v, %v", name, back, err)
		}
	}
	amount := utxo.UTXO{Output: utxo.Output{State: utxo.State{Kind: utxo.TransferOutput, Amount: 5}}}
	check("an amount on P", amount, true, true)
	check("an amount on X", amount, false, true)
	amount.StakeLock = 9
	check("a locked amount on P", amount, true, true)
	amount.StakeLock, amount.Kind = 0, utxo.NFTTransferOutput
	check("an NFT on X", amount, false, true)
	amount.Kind = utxo.StakeableOutput
	check("a lock without its type on X", amount, false, false)

	locked := utxo.UTXO{Output: utxo.Output{StakeLock: 9, State: utxo.State{Kind: utxo.TransferOutput}}}
	raw, err := locked.Bytes(true)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := utxo.ParseUTXO(raw, false); !errors.Is(err, codec.ErrType) {
		t.Errorf("a locked amount on X: read as %+v, %v", u, err)
	}
	nft := utxo.UTXO{Output: utxo.Output{State: utxo.State{Kind: utxo.NFTMintOutput}}}
	if raw, err = nft.Bytes(false); err != nil {
		t.Fatal(err)
	}
	if u, err := utxo.ParseUTXO(raw, true); !errors.Is(err, codec.ErrType) {
		t.Errorf("an NFT on P: read as %+v, %v", u, err)
	}
}

func TestRefID(t *testing.T) {
	t.Parallel()
	a, b := utxo.Ref{TxID: chain.ID{1}}, utxo.Ref{TxID: chain.ID{1}, Index: 1}
	if a.ID() == b.ID() || a.ID().IsZero() {
		t.Errorf("got %s and %s", a.ID(), b.ID())
	}
}
