package vectors

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"

	coreth "github.com/ava-labs/avalanchego/graft/coreth/plugin/evm/customtypes"
	subnetevm "github.com/ava-labs/avalanchego/graft/subnet-evm/plugin/evm/customtypes"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/crypto"
	"github.com/ava-labs/libevm/rlp"
	"github.com/ava-labs/libevm/trie"
	"github.com/holiman/uint256"
)

// Header is a header with its encoding and hash. JSON is as a node writes it.
type Header struct {
	Name string          `json:"name"`
	JSON json.RawMessage `json:"json"`
	RLP  hexutil.Bytes   `json:"rlp"`
	Hash common.Hash     `json:"hash"`
}

// Tx is a signed transaction. JSON is as a node writes it.
type Tx struct {
	Name   string          `json:"name"`
	JSON   json.RawMessage `json:"json"`
	Raw    hexutil.Bytes   `json:"raw"`
	Hash   common.Hash     `json:"hash"`
	Sender common.Address  `json:"sender"`
}

// Body is a list of transactions, the first of them all over again, with their
// receipts and the roots over both.
type Body struct {
	Count        int             `json:"count"`
	TxRoot       common.Hash     `json:"transactionsRoot"`
	ReceiptsRoot common.Hash     `json:"receiptsRoot"`
	Bloom        common.Hash     `json:"bloomHash"` // of its bytes
	Receipts     []hexutil.Bytes `json:"receipts,omitempty"`
}

// File is all of it.
type File struct {
	Headers []Header `json:"headers"`
	Txs     []Tx     `json:"txs"`
	Bodies  []Body   `json:"bodies"`
	States  []State  `json:"states"`
}

// sum is a value that looks random, the same each time.
func sum(parts ...any) common.Hash { return sha256.Sum256(fmt.Append(nil, parts...)) }

func number(parts ...any) uint64 {
	h := sum(parts...)
	return binary.BigEndian.Uint64(h[:]) >> (h[8] % 64)
}

func big256(parts ...any) *big.Int {
	h := sum(parts...)
	return new(big.Int).Rsh(h.Big(), 10+uint(h[0])%240) // no base fee has 32 bytes
}

