package vectors

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ava-labs/avalanchego/codec"
	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/hashing"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/components/verify"
	"github.com/ava-labs/avalanchego/vms/platformvm/block"
	"github.com/ava-labs/avalanchego/vms/platformvm/fx"
	"github.com/ava-labs/avalanchego/vms/platformvm/signer"
	"github.com/ava-labs/avalanchego/vms/platformvm/stakeable"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/message"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/libevm/common/hexutil"
)

// Encoded is something in the encoding of the P- or the X-Chain.
type Encoded struct {
	Name  string        `json:"name"`
	Bytes hexutil.Bytes `json:"bytes"`
	ID    ids.ID        `json:"id"`
	// Unsigned is the length of what a transaction's credentials sign.
	Unsigned int `json:"unsigned,omitempty"`
	// Types are those that stand at open places within, in order.
	Types []string `json:"types,omitempty"`
	// JSON is as a node writes it.
	JSON json.RawMessage `json:"json,omitempty"`
	// Low and High have a bit for each byte: whether avalanchego still accepts the
	// whole with the lowest or the highest bit of that byte flipped.
	Low  hexutil.Bytes `json:"low,omitempty"`
	High hexutil.Bytes `json:"high,omitempty"`
}

// flips tries all bytes of b.
func (e *Encoded) flips(accepts func([]byte) bool) {
	try := func(mask byte) hexutil.Bytes {
		bits := make([]byte, (len(e.Bytes)+7)/8)
		for i := range e.Bytes {
			e.Bytes[i] ^= mask
			if accepts(e.Bytes) {
				bits[i/8] |= 1 << (i % 8)
			}
			e.Bytes[i] ^= mask
		}
		return bits
	}
	e.Low, e.High = try(1), try(0x80)
}

// Platform holds examples of what the P-Chain has.
type Platform struct {
	Txs           []Encoded `json:"txs"`
	Blocks        []Encoded `json:"blocks"`
	UTXOs         []Encoded `json:"utxos"`
	Registrations []Encoded `json:"registrations"`
	Weights       []Encoded `json:"weights"`
	// Genesis holds the states that the local network and fuji start with: the former
	// with the validators of today, the latter with those of Apricot.
	Genesis []Encoded `json:"genesis"`
}

// chainContext makes JSON with addresses of the local network.
func chainContext(chain ids.ID, alias string) *snow.Context {
	names := ids.NewAliaser()
	if err := names.Alias(chain, alias); err != nil {
		panic(err)
	}
	return &snow.Context{NetworkID: constants.LocalID, ChainID: chain, BCLookup: names}
}

var platformTxs = []any{
	&txs.AddValidatorTx{}, &txs.AddSubnetValidatorTx{}, &txs.AddDelegatorTx{}, &txs.CreateChainTx{}, &txs.CreateSubnetTx{},
	&txs.ImportTx{}, &txs.ExportTx{}, &txs.AdvanceTimeTx{}, &txs.RewardValidatorTx{}, &txs.RemoveSubnetValidatorTx{},
	&txs.TransformSubnetTx{}, &txs.AddPermissionlessValidatorTx{}, &txs.AddPermissionlessDelegatorTx{},
	&txs.TransferSubnetOwnershipTx{}, &txs.BaseTx{}, &txs.ConvertSubnetToL1Tx{}, &txs.RegisterL1ValidatorTx{},
	&txs.SetL1ValidatorWeightTx{}, &txs.IncreaseL1ValidatorBalanceTx{}, &txs.DisableL1ValidatorTx{},
}

var platformBlocks = []any{
	&block.ApricotProposalBlock{}, &block.ApricotAbortBlock{}, &block.ApricotCommitBlock{}, &block.ApricotStandardBlock{},
	&block.ApricotAtomicBlock{}, &block.BanffProposalBlock{}, &block.BanffAbortBlock{}, &block.BanffCommitBlock{}, &block.BanffStandardBlock{},
}

// platformChoices holds what validation lets stand at open places. Authorizations and
// credentials are of the same open type: those of a body and those of a transaction
// are filled apart.
func platformChoices() map[reflect.Type][]any {
	return map[reflect.Type][]any{
		openType[avax.TransferableOut](): {&secp256k1fx.TransferOutput{}, &stakeable.LockOut{}},
		openType[avax.TransferableIn]():  {&secp256k1fx.TransferInput{}, &stakeable.LockIn{}},
		openType[verify.State]():         {&secp256k1fx.TransferOutput{}, &stakeable.LockOut{}},
		openType[fx.Owner]():             {&secp256k1fx.OutputOwners{}},
		openType[signer.Signer]():        {&signer.Empty{}, &signer.ProofOfPossession{}},
		openType[verify.Verifiable]():    {&secp256k1fx.Input{}},
	}
}

// platformMaker makes transactions and blocks of the P-Chain.
type platformMaker struct {
	*filler
	ctx *snow.Context
}

