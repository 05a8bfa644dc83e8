package avm

import (
	"bytes"
	_ "embed"
	"errors"
	"slices"
	"testing"

	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// goldenJSON holds what avalanchego's own packages made: e2e/vectors.
//
//go:embed testdata/avalanchego.json
var goldenJSON []byte

type goldens struct {
	Txs, Blocks, Vertices, UTXOs []chaintest.Encoded
	Genesis                      chaintest.Encoded
}

func golden(t testing.TB) *goldens {
	t.Helper()
	return chaintest.Load[goldens](t, goldenJSON)
}

func recodeUTXO(b []byte) ([]byte, error) {
	u, err := utxo.ParseUTXO(b, false)
	if err != nil {
		return nil, err
	}
	return u.Bytes(false)
}

func recodeGenesis(b []byte) ([]byte, error) {
	assets, err := ParseGenesis(b)
	if err != nil {
		return nil, err
	}
	return GenesisBytes(assets)
}

func TestGoldenTxs(t *testing.T) {
	t.Parallel()
	kinds, operations, states, credentials := map[TxKind]bool{}, map[utxo.Kind]bool{}, map[utxo.Kind]bool{}, map[utxo.Kind]bool{}
	for _, e := range golden(t).Txs {
		tx, err := ParseTx(e.Bytes)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		chaintest.SameJSON(t, e.Name, jsonTx(tx), e.JSON, "fxID")
		chaintest.RoundTrip(t, &e, chaintest.Recoder(ParseTx))
		if tx.ID.String() != e.ID || tx.Size != len(e.Bytes) || tx.Body.Kind().String() != e.Name {
			t.Errorf("%s: got %s %s of %d bytes, want %s of %d", e.Name, tx.Body.Kind(), tx.ID, tx.Size, e.ID, len(e.Bytes))
		}
		unsigned, err := tx.UnsignedBytes()
		if err != nil || !bytes.Equal(unsigned, e.Bytes[:e.Unsigned]) {
			t.Errorf("%s: unsigned bytes %x, %v", e.Name, unsigned, err)
		}
		if got := types(tx); !slices.Equal(got, e.Types) {
			t.Errorf("%s: got types %v, want %v", e.Name, got, e.Types)
		}
		kinds[tx.Body.Kind()] = true
		for _, c := range tx.Credentials {
			credentials[c.Kind] = true
		}
		switch body := tx.Body.(type) {
		case *CreateAsset:
			for _, s := range body.States {
				for _, o := range s.Outputs {
					states[o.Kind] = true
				}
			}
		case *Operate:
			for _, o := range body.Operations {
				operations[o.Kind] = true
			}
		}
	}
	if len(kinds) != 5 || len(operations) != 5 || len(states) != 6 || len(credentials) != 3 {
		t.Errorf("examples of %d kinds of transactions, %d of operations, %d of outputs and %d of credentials", len(kinds), len(operations), len(states), len(credentials))
	}
}

// typeNames holds avalanchego's names of the kinds: JSON does not say them all apart.
var typeNames = map[utxo.Kind]string{
	utxo.TransferInput: "secp256k1fx.TransferInput", utxo.MintOutput: "secp256k1fx.MintOutput", utxo.TransferOutput: "secp256k1fx.TransferOutput",
	utxo.MintOperation: "secp256k1fx.MintOperation", utxo.Signatures: "secp256k1fx.Credential",
	utxo.NFTMintOutput: "nftfx.MintOutput", utxo.NFTTransferOutput: "nftfx.TransferOutput",
	utxo.NFTMintOperation: "nftfx.MintOperation", utxo.NFTTransferOperation: "nftfx.TransferOperation", utxo.NFTSignatures: "nftfx.Credential",
	utxo.PropertyMintOutput: "propertyfx.MintOutput", utxo.PropertyOwnedOutput: "propertyfx.OwnedOutput",
	utxo.PropertyMintOp: "propertyfx.MintOperation", utxo.PropertyBurnOp: "propertyfx.BurnOperation", utxo.PropertySignatures: "propertyfx.Credential",
}

// types returns the names of all that stands at an open place, in order.
func types(tx *Tx) []string {
	var names []string
	add := func(k utxo.Kind) { names = append(names, typeNames[k]) }
	outputs := func(list []utxo.Output) {
		for _, o := range list {
			add(o.Kind)
		}
	}
	inputs := func(list []utxo.Input) {
		for range list {
			add(utxo.TransferInput)
		}
	}
	outputs(tx.Body.Funds().Outputs)
	inputs(tx.Body.Funds().Inputs)
	switch t := tx.Body.(type) {
	case *CreateAsset:
		for _, s := range t.States {
			for _, o := range s.Outputs {
				add(o.Kind)
			}
		}
	case *Operate:
		for _, o := range t.Operations {
			add(o.Kind)
		}
	case *Import:
		inputs(t.Imported)
	case *Export:
		outputs(t.Exported)
	}
	for _, c := range tx.Credentials {
		add(c.Kind)
	}
	return names
}

// The kinds of what an operation makes follow from its own.
func operationMakes(o *Operation) []string {
	names := []string{}
	for _, s := range o.Outputs {
		names = append(names, typeNames[s.Kind])
	}
	return names
}

func TestOperationOutputs(t *testing.T) {
	t.Parallel()
	want := map[utxo.Kind][]string{
		utxo.MintOperation:        {"secp256k1fx.MintOutput", "secp256k1fx.TransferOutput"},
		utxo.NFTTransferOperation: {"nftfx.TransferOutput"},
		utxo.PropertyMintOp:       {"propertyfx.MintOutput", "propertyfx.OwnedOutput"},
		utxo.PropertyBurnOp:       {},
	}
	for _, e := range golden(t).Txs {
		tx, err := ParseTx(e.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		operate, ok := tx.Body.(*Operate)
		if !ok {
			continue
		}
		for _, o := range operate.Operations {
			makes := operationMakes(&o)
			if o.Kind == utxo.NFTMintOperation {
				for _, s := range o.Outputs {
					if s.Kind != utxo.NFTTransferOutput || s.Group != o.Group || !bytes.Equal(s.Payload, o.Payload) {
						t.Errorf("%s mints %+v", typeNames[o.Kind], s)
					}
				}
			} else if !slices.Equal(makes, want[o.Kind]) {
				t.Errorf("%s makes %v, want %v", typeNames[o.Kind], makes, want[o.Kind])
			}
		}
	}
}

func TestGoldenBlocks(t *testing.T) {
	t.Parallel()
	for _, e := range golden(t).Blocks {
		b, err := ParseBlock(e.Bytes)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		chaintest.SameJSON(t, e.Name, jsonBlock(b), e.JSON, "fxID")
		chaintest.RoundTrip(t, &e, chaintest.Recoder(ParseBlock))
		if b.ID.String() != e.ID || b.Size != len(e.Bytes) {
			t.Errorf("%s: got %s of %d bytes, want %s of %d", e.Name, b.ID, b.Size, e.ID, len(e.Bytes))
		}
	}
}

func TestGoldenVertices(t *testing.T) {
	t.Parallel()
	stops := 0
	for _, e := range golden(t).Vertices {
		v, err := ParseVertex(e.Bytes)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		chaintest.SameJSON(t, e.Name, jsonVertex(v), e.JSON)
		chaintest.RoundTrip(t, &e, chaintest.Recoder(ParseVertex))
		if v.ID.String() != e.ID || v.Size != len(e.Bytes) {
			t.Errorf("%s: got %s of %d bytes, want %s of %d", e.Name, v.ID, v.Size, e.ID, len(e.Bytes))
		}
		if v.Stop {
			stops++
		}
	}
	if stops != 1 {
		t.Errorf("%d stop vertices", stops)
	}
}

func TestGoldenUTXOs(t *testing.T) {
	t.Parallel()
	for _, e := range golden(t).UTXOs {
		u, err := utxo.ParseUTXO(e.Bytes, false)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		got := chaintest.With(chaintest.Ref(&u.Ref), object{"assetID": u.Asset.String(), "output": form.State(&u.State)})
		chaintest.SameJSON(t, e.Name, got, e.JSON)
		chaintest.RoundTrip(t, &e, recodeUTXO)
		if u.ID().String() != e.ID {
			t.Errorf("%s: got ID %s, want %s", e.Name, u.ID(), e.ID)
		}
	}
}

func TestGoldenGenesis(t *testing.T) {
	t.Parallel()
	e := golden(t).Genesis
	assets, err := ParseGenesis(e.Bytes)
	if err != nil || len(assets) != 1 {
		t.Fatalf("%d assets, %v", len(assets), err)
	}
	chaintest.RoundTrip(t, &e, recodeGenesis)
	a := assets[0]
	raw, err := a.Tx.Bytes()
	create, ok := a.Tx.Body.(*CreateAsset)
	if err != nil || !ok || a.Tx.ID.String() != e.ID || a.Alias != e.Name || a.Tx.Size != len(raw) || create.Symbol != "AVAX" || create.Denomination != 9 {
		t.Errorf("got %s %s of %d bytes, %+v, %v", a.Alias, a.Tx.ID, a.Tx.Size, create, err)
	}
}

// What cannot be encoded is an error: nothing is left out without a word.
func TestNotEncodable(t *testing.T) {
	t.Parallel()
	bad := func(what string, body Body) {
		t.Helper()
		if b, err := (&Tx{Body: body}).Bytes(); !errors.Is(err, codec.ErrValue) && !errors.Is(err, codec.ErrType) {
			t.Errorf("%s: got %x, %v", what, b, err)
		}
	}
	bad("no body", nil)
	operate := func(kind utxo.Kind, outputs ...utxo.State) Body {
		return &Operate{Operations: []Operation{{Kind: kind, Outputs: outputs}}}
	}
	bad("an operation without outputs", operate(utxo.MintOperation))
	bad("an operation with one too many", operate(utxo.PropertyBurnOp, utxo.State{Kind: utxo.TransferOutput}))
	bad("an output of another kind", operate(utxo.NFTTransferOperation, utxo.State{Kind: utxo.NFTMintOutput}))
	bad("an NFT of another group", operate(utxo.NFTMintOperation, utxo.State{Kind: utxo.NFTTransferOutput, Group: 1}))
	bad("an unknown operation", operate(utxo.TransferOutput))
	bad("an output without a kind", &CreateAsset{States: []InitialState{{Outputs: []utxo.State{{}}}}})
	bad("a locked output", &Base{utxo.Base{Outputs: []utxo.Output{{StakeLock: 1}}}})
	if _, err := (&Vertex{Stop: true, Txs: []Tx{{Body: &Base{}}}}).Bytes(); !errors.Is(err, codec.ErrValue) {
		t.Errorf("a stop vertex with a transaction: got %v", err)
	}
	if _, err := GenesisBytes([]GenesisAsset{{Tx: Tx{Body: &Base{}}}}); !errors.Is(err, codec.ErrValue) {
		t.Errorf("an asset that nothing makes: got %v", err)
	}
}

func TestSpoilt(t *testing.T) {
	t.Parallel()
	g := golden(t)
	chaintest.SpoilEach(t, g.Txs, chaintest.Recoder(ParseTx))
	chaintest.SpoilEach(t, g.Blocks, chaintest.Recoder(ParseBlock))
	chaintest.SpoilEach(t, g.Vertices, chaintest.Recoder(ParseVertex))
}

func TestBombs(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	g := golden(t)
	for i := 0; i < len(g.Txs); i += 4 {
		chaintest.Bomb(t, &g.Txs[i], chaintest.Recoder(ParseTx))
	}
	chaintest.Bomb(t, &g.Blocks[0], chaintest.Recoder(ParseBlock))
	chaintest.Bomb(t, &g.Vertices[1], chaintest.Recoder(ParseVertex))
	chaintest.Bomb(t, &g.UTXOs[0], recodeUTXO)
	chaintest.Bomb(t, &g.Genesis, recodeGenesis)
}

// A transaction that was read has its bytes at hand, and they are those that it encodes to.
func TestRaw(t *testing.T) {
	t.Parallel()
	var txs []Tx
	for _, e := range golden(t).Blocks {
		b, err := ParseBlock(e.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		txs = append(txs, b.Txs...)
	}
	for _, e := range golden(t).Vertices {
		v, err := ParseVertex(e.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		txs = append(txs, v.Txs...)
	}
	for _, tx := range txs {
		want, err := tx.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		made := tx
		made.raw = nil
		for _, tx := range []Tx{tx, made} {
			if raw, err := tx.AppendRaw([]byte{1}); err != nil || !bytes.Equal(raw[1:], want) || raw[0] != 1 {
				t.Errorf("%s: %x, %v, want %x", tx.ID, raw, err, want)
			}
		}
	}
}
