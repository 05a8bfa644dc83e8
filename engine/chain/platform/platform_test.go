package platform

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/utxo"
)

// goldenJSON holds what avalanchego's own packages made: e2e/vectors.
//
//go:embed testdata/avalanchego.json
var goldenJSON []byte

type goldens struct {
	Txs, Blocks, UTXOs, Registrations, Weights, Genesis []chaintest.Encoded
}

func golden(t testing.TB) *goldens {
	t.Helper()
	return chaintest.Load[goldens](t, goldenJSON)
}

func recodeUTXO(b []byte) ([]byte, error) {
	u, err := utxo.ParseUTXO(b, true)
	if err != nil {
		return nil, err
	}
	return u.Bytes(true)
}

func TestGoldenTxs(t *testing.T) {
	t.Parallel()
	seen := make(map[TxKind]bool)
	for _, e := range golden(t).Txs {
		tx, err := ParseTx(e.Bytes)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		chaintest.SameJSON(t, e.Name, jsonTx(tx), e.JSON)
		chaintest.RoundTrip(t, &e, chaintest.Recoder(ParseTx))
		if tx.ID.String() != e.ID || tx.Size != len(e.Bytes) {
			t.Errorf("%s: got ID %s and size %d, want %s and %d", e.Name, tx.ID, tx.Size, e.ID, len(e.Bytes))
		}
		unsigned, err := tx.UnsignedBytes()
		if err != nil || string(unsigned) != string(e.Bytes[:e.Unsigned]) {
			t.Errorf("%s: unsigned bytes %x, %v", e.Name, unsigned, err)
		}
		if kind := tx.Body.Kind(); e.Name[:len(e.Name)-2] != kind.String() {
			t.Errorf("%s is of kind %s", e.Name, kind)
		} else {
			seen[kind] = true
		}
	}
	for i, k := range kinds[:KindAddAutoRenewedValidator] { // later ones are in the recording: see TestHelicon
		if k.body != nil && !seen[TxKind(i)] {
			t.Errorf("no example of %s", TxKind(i))
		}
	}
}

func TestGoldenBlocks(t *testing.T) {
	t.Parallel()
	seen := make(map[BlockKind]bool)
	for _, e := range golden(t).Blocks {
		b, err := ParseBlock(e.Bytes)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		chaintest.SameJSON(t, e.Name, jsonBlock(b), e.JSON)
		chaintest.RoundTrip(t, &e, chaintest.Recoder(ParseBlock))
		if b.ID.String() != e.ID || b.Size != len(e.Bytes) || b.Kind.String() != e.Name {
			t.Errorf("%s: got %s %s of %d bytes, want %s of %d", e.Name, b.Kind, b.ID, b.Size, e.ID, len(e.Bytes))
		}
		for i := range b.Txs {
			raw, err := b.Txs[i].Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if alone, err := ParseTx(raw); err != nil || alone.ID != b.Txs[i].ID || alone.Size != b.Txs[i].Size {
				t.Errorf("%s: transaction %d differs when it is alone: %v", e.Name, i, err)
			}
		}
		seen[b.Kind] = true
	}
	if len(seen) != len(blockNames) {
		t.Errorf("examples of %d kinds of blocks, want %d", len(seen), len(blockNames))
	}
}

func TestGoldenUTXOs(t *testing.T) {
	t.Parallel()
	for _, e := range golden(t).UTXOs {
		u, err := utxo.ParseUTXO(e.Bytes, true)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		got := chaintest.With(chaintest.Ref(&u.Ref), object{"assetID": u.Asset.String(), "output": form.Amount(&u.Output)})
		chaintest.SameJSON(t, e.Name, got, e.JSON)
		chaintest.RoundTrip(t, &e, recodeUTXO)
		if u.ID().String() != e.ID {
			t.Errorf("%s: got ID %s, want %s", e.Name, u.ID(), e.ID)
		}
	}
}

func TestGoldenMessages(t *testing.T) {
	t.Parallel()
	g := golden(t)
	for _, e := range g.Registrations {
		r, err := ParseL1Registration(e.Bytes)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		chaintest.SameJSON(t, e.Name, jsonRegistration(r), e.JSON)
		chaintest.RoundTrip(t, &e, chaintest.Recoder(ParseL1Registration))
		if r.ValidationID.String() != e.ID {
			t.Errorf("%s: got ID %s, want %s", e.Name, r.ValidationID, e.ID)
		}
	}
	for _, e := range g.Weights {
		w, err := ParseL1Weight(e.Bytes)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		chaintest.SameJSON(t, e.Name, jsonWeight(w), e.JSON)
		chaintest.RoundTrip(t, &e, chaintest.Recoder(ParseL1Weight))
	}
}