// tx makes a transaction of the type that unsigned points to.
func (m *platformMaker) tx(unsigned any) *txs.Tx {
	body := reflect.New(reflect.TypeOf(unsigned).Elem())
	m.value(body.Elem())
	tx := &txs.Tx{Unsigned: body.Interface().(txs.UnsignedTx)}
	for range m.IntN(3) {
		cred := new(secp256k1fx.Credential)
		m.fill(cred)
		tx.Creds = append(tx.Creds, cred)
	}
	return tx
}

func (m *platformMaker) encodeTx(unsigned any, name string) (Encoded, error) {
	raw, err := txs.Codec.Marshal(txs.CodecVersion, m.tx(unsigned))
	if err != nil {
		return Encoded{}, err
	}
	tx, err := txs.Parse(txs.Codec, raw)
	if err != nil {
		return Encoded{}, err
	}
	tx.Unsigned.InitCtx(m.ctx)
	text, err := json.Marshal(tx)
	if err != nil {
		return Encoded{}, err
	}
	return Encoded{Name: name, Bytes: raw, ID: tx.ID(), Unsigned: len(tx.Unsigned.Bytes()), JSON: text}, nil
}

// block makes a block of the type that kind points to.
func (m *platformMaker) block(kind any) (Encoded, error) {
	blk := reflect.New(reflect.TypeOf(kind).Elem())
	m.choices[openType[txs.UnsignedTx]()] = platformTxs
	m.choices[openType[verify.Verifiable]()] = []any{&secp256k1fx.Input{}}
	m.value(blk.Elem())
	// Their credentials have been filled as authorizations.
	for _, tx := range blk.Interface().(block.Block).Txs() {
		tx.Creds = m.tx(&txs.AdvanceTimeTx{}).Creds
	}
	open := blk.Interface().(block.Block)
	raw, err := block.Codec.Marshal(block.CodecVersion, &open)
	if err != nil {
		return Encoded{}, err
	}
	parsed, err := block.Parse(block.Codec, raw)
	if err != nil {
		return Encoded{}, err
	}
	parsed.InitCtx(m.ctx)
	text, err := json.Marshal(parsed)
	return Encoded{Name: reflect.TypeOf(kind).Elem().Name(), Bytes: raw, ID: parsed.ID(), JSON: text}, err
}

// MakePlatform makes all of it.
func MakePlatform() (*Platform, error) {
	p := new(Platform)
	m := &platformMaker{newFiller(1, platformChoices()), chainContext(constants.PlatformChainID, "P")}
	for _, kind := range platformTxs {
		for seed := range 4 {
			e, err := m.encodeTx(kind, fmt.Sprintf("%s %d", reflect.TypeOf(kind).Elem().Name(), seed))
			if err != nil {
				return nil, err
			}
			if seed == 0 {
				e.flips(func(b []byte) bool { _, err := txs.Parse(txs.Codec, b); return err == nil })
			}
			p.Txs = append(p.Txs, e)
		}
	}
	if err := m.mustUse(); err != nil {
		return nil, err
	}
	for _, kind := range platformBlocks {
		for seed := range 3 {
			m.most = 2
			e, err := m.block(kind)
			if err != nil {
				return nil, err
			}
			if seed == 0 {
				e.flips(func(b []byte) bool { _, err := block.Parse(block.Codec, b); return err == nil })
			}
			p.Blocks = append(p.Blocks, e)
		}
	}
	return p, m.rest(p)
}

// rest makes what is neither a block nor a transaction.
func (m *platformMaker) rest(p *Platform) error {
	for i := range 4 {
		u := new(avax.UTXO)
		m.fill(u)
		u.Out.(snow.ContextInitializable).InitCtx(m.ctx)
		e, err := encode(txs.Codec, fmt.Sprint("utxo ", i), u)
		if err != nil {
			return err
		}
		e.ID = u.InputID()
		p.UTXOs = append(p.UTXOs, e)

		r, w := new(message.RegisterL1Validator), new(message.L1ValidatorWeight)
		m.fill(r)
		m.fill(w)
		var open message.Payload = r
		if e, err = encode(message.Codec, fmt.Sprint("registration ", i), &open); err != nil {
			return err
		}
		e.ID = hashing.ComputeHash256Array(e.Bytes)
		p.Registrations = append(p.Registrations, e)
		open = w
		if e, err = encode(message.Codec, fmt.Sprint("weight ", i), &open); err != nil {
			return err
		}
		p.Weights = append(p.Weights, e)
	}
	for name, id := range map[string]uint32{constants.LocalName: constants.LocalID, constants.FujiName: constants.FujiID} {
		raw, _, err := genesis.FromConfig(genesis.GetConfig(id))
		if err != nil {
			return err
		}
		p.Genesis = append(p.Genesis, Encoded{Name: name, Bytes: raw, ID: hashing.ComputeHash256Array(raw)})
	}
	slices.SortFunc(p.Genesis, func(a, b Encoded) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// encode is the encoding of value and its JSON.
func encode(c codec.Manager, name string, value any) (Encoded, error) {
	raw, err := c.Marshal(txs.CodecVersion, value)
	if err != nil {
		return Encoded{}, err
	}
	text, err := json.Marshal(value)
	return Encoded{Name: name, Bytes: raw, JSON: text}, err
}
