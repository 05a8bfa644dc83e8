package atomic

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/utxo"
)

// recorded returns the ExtData that a real node answered: see engine/source/evm/testdata.
func recorded(t testing.TB) (all [][]byte) {
	t.Helper()
	f, err := os.Open("../../source/evm/testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct {
			Result struct{ BlockExtraData string }
		}
		if json.Unmarshal(lines.Bytes(), &r) != nil || len(r.Result.BlockExtraData) <= len("0x") {
			continue // of another form, or without
		}
		b, err := hex.DecodeString(strings.TrimPrefix(r.Result.BlockExtraData, "0x"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	if len(all) < 2 {
		t.Fatalf("%d recordings", len(all))
	}
	return all
}

func sample() []Tx {
	owners := utxo.Owners{Threshold: 1, Addresses: []address.Address{{3}, {4}}}
	out := utxo.Output{Asset: chain.ID{5}, State: utxo.State{Kind: utxo.TransferOutput, Amount: 6, Owners: owners}}
	in := utxo.Input{Ref: utxo.Ref{TxID: chain.ID{7}, Index: 8}, Asset: chain.ID{5}, Amount: 9, Auth: utxo.Auth{Indices: []uint32{0, 1}}}
	signed := []utxo.Credential{{Kind: utxo.Signatures, Signatures: [][utxo.SignatureLen]byte{{1}, {2}}}}
	return []Tx{
		{
			Kind: Import, NetworkID: 1, ChainID: chain.ID{1}, Peer: chain.ID{2}, Imported: []utxo.Input{in, in},
			Accounts: []Account{{Address: evm.Address{1}, Amount: 2, Asset: chain.ID{5}}}, Credentials: signed,
		},
		{
			Kind: Export, NetworkID: 1, ChainID: chain.ID{1}, Peer: chain.ID{2}, Exported: []utxo.Output{out, out},
			Accounts: []Account{{Address: evm.Address{1}, Amount: 2, Asset: chain.ID{5}, Nonce: 77}}, Credentials: signed,
		},
	}
}

func recode(b []byte) ([]byte, error) {
	txs, err := Parse(b)
	if err != nil {
		return nil, err
	}
	if again, err := Bytes(txs); err == nil && bytes.Equal(again, b) || len(txs) != 1 {
		return again, err
	}
	return txs[0].Bytes()
}

// What a real network accepted is read whole, in both forms, and written again.
func TestRecorded(t *testing.T) {
	t.Parallel()
	for _, b := range recorded(t) {
		chaintest.RoundTrip(t, &chaintest.Encoded{Name: "recorded", Bytes: b}, recode)
		txs, err := Parse(b)
		if err != nil || len(txs) != 1 || txs[0].NetworkID != 12345 || len(txs[0].Accounts) != 1 || len(txs[0].Credentials) == 0 {
			t.Fatalf("%+v, %v", txs, err)
		}
		tx := &txs[0]
		if (tx.Kind == Import) != (len(tx.Imported) > 0) || (tx.Kind == Export) != (len(tx.Exported) > 0) {
			t.Errorf("%s: %+v", tx.Kind, tx)
		}
		// As a single transaction it is the same one.
		single, err := tx.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		alone, err := Parse(single)
		if err != nil || len(alone) != 1 || alone[0].ID != tx.ID || alone[0].Size != len(single) || tx.Size != len(single) {
			t.Errorf("alone: %+v, %v", alone, err)
		}
	}
}

func TestSpoilt(t *testing.T) {
	t.Parallel()
	b, err := Bytes(sample())
	if err != nil {
		t.Fatal(err)
	}
	chaintest.RoundTrip(t, &chaintest.Encoded{Name: "made", Bytes: b}, recode)
	for n := 1; n < len(b); n++ {
		if _, err := Parse(b[:n:n]); err == nil {
			t.Fatalf("read when cut at byte %d", n)
		}
	}
	none, err := Parse(nil)
	if err != nil || none != nil {
		t.Errorf("no ExtData: %v, %v", none, err)
	}
	for _, bad := range [][]byte{append(bytes.Clone(b), 0), {0, 0, 0, 0, 0, 0}, {0, 1}, {0, 0, 0xff, 0xff, 0xff, 0xff}} {
		if txs, err := Parse(bad); err == nil {
			t.Errorf("%x: %+v", bad, txs)
		}
	}
}

func TestBomb(t *testing.T) {
	b, err := Bytes(sample())
	if err != nil {
		t.Fatal(err)
	}
	chaintest.Bomb(t, &chaintest.Encoded{Name: "made", Bytes: b}, recode)
}

func FuzzParse(f *testing.F) {
	for _, b := range recorded(f) {
		f.Add(b)
	}
	if b, err := Bytes(sample()); err == nil {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		if got, err := recode(b); err == nil && !bytes.Equal(got, b) {
			t.Fatalf("%x round-trips to %x", b, got)
		}
	})
}
