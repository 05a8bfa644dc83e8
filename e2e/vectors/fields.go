package vectors

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"

	coreth "github.com/ava-labs/avalanchego/graft/coreth/plugin/evm/customtypes"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/core/types"
)

// Block is a block, as a node writes it, and its header with each of its fields changed, one
// at a time. Those that are made here have no transactions.
type Block struct {
	Name    string          `json:"name"`
	JSON    json.RawMessage `json:"json"`
	Hash    common.Hash     `json:"hash"`
	Changes []Change        `json:"changes"`
	// Receipts are those of a block that a node has, whose JSON has all of it.
	Receipts json.RawMessage `json:"receipts,omitempty"`
}

// Change is a field of a header that is another one.
type Change struct {
	Field string `json:"field"`
	// Members are those that a node writes otherwise, null where it leaves one out.
	Members map[string]json.RawMessage `json:"members"`
	Hash    common.Hash                `json:"hash"`
}

// anyHeader is a header of coreth or of subnet-evm.
type anyHeader interface {
	json.Marshaler
	Hash() common.Hash
}

// MakeFields makes blocks of each upgrade of both virtual machines. Which fields there are
// is what their types say.
func MakeFields() ([]Block, error) {
	var list []Block
	for upgrade := range 9 {
		for name, h := range []func() anyHeader{
			func() anyHeader { return emptyHeader(upgrade) },
			func() anyHeader { return subnetHeader(emptyHeader(upgrade)) },
		} {
			if name == 1 && upgrade == 2 { // subnet-evm has no extDataGasUsed
				continue
			}
			b, err := blockOf(fmt.Sprintf("%s %d", [...]string{"coreth", "subnet-evm"}[name], upgrade), h)
			if err != nil {
				return nil, err
			}
			list = append(list, *b)
		}
	}
	return list, nil
}

// ReadFields changes the fields of a block of the C-Chain that a node has. It fails if coreth
// does not find the hash that the node says.
func ReadFields(name string, block, receipts json.RawMessage) (*Block, error) {
	var said struct{ Hash common.Hash }
	if err := json.Unmarshal(block, &said); err != nil {
		return nil, err
	}
	if err := new(coreth.HeaderSerializable).UnmarshalJSON(block); err != nil {
		return nil, err
	}
	b, err := blockOf(name, func() anyHeader {
		h := new(coreth.HeaderSerializable)
		_ = h.UnmarshalJSON(block) // it was read before
		return h
	})
	if err != nil {
		return nil, err
	}
	if b.Hash != said.Hash {
		return nil, fmt.Errorf("%s: coreth finds the hash %s, the node says %s", name, b.Hash, said.Hash)
	}
	b.JSON, b.Receipts = block, receipts
	return b, nil
}

// emptyHeader returns the header of a block without transactions.
func emptyHeader(upgrade int) *coreth.HeaderSerializable {
	h := corethHeader(upgrade, 1)
	h.TxHash, h.ReceiptHash, h.ExtDataHash, h.Bloom = types.EmptyTxsHash, types.EmptyReceiptsHash, coreth.EmptyExtDataHash, types.Bloom{}
	h.Number, h.Time, h.GasUsed = big.NewInt(int64(7+upgrade)), 1_700_000_000+uint64(upgrade), 0
	if h.TimeMilliseconds != nil {
		milli := h.Time*1000 + 7
		h.TimeMilliseconds = &milli
	}
	return h
}

// blockOf changes the fields of a header, which fresh makes.
func blockOf(name string, fresh func() anyHeader) (*Block, error) {
	honest := fresh()
	text, err := honest.MarshalJSON()
	if err != nil {
		return nil, err
	}
	b := &Block{Name: name, JSON: text, Hash: honest.Hash()}
	fields := reflect.TypeOf(honest).Elem()
	for i := range fields.NumField() {
		for way := range 2 {
			h := fresh()
			field := reflect.ValueOf(h).Elem().Field(i)
			zero := isZero(field)
			changed, err := change(field, way)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, fields.Field(i).Name, err)
			}
			if !changed {
				continue
			}
			c := Change{Field: fields.Field(i).Name, Hash: h.Hash()}
			if c.Hash == b.Hash && zero && field.IsNil() {
				continue // in front of other fields a number that is not there is encoded as zero is
			}
			if c.Hash == b.Hash {
				return nil, fmt.Errorf("%s: the hash does not cover %s", name, c.Field)
			}
			if c.Members, err = differing(honest, h); err != nil {
				return nil, err
			}
			b.Changes = append(b.Changes, c)
		}
	}
	return b, nil
}

// isZero reports whether a field is a number that may be missing, and zero.
func isZero(v reflect.Value) bool {
	switch n := v.Interface().(type) {
	case *big.Int:
		return n != nil && n.Sign() == 0
	case *uint64:
		return n != nil && *n == 0
	}
	return false
}

// change changes a field in one of two ways, and reports whether it has this one.
func change(v reflect.Value, way int) (bool, error) {
	switch {
	case v.Kind() == reflect.Pointer && way == 1:
		if v.IsNil() {
			return false, nil
		}
		v.SetZero()
	case v.Type() == reflect.TypeFor[*big.Int]():
		n := new(big.Int)
		if !v.IsNil() {
			n.Set(v.Interface().(*big.Int))
		}
		v.Set(reflect.ValueOf(n.Add(n, big.NewInt(1))))
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
			return true, nil
		}
		return change(v.Elem(), way)
	case v.Kind() == reflect.Uint64:
		v.SetUint(v.Uint() ^ 1<<(40*way))
	case v.Kind() == reflect.Array:
		at := v.Index((v.Len() - 1) * way)
		at.SetUint(at.Uint() ^ 1)
	case v.Kind() == reflect.Slice && way == 0:
		v.SetBytes(append(v.Bytes(), 0))
	case v.Kind() == reflect.Slice:
		if v.Len() == 0 {
			return false, nil
		}
		v.Index(0).SetUint(v.Index(0).Uint() ^ 1)
	default:
		return false, fmt.Errorf("a field of type %s", v.Type())
	}
	return true, nil
}

// differing returns the members of b that are not those of a.
func differing(a, b anyHeader) (map[string]json.RawMessage, error) {
	var members [2]map[string]json.RawMessage
	for i, h := range []anyHeader{a, b} {
		text, err := h.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &members[i])
		}
		if err != nil {
			return nil, err
		}
	}
	list := make(map[string]json.RawMessage)
	for name, value := range members[1] {
		if name != "hash" && string(members[0][name]) != string(value) {
			list[name] = value
		}
	}
	for name := range members[0] {
		if _, there := members[1][name]; !there {
			list[name] = json.RawMessage("null")
		}
	}
	return list, nil
}