// The genesis state of the real local network: what is in it is what its config says.
func TestGoldenGenesis(t *testing.T) {
	t.Parallel()
	e := golden(t).Genesis[1]
	g, err := ParseGenesis(e.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	chaintest.RoundTrip(t, &e, chaintest.Recoder(ParseGenesis))
	if g.ID != sha256.Sum256(e.Bytes) || g.ID.String() != e.ID || len(g.Validators) != 5 || len(g.Chains) != 2 || len(g.UTXOs) == 0 {
		t.Errorf("got %s with %d validators, %d chains and %d UTXOs", g.ID, len(g.Validators), len(g.Chains), len(g.UTXOs))
	}
	stake := uint64(0)
	for _, tx := range g.Validators {
		v, ok := tx.Body.(*AddPermissionlessValidator)
		if !ok || v.Signer == nil || !v.Subnet.IsZero() {
			t.Fatalf("a genesis validator by %s", tx.Body.Kind())
		}
		stake += v.Weight
	}
	held := uint64(0)
	for _, u := range g.UTXOs {
		held += u.Amount
	}
	x, ok := g.Chains[0].Body.(*CreateChain)
	if !ok || x.Name != "X-Chain" {
		t.Fatalf("the first chain is %+v", x)
	}
	assets, err := avm.ParseGenesis(x.GenesisData)
	if err != nil || len(assets) != 1 || assets[0].Tx.ID != g.UTXOs[0].Asset {
		t.Fatalf("the X-Chain starts with %+v, %v, and the P-Chain holds %s", assets, err, g.UTXOs[0].Asset)
	}
	for _, state := range assets[0].Tx.Body.(*avm.CreateAsset).States {
		for _, o := range state.Outputs {
			held += o.Amount
		}
	}
	if stake+held != g.InitialSupply {
		t.Errorf("%d staked and %d held, supply %d", stake, held, g.InitialSupply)
	}
}

// Fuji's genesis state has transactions as old as the network, and chains whose IDs
// everybody knows.
func TestFuji(t *testing.T) {
	t.Parallel()
	e := golden(t).Genesis[0]
	g, err := ParseGenesis(e.Bytes)
	if err != nil || g.ID.String() != e.ID {
		t.Fatalf("got %+v, %v", g, err)
	}
	chaintest.RoundTrip(t, &e, chaintest.Recoder(ParseGenesis))
	for _, tx := range g.Validators {
		if v, ok := tx.Body.(*AddValidator); !ok || v.NodeID == (chain.NodeID{}) || v.Weight == 0 || v.End <= v.Start || len(v.Stake) == 0 {
			t.Errorf("validator %s is %+v", tx.ID, tx.Body)
		}
	}
	if x, c := g.Chains[0].ID.String(), g.Chains[1].ID.String(); len(g.Validators) != 20 ||
		x != "2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm" || c != "yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp" {
		t.Errorf("%d validators, X-Chain %s, C-Chain %s", len(g.Validators), x, c)
	}
}

func TestSpoilt(t *testing.T) {
	t.Parallel()
	g := golden(t)
	chaintest.SpoilEach(t, g.Txs, chaintest.Recoder(ParseTx))
	chaintest.SpoilEach(t, g.Blocks, chaintest.Recoder(ParseBlock))
}

func TestBombs(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	g := golden(t)
	for i := 0; i < len(g.Txs); i += 4 {
		chaintest.Bomb(t, &g.Txs[i], chaintest.Recoder(ParseTx))
	}
	for i := 0; i < len(g.Blocks); i += 3 {
		chaintest.Bomb(t, &g.Blocks[i], chaintest.Recoder(ParseBlock))
	}
	chaintest.Bomb(t, &g.UTXOs[0], recodeUTXO)
	chaintest.Bomb(t, &g.Registrations[0], chaintest.Recoder(ParseL1Registration))
}

// What was read has its bytes at hand, and they are those that it encodes to.
func TestRaw(t *testing.T) {
	t.Parallel()
	for _, e := range golden(t).Blocks {
		b, err := ParseBlock(e.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		made := *b
		made.raw = nil
		for _, b := range []*Block{b, &made} {
			if raw, err := b.Raw(); err != nil || !bytes.Equal(raw, e.Bytes) {
				t.Errorf("%s: %x, %v", e.Name, raw, err)
			}
		}
		for _, tx := range b.Txs {
			want, err := tx.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			made := tx
			made.raw = nil
			for _, tx := range []Tx{tx, made} {
				if raw, err := tx.AppendRaw([]byte{1}); err != nil || !bytes.Equal(raw[1:], want) || raw[0] != 1 {
					t.Errorf("%s: transaction %x, %v, want %x", e.Name, raw, err, want)
				}
			}
		}
	}
}
