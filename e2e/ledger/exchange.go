package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/ava-labs/avalanchego/graft/coreth/plugin/evm/atomic"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/vms/avm"
	"github.com/ava-labs/avalanchego/vms/avm/block"
	"github.com/ava-labs/avalanchego/vms/avm/fxs"
	"github.com/ava-labs/avalanchego/vms/avm/txs"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/components/verify"
	"github.com/ava-labs/avalanchego/vms/nftfx"
	"github.com/ava-labs/avalanchego/vms/propertyfx"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/libevm/crypto"
	"github.com/ava-labs/libevm/rlp"
)

// asset is one of the X-Chain.
type asset struct {
	tx           *Tx
	name, symbol string
	denomination byte
	nft, fixed   bool
	moved        []*Tx // those that name it
}

func hash(b []byte) ids.ID { return sha256.Sum256(b) }

// parser is avalanchego's own for the X-Chain.
var parser = func() block.Parser {
	p, err := block.NewParser([]fxs.Fx{&secp256k1fx.Fx{}, &nftfx.Fx{}, &propertyfx.Fx{}})
	if err != nil {
		panic(err)
	}
	return p
}()

// exchangeGenesis makes the assets that the X-Chain starts with.
func (p *platform) exchangeGenesis(raw []byte) error {
	g := new(avm.Genesis)
	if _, err := parser.GenesisCodec().Unmarshal(raw, g); err != nil {
		return err
	}
	for _, a := range g.Txs {
		tx := &txs.Tx{Unsigned: &a.CreateAssetTx}
		if err := tx.Initialize(parser.GenesisCodec()); err != nil {
			return err
		}
		if err := p.exchange(tx, nil); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) exchangeBlock(_ context.Context, b *Block, raw []byte) error {
	blk, err := parser.ParseBlock(raw)
	if err != nil {
		return err
	}
	if again, err := parser.Codec().Marshal(block.CodecVersion, &blk); err != nil || !bytes.Equal(again, raw) {
		return fmt.Errorf("block %d is encoded again as another: %w", blk.Height(), err)
	}
	b.Height, b.ID, b.Parent, b.Kind, b.Size = blk.Height(), blk.ID(), blk.Parent(), kindOf(blk), len(raw)
	b.Time = uint64(blk.Timestamp().Unix())
	for _, tx := range blk.Txs() {
		if err := l.exchange(tx, b); err != nil {
			return err
		}
	}
	return nil
}

// exchange executes a transaction of the X-Chain.
func (l *Ledger) exchange(raw *txs.Tx, b *Block) error {
	tx := &Tx{ID: raw.ID(), Kind: kindOf(raw.Unsigned), unsigned: raw.Unsigned}
	l.X.add(tx, b)
	var base *avax.BaseTx
	switch t := raw.Unsigned.(type) {
	case *txs.BaseTx:
		base = &t.BaseTx
	case *txs.CreateAssetTx:
		base = &t.BaseTx.BaseTx
	case *txs.OperationTx:
		base = &t.BaseTx.BaseTx
	case *txs.ImportTx:
		base = &t.BaseTx.BaseTx
	case *txs.ExportTx:
		base = &t.BaseTx.BaseTx
	}
	if err := l.X.spendAll(tx, base.Ins); err != nil {
		return err
	}
	l.X.makeAll(tx, 0, base.Outs, nil)
	next := len(base.Outs)
	states := func(of ids.ID, list []verify.State) {
		for _, out := range list {
			u := &Output{UTXO: avax.UTXO{UTXOID: avax.UTXOID{TxID: tx.ID, OutputIndex: uint32(next)}, Asset: avax.Asset{ID: of}, Out: out}}
			l.X.make(tx, u)
			next++
		}
	}
	switch t := raw.Unsigned.(type) {
	case *txs.CreateAssetTx:
		a := &asset{tx: tx, name: t.Name, symbol: t.Symbol, denomination: t.Denomination, fixed: true}
		l.assets[tx.ID] = a
		for _, s := range t.States {
			a.nft = a.nft || s.FxIndex == 1
			for _, out := range s.Outs {
				switch out.(type) {
				case *secp256k1fx.MintOutput, *nftfx.MintOutput, *propertyfx.MintOutput:
					a.fixed = false
				}
			}
			states(tx.ID, s.Outs)
		}
	case *txs.OperationTx:
		for _, op := range t.Ops {
			for _, in := range op.UTXOIDs {
				if err := l.X.spend(tx, in.InputID()); err != nil {
					return err
				}
			}
			states(op.AssetID(), op.Op.Outs())
		}
	case *txs.ImportTx:
		for _, in := range t.ImportedIns {
			l.take(l.X, tx, in, t.SourceChain)
		}
	case *txs.ExportTx:
		l.X.makeAll(tx, next, t.ExportedOuts, exported(t.DestinationChain))
	}
	l.name(tx)
	return nil
}

// name notes which assets a transaction moves.
func (l *Ledger) name(tx *Tx) {
	seen := map[ids.ID]bool{}
	for _, list := range [][]*Output{tx.Consumed, tx.Emitted} {
		for _, u := range list {
			if id := u.AssetID(); !seen[id] && l.assets[id] != nil {
				seen[id] = true
				l.assets[id].moved = append(l.assets[id].moved, tx)
			}
		}
	}
}

// evmBlock is the encoding of a block of the C-Chain.
type evmBlock struct {
	Header  rlp.RawValue
	Txs     []rlp.RawValue
	Uncles  []rlp.RawValue
	Version uint32
	ExtData *[]byte `rlp:"nil"`
}

// Places of members in a header.
const (
	headerParent = 0
	headerNumber = 8
	headerTime   = 11
)

func (l *Ledger) contractBlock(_ context.Context, b *Block, raw []byte) error {
	var blk evmBlock
	var header []rlp.RawValue
	if err := rlp.DecodeBytes(raw, &blk); err != nil {
		return err
	}
	if err := rlp.DecodeBytes(blk.Header, &header); err != nil {
		return err
	}
	for i, to := range map[int]any{headerParent: (*[32]byte)(&b.Parent), headerNumber: &b.Height, headerTime: &b.Time} {
		if err := rlp.DecodeBytes(header[i], to); err != nil {
			return err
		}
	}
	b.ID, b.Kind, b.Size = ids.ID(crypto.Keccak256Hash(blk.Header)), "StandardBlock", len(raw)
	if blk.ExtData == nil || len(*blk.ExtData) == 0 {
		return nil
	}
	list, err := atomic.ExtractAtomicTxs(*blk.ExtData, true, atomic.Codec)
	if err != nil {
		return err
	}
	for _, a := range list {
		tx := &Tx{ID: a.ID(), Kind: kindOf(a.UnsignedAtomicTx), unsigned: a.UnsignedAtomicTx}
		l.C.add(tx, b)
		switch t := a.UnsignedAtomicTx.(type) {
		case *atomic.UnsignedImportTx:
			for _, in := range t.ImportedInputs {
				l.take(l.C, tx, in, t.SourceChain)
			}
		case *atomic.UnsignedExportTx:
			l.C.makeAll(tx, 0, t.ExportedOutputs, exported(t.DestinationChain))
		}
	}
	return nil
}
