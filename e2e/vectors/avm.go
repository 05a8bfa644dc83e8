package vectors

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow"
	"github.com/ava-labs/avalanchego/snow/engine/avalanche/vertex"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/hashing"
	"github.com/ava-labs/avalanchego/vms/avm"
	"github.com/ava-labs/avalanchego/vms/avm/block"
	"github.com/ava-labs/avalanchego/vms/avm/fxs"
	"github.com/ava-labs/avalanchego/vms/avm/txs"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/components/verify"
	"github.com/ava-labs/avalanchego/vms/nftfx"
	platformgenesis "github.com/ava-labs/avalanchego/vms/platformvm/genesis"
	platformtxs "github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/propertyfx"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
)

// Exchange holds examples of what the X-Chain has.
type Exchange struct {
	Txs      []Encoded `json:"txs"`
	Blocks   []Encoded `json:"blocks"`
	Vertices []Encoded `json:"vertices"`
	UTXOs    []Encoded `json:"utxos"`
	// Genesis is what the chain of the local network starts with; its ID is that of AVAX.
	Genesis Encoded `json:"genesis"`
}

var exchangeTxs = []any{&txs.BaseTx{}, &txs.CreateAssetTx{}, &txs.OperationTx{}, &txs.ImportTx{}, &txs.ExportTx{}}

func exchangeChoices() map[reflect.Type][]any {
	return map[reflect.Type][]any{
		openType[avax.TransferableOut](): {&secp256k1fx.TransferOutput{}},
		openType[avax.TransferableIn]():  {&secp256k1fx.TransferInput{}},
		openType[verify.State](): {
			&secp256k1fx.TransferOutput{}, &secp256k1fx.MintOutput{}, &nftfx.MintOutput{}, &nftfx.TransferOutput{},
			&propertyfx.MintOutput{}, &propertyfx.OwnedOutput{},
		},
		openType[fxs.FxOperation](): {
			&secp256k1fx.MintOperation{}, &nftfx.MintOperation{}, &nftfx.TransferOperation{},
			&propertyfx.MintOperation{}, &propertyfx.BurnOperation{},
		},
		openType[verify.Verifiable](): {&secp256k1fx.Credential{}, &nftfx.Credential{}, &propertyfx.Credential{}},
		openType[txs.UnsignedTx]():    exchangeTxs,
	}
}

// exchangeMaker makes transactions, blocks and vertices of the X-Chain.
type exchangeMaker struct {
	*filler
	block.Parser
	ctx *snow.Context
}

func (m *exchangeMaker) tx(kind any) (Encoded, error) {
	m.order = nil
	body := reflect.New(reflect.TypeOf(kind).Elem())
	m.value(body.Elem())
	tx := &txs.Tx{Unsigned: body.Interface().(txs.UnsignedTx)}
	m.fill(&tx.Creds)
	raw, err := m.Codec().Marshal(txs.CodecVersion, tx)
	if err != nil {
		return Encoded{}, err
	}
	if tx, err = m.ParseTx(raw); err != nil {
		return Encoded{}, err
	}
	tx.Unsigned.InitCtx(m.ctx)
	text, err := json.Marshal(tx)
	return Encoded{
		Name: reflect.TypeOf(kind).Elem().Name(), Bytes: raw, ID: tx.ID(), Unsigned: len(tx.Unsigned.Bytes()), Types: m.order, JSON: text,
	}, err
}

func (m *exchangeMaker) block() (Encoded, error) {
	blk := new(block.StandardBlock)
	m.fill(blk)
	var open block.Block = blk
	raw, err := m.Codec().Marshal(block.CodecVersion, &open)
	if err != nil {
		return Encoded{}, err
	}
	if open, err = m.ParseBlock(raw); err != nil {
		return Encoded{}, err
	}
	open.InitCtx(m.ctx)
	text, err := json.Marshal(open)
	return Encoded{Name: "StandardBlock", Bytes: raw, ID: open.ID(), JSON: text}, err
}

