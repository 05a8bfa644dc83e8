package ledger

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/crypto/bls"
	"github.com/ava-labs/avalanchego/utils/formatting/address"
	avmtxs "github.com/ava-labs/avalanchego/vms/avm/txs"
	"github.com/ava-labs/avalanchego/vms/nftfx"
	"github.com/ava-labs/avalanchego/vms/platformvm/stakeable"
	ptxs "github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/propertyfx"
	"github.com/ava-labs/avalanchego/vms/proposervm/block"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
)

// object and list are JSON as it is to be answered.
type (
	object = map[string]any
	list   = []any
)

func text(n uint64) string { return strconv.FormatUint(n, 10) }

func hexOf(b []byte) string { return "0x" + hex.EncodeToString(b) }

// addresses returns Bech32 without the chain.
func (l *Ledger) addresses(of []ids.ShortID) list {
	out := list{}
	for _, a := range of {
		s, err := address.FormatBech32(constants.GetHRP(l.NetworkID), a[:])
		if err != nil {
			panic(err) // they have 20 bytes
		}
		out = append(out, s)
	}
	return out
}

func (l *Ledger) amount(id ids.ID, n uint64) object {
	o := object{"assetId": id.String(), "type": "secp256k1", "amount": text(n)}
	switch a := l.assets[id]; {
	case id == l.AVAX:
		o["name"], o["symbol"], o["denomination"] = "Avalanche", "AVAX", 9
	case a != nil:
		o["name"], o["symbol"], o["denomination"] = a.name, a.symbol, a.denomination
		if a.nft {
			o["type"] = "nft"
		}
	}
	return o
}

// sums are amounts by asset in the order of their appearance.
type sums struct {
	order []ids.ID
	of    map[ids.ID]uint64
}

func (s *sums) add(id ids.ID, n uint64) {
	if s.of == nil {
		s.of = map[ids.ID]uint64{}
	}
	if _, ok := s.of[id]; !ok {
		s.order = append(s.order, id)
	}
	s.of[id] += n
}

// sum adds up what is an amount, which the rights to mint are not.
func sum(list []*Output) (s sums) {
	for _, u := range list {
		if outputKind(u) == "TRANSFER" {
			s.add(u.AssetID(), amountOf(u))
		}
	}
	return s
}

func (s sums) less(o sums) (rest sums) {
	for _, id := range s.order {
		if n := s.of[id] - min(s.of[id], o.of[id]); n > 0 {
			rest.add(id, n)
		}
	}
	return rest
}

func (l *Ledger) sums(s sums) list {
	out := list{}
	for _, id := range s.order {
		out = append(out, l.amount(id, s.of[id]))
	}
	return out
}

func outputKind(u *Output) string {
	switch u.Out.(type) {
	case *secp256k1fx.MintOutput:
		return "MINT"
	case *nftfx.MintOutput:
		return "NFT_MINT"
	case *nftfx.TransferOutput:
		return "NFT_TRANSFER"
	case *propertyfx.MintOutput:
		return "PROPERTY_MINT"
	case *propertyfx.OwnedOutput:
		return "PROPERTY_OWNED"
	}
	return "TRANSFER"
}

// ownersOf returns whose an output is, and until when it may only be staked.
func ownersOf(u *Output) (o secp256k1fx.OutputOwners, lock uint64) {
	out := u.Out
	if locked, ok := out.(*stakeable.LockOut); ok {
		out, lock = locked.TransferableOut, locked.Locktime
	}
	switch out := out.(type) {
	case *secp256k1fx.TransferOutput:
		o = out.OutputOwners
	case *secp256k1fx.MintOutput:
		o = out.OutputOwners
	case *nftfx.MintOutput:
		o = out.OutputOwners
	case *nftfx.TransferOutput:
		o = out.OutputOwners
	case *propertyfx.MintOutput:
		o = out.OutputOwners
	case *propertyfx.OwnedOutput:
		o = out.OutputOwners
	default:
		panic(fmt.Sprintf("an output is a %T", out))
	}
	return o, lock
}

// output is what outputs of all chains have.
func (l *Ledger) output(c *Chain, u *Output) object {
	o, _ := ownersOf(u)
	made, spent := c.ID, c.ID
	switch {
	case u.Exported:
		spent = *u.other
	case u.other != nil:
		made = *u.other
	}
	out := object{
		"addresses": l.addresses(o.Addrs), "asset": l.amount(u.AssetID(), amountOf(u)), "createdOnChainId": made.String(),
		"consumedOnChainId": spent.String(), "utxoId": u.InputID().String(),
	}
	if u.spent != nil {
		out["consumingTxHash"] = u.spent.ID.String()
	}
	if !u.unseen {
		raw, err := l.bytes(c, u)
		if err != nil {
			panic(err)
		}
		out["utxoBytes"] = hexOf(raw)
	}
	return out
}