// Make makes all of it.
func Make() (*File, error) {
	f := &File{}
	for _, make := range []func() error{f.headers, f.txs, f.bodies, f.states} {
		if err := make(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// headers makes those of each upgrade of both virtual machines: each has one more
// member than the one before.
func (f *File) headers() error {
	for upgrade := range 9 {
		for seed := range 3 {
			c := corethHeader(upgrade, seed)
			text, err := c.MarshalJSON()
			if err != nil {
				return err
			}
			enc, err := rlp.EncodeToBytes(c)
			if err != nil {
				return err
			}
			f.Headers = append(f.Headers, Header{fmt.Sprintf("coreth %d.%d", upgrade, seed), text, enc, c.Hash()})
			if upgrade == 2 { // subnet-evm has no extDataGasUsed
				continue
			}
			s := subnetHeader(c)
			if text, err = s.MarshalJSON(); err != nil {
				return err
			}
			if enc, err = rlp.EncodeToBytes(s); err != nil {
				return err
			}
			f.Headers = append(f.Headers, Header{fmt.Sprintf("subnet-evm %d.%d", upgrade, seed), text, enc, s.Hash()})
		}
	}
	return nil
}

func corethHeader(upgrade, seed int) *coreth.HeaderSerializable {
	n := func(name string) uint64 { return number(name, upgrade, seed) }
	h := &coreth.HeaderSerializable{
		ParentHash: sum("parent", upgrade, seed), UncleHash: types.EmptyUncleHash, Coinbase: common.Address(sum("miner", seed).Bytes()[:20]),
		Root: sum("root", seed), TxHash: sum("txs", seed), ReceiptHash: sum("receipts", seed), Difficulty: big256("difficulty", seed),
		Number: new(big.Int).SetUint64(n("number")), GasLimit: n("limit"), GasUsed: n("used"), Time: n("time"),
		Extra: sum("extra", seed).Bytes()[:seed*16], MixDigest: sum("mix", seed), ExtDataHash: sum("ext", seed),
	}
	copy(h.Bloom[:], sum("bloom", seed).Bytes())
	binary.BigEndian.PutUint64(h.Nonce[:], n("nonce"))
	blob, excess, milli, delay, beacon := n("blob"), n("excess"), n("milli"), n("delay"), sum("beacon", seed)
	for i, set := range []func(){
		func() { h.BaseFee = big256("fee", upgrade, seed) },
		func() { h.ExtDataGasUsed = big256("extgas", upgrade, seed) },
		func() { h.BlockGasCost = big256("cost", upgrade, seed) },
		func() { h.BlobGasUsed = &blob },
		func() { h.ExcessBlobGas = &excess },
		func() { h.ParentBeaconRoot = &beacon },
		func() { h.TimeMilliseconds = &milli },
		func() { h.MinDelayExcess = &delay },
	} {
		// The last seed leaves one out that has later ones behind it.
		if i < upgrade && (seed != 2 || i+2 != upgrade) {
			set()
		}
	}
	return h
}

func subnetHeader(h *coreth.HeaderSerializable) *subnetevm.HeaderSerializable {
	return &subnetevm.HeaderSerializable{
		ParentHash: h.ParentHash, UncleHash: h.UncleHash, Coinbase: h.Coinbase, Root: h.Root, TxHash: h.TxHash, ReceiptHash: h.ReceiptHash,
		Bloom: h.Bloom, Difficulty: h.Difficulty, Number: h.Number, GasLimit: h.GasLimit, GasUsed: h.GasUsed, Time: h.Time, Extra: h.Extra,
		MixDigest: h.MixDigest, Nonce: h.Nonce, BaseFee: h.BaseFee, BlockGasCost: h.BlockGasCost, BlobGasUsed: h.BlobGasUsed,
		ExcessBlobGas: h.ExcessBlobGas, ParentBeaconRoot: h.ParentBeaconRoot, TimeMilliseconds: h.TimeMilliseconds, MinDelayExcess: h.MinDelayExcess,
	}
}

// txs makes signed transactions of all types that libevm has.
func (f *File) txs() error {
	signers := map[string]types.Signer{
		"": types.NewCancunSigner(big.NewInt(43114)), "unprotected ": types.HomesteadSigner{}, "large chain ": types.NewCancunSigner(new(big.Int).Lsh(big.NewInt(1), 70)),
	}
	for _, signer := range []string{"", "unprotected ", "large chain "} {
		for kind := range 4 {
			if signer == "unprotected " && kind > 0 {
				break
			}
			for seed := range 4 {
				key, err := crypto.ToECDSA(sum("key", seed).Bytes())
				if err != nil {
					return err
				}
				tx, err := types.SignNewTx(key, signers[signer], txData(signers[signer].ChainID(), kind, seed))
				if err != nil {
					return err
				}
				text, err := tx.MarshalJSON()
				if err != nil {
					return err
				}
				raw, err := tx.MarshalBinary()
				if err != nil {
					return err
				}
				f.Txs = append(f.Txs, Tx{fmt.Sprintf("%stype %d.%d", signer, kind, seed), text, raw, tx.Hash(), crypto.PubkeyToAddress(key.PublicKey)})
			}
		}
	}
	return nil
}

func txData(chain *big.Int, kind, seed int) types.TxData {
	n := func(name string) uint64 { return number(name, kind, seed) }
	to := common.Address(sum("to", seed).Bytes()[:20])
	input := make([]byte, []int{0, 1, 68, 300}[seed])
	for i := range input {
		input[i] = byte(i * 7)
	}
	var list types.AccessList
	for i := range seed {
		list = append(list, types.AccessTuple{Address: to, StorageKeys: make([]common.Hash, i)})
	}
	receiver := &to
	if seed == 1 {
		receiver = nil // a creation
	}
	value := big256("value", kind, seed)
	switch kind {
	case 0:
		return &types.LegacyTx{Nonce: n("nonce"), GasPrice: big256("price", seed), Gas: n("gas"), To: receiver, Value: value, Data: input}
	case 1:
		return &types.AccessListTx{ChainID: chain, Nonce: n("nonce"), GasPrice: big256("price", seed), Gas: n("gas"), To: receiver, Value: value, Data: input, AccessList: list}
	case 2:
		return &types.DynamicFeeTx{ChainID: chain, Nonce: n("nonce"), GasTipCap: big256("tip", seed), GasFeeCap: big256("cap", seed), Gas: n("gas"), To: receiver, Value: value, Data: input, AccessList: list}
	}
	return &types.BlobTx{
		ChainID: uint256.MustFromBig(chain), Nonce: n("nonce"), GasTipCap: uint256.MustFromBig(big256("tip", seed)), GasFeeCap: uint256.MustFromBig(big256("cap", seed)),
		Gas: n("gas"), To: to, Value: uint256.MustFromBig(value), Data: input, AccessList: list, BlobFeeCap: uint256.MustFromBig(big256("blob", seed)), BlobHashes: make([]common.Hash, seed),
	}
}

// counts are lengths of lists around those at which their tries change shape.
var counts = []int{0, 1, 2, 3, 15, 16, 17, 18, 127, 128, 129, 130, 255, 256, 257, 300, 1000}

func (f *File) bodies() error {
	for _, count := range counts {
		txs, receipts := make(types.Transactions, count), make(types.Receipts, count)
		cumulative := uint64(0)
		for i := range txs {
			txs[i] = new(types.Transaction)
			if err := txs[i].UnmarshalBinary(f.Txs[i%len(f.Txs)].Raw); err != nil {
				return err
			}
			cumulative += GasUsed(i)
			receipts[i] = receipt(txs[i].Type(), i, cumulative)
		}
		bloom := types.CreateBloom(receipts)
		b := Body{
			Count: count, TxRoot: types.DeriveSha(txs, trie.NewStackTrie(nil)), ReceiptsRoot: types.DeriveSha(receipts, trie.NewStackTrie(nil)),
			Bloom: crypto.Keccak256Hash(bloom[:]),
		}
		if count == 18 {
			for _, r := range receipts {
				raw, err := r.MarshalBinary()
				if err != nil {
					return err
				}
				b.Receipts = append(b.Receipts, raw)
			}
		}
		f.Bodies = append(f.Bodies, b)
	}
	return nil
}

// GasUsed is the gas that transaction i used.
func GasUsed(i int) uint64 { return 21_000 + uint64(i)*1000 }

// receipt is that of transaction i: each third failed, the others have i%4 logs
// with one topic more each and i*10 bytes of data.
func receipt(kind uint8, i int, cumulative uint64) *types.Receipt {
	r := &types.Receipt{Type: kind, Status: 1, CumulativeGasUsed: cumulative, GasUsed: GasUsed(i)}
	if i%3 == 2 {
		r.Status = 0
	} else {
		for k := range i % 4 {
			l := &types.Log{Address: common.Address{byte(i), byte(k)}, Data: make([]byte, i*10)}
			for topic := range k {
				l.Topics = append(l.Topics, common.Hash{byte(i), byte(topic)})
			}
			r.Logs = append(r.Logs, l)
		}
	}
	r.Bloom = types.CreateBloom(types.Receipts{r})
	return r
}