// vertex makes a vertex of some of the transactions, or a stop vertex of none.
func (m *exchangeMaker) vertex(from []Encoded) (Encoded, error) {
	var parents []ids.ID
	m.fill(&parents)
	v, err := vertex.BuildStopVertex(m.ctx.ChainID, m.Uint64(), parents)
	if len(from) > 0 {
		var list [][]byte
		for _, tx := range from {
			list = append(list, tx.Bytes)
		}
		v, err = vertex.Build(m.ctx.ChainID, m.Uint64(), parents, list)
	}
	if err != nil {
		return Encoded{}, err
	}
	members := map[string]any{"stop": v.StopVertex(), "chainID": v.ChainID(), "height": v.Height(), "epoch": v.Epoch(), "parentIDs": v.ParentIDs()}
	txIDs := []ids.ID{}
	for _, raw := range v.Txs() {
		txIDs = append(txIDs, hashing.ComputeHash256Array(raw))
	}
	members["txs"] = txIDs
	text, err := json.Marshal(members)
	return Encoded{Name: "vertex", Bytes: v.Bytes(), ID: v.ID(), JSON: text}, err
}

// MakeExchange makes all of it.
func MakeExchange() (*Exchange, error) {
	parser, err := block.NewParser([]fxs.Fx{&secp256k1fx.Fx{}, &nftfx.Fx{}, &propertyfx.Fx{}})
	if err != nil {
		return nil, err
	}
	x := new(Exchange)
	m := &exchangeMaker{newFiller(2, exchangeChoices()), parser, chainContext(ids.ID(sum("X-Chain")), "X")}
	for _, kind := range exchangeTxs {
		for seed := range 8 {
			e, err := m.tx(kind)
			if err != nil {
				return nil, err
			}
			if seed < 2 {
				e.flips(func(b []byte) bool { _, err := parser.ParseTx(b); return err == nil })
			}
			x.Txs = append(x.Txs, e)
		}
	}
	for seed := range 6 {
		b, err := m.block()
		if err != nil {
			return nil, err
		}
		if seed == 5 {
			b.flips(func(b []byte) bool { _, err := parser.ParseBlock(b); return err == nil })
		}
		x.Blocks = append(x.Blocks, b)
		v, err := m.vertex(x.Txs[:seed*2])
		if err != nil {
			return nil, err
		}
		if seed < 2 {
			v.flips(func(b []byte) bool { return m.acceptsVertex(b) })
		}
		x.Vertices = append(x.Vertices, v)

		u := new(avax.UTXO)
		m.fill(u)
		u.Out.(snow.ContextInitializable).InitCtx(m.ctx)
		e, err := encode(parser.Codec(), fmt.Sprint("utxo ", seed), u)
		if err != nil {
			return nil, err
		}
		e.ID = u.InputID()
		x.UTXOs = append(x.UTXOs, e)
	}
	if err := m.mustUse(); err != nil {
		return nil, err
	}
	return x, m.genesis(x)
}

// acceptsVertex reports whether avalanchego reads a vertex and all in it.
func (m *exchangeMaker) acceptsVertex(b []byte) bool {
	v, err := vertex.Parse(b)
	if err != nil {
		return false
	}
	for _, raw := range v.Txs() {
		if _, err := m.ParseTx(raw); err != nil {
			return false
		}
	}
	return true
}

// genesis takes the chain's genesis data from the P-Chain's, and checks that it is
// avm's.
func (m *exchangeMaker) genesis(x *Exchange) error {
	raw, avaxID, err := genesis.FromConfig(genesis.GetConfig(constants.LocalID))
	if err != nil {
		return err
	}
	state, err := platformgenesis.Parse(raw)
	if err != nil {
		return err
	}
	for _, tx := range state.Chains {
		create := tx.Unsigned.(*platformtxs.CreateChainTx)
		if create.VMID != constants.AVMID {
			continue
		}
		var g avm.Genesis
		if _, err := m.GenesisCodec().Unmarshal(create.GenesisData, &g); err != nil {
			return err
		}
		x.Genesis = Encoded{Name: g.Txs[0].Alias, Bytes: create.GenesisData, ID: avaxID}
		return nil
	}
	return fmt.Errorf("no X-Chain in the genesis state")
}