// bytes returns an output as the chain's node hands it out.
func (l *Ledger) bytes(c *Chain, u *Output) ([]byte, error) {
	switch c {
	case l.P:
		return ptxs.Codec.Marshal(ptxs.CodecVersion, &u.UTXO)
	default:
		return parser.Codec().Marshal(avmtxs.CodecVersion, &u.UTXO)
	}
}

// platformOutput is the form of outputs on the P-Chain.
func (l *Ledger) platformOutput(u *Output) object {
	o, lock := ownersOf(u)
	out := l.output(l.P, u)
	out["amount"], out["assetId"] = text(amountOf(u)), u.AssetID().String()
	out["blockNumber"], out["blockTimestamp"] = text(u.made.height), u.made.time
	if u.spent != nil {
		out["consumingBlockNumber"], out["consumingBlockTimestamp"] = text(u.spent.height), u.spent.time
	}
	if !u.unseen {
		out["platformLocktime"], out["threshold"] = o.Locktime, o.Threshold
	}
	out["outputIndex"], out["txHash"], out["staked"] = u.OutputIndex, u.TxID.String(), u.Staked
	if lock > 0 {
		out["stakeableLocktime"] = lock
	}
	out["utxoType"] = "TRANSFER"
	if u.Staked {
		out["utxoType"] = "STAKE"
	}
	return out
}

// exchangeOutput is that on the X- and the C-Chain.
func (l *Ledger) exchangeOutput(c *Chain, u *Output) object {
	o, _ := ownersOf(u)
	out := l.output(c, u)
	if u.spent != nil {
		out["consumingTxTimestamp"] = u.spent.time
	}
	out["creationTxHash"], out["outputIndex"], out["timestamp"] = u.TxID.String(), text(uint64(u.OutputIndex)), u.made.time
	out["locktime"], out["threshold"], out["utxoType"] = o.Locktime, o.Threshold, outputKind(u)
	switch n := u.Out.(type) {
	case *nftfx.MintOutput:
		out["groupId"] = n.GroupID
	case *nftfx.TransferOutput:
		out["groupId"] = n.GroupID
		if len(n.Payload) > 0 {
			out["payload"] = hexOf(n.Payload)
		}
	}
	return out
}

func (l *Ledger) outputs(c *Chain, of []*Output) list {
	out := list{}
	for _, u := range of {
		if c == l.P {
			out = append(out, l.platformOutput(u))
		} else {
			out = append(out, l.exchangeOutput(c, u))
		}
	}
	return out
}

// block is a block of any of the chains.
func (l *Ledger) block(c *Chain, b *Block) object {
	out := object{
		"blockNumber": text(b.Height), "blockHash": b.ID.String(), "parentHash": b.Parent.String(), "blockTimestamp": b.Time,
		"blockType": b.Kind, "txCount": len(b.Txs), "transactions": hashes(b.Txs), "blockSizeBytes": b.Size,
	}
	if c == l.P {
		out["currentSupply"], out["activeL1Validators"], out["l1ValidatorsAccruedFees"] = text(b.supply), b.active, b.fees
	}
	if b.outer == nil {
		return out
	}
	p := object{"proposerId": b.outer.ID().String(), "proposerParentId": b.outer.ParentID().String()}
	if b.Node != ids.EmptyNodeID {
		p["proposerNodeId"] = b.Node.String()
	}
	if signed, ok := b.outer.(block.SignedBlock); ok {
		p["proposerPChainHeight"], p["proposerTimestamp"] = signed.PChainHeight(), uint64(signed.Timestamp().Unix())
	}
	out["proposerDetails"] = p
	return out
}

func hashes(of []*Tx) list {
	out := list{}
	for _, tx := range of {
		out = append(out, tx.ID.String())
	}
	return out
}

func (l *Ledger) ownership(o *secp256k1fx.OutputOwners) object {
	return object{"locktime": o.Locktime, "threshold": o.Threshold, "addresses": l.addresses(o.Addrs)}
}

func key(b [bls.PublicKeyLen]byte) object { return object{"publicKey": hexOf(b[:])} }
