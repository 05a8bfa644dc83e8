package vectors

import (
	"encoding/binary"
	"math/big"

	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/core/rawdb"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/crypto"
	"github.com/ava-labs/libevm/ethdb/memorydb"
	"github.com/ava-labs/libevm/rlp"
	"github.com/ava-labs/libevm/trie"
	"github.com/ava-labs/libevm/triedb"
)

// State is a state trie with proofs of some accounts, of which the last is absent.
type State struct {
	Accounts int         `json:"accounts"`
	Root     common.Hash `json:"root"`
	Proofs   []Proof     `json:"proofs"`
}

// Proof is that of one account.
type Proof struct {
	Address common.Address  `json:"address"`
	Nonce   uint64          `json:"nonce"`
	Balance *hexutil.Big    `json:"balance"`
	Nodes   []hexutil.Bytes `json:"nodes"`
}

// plainAccount is an account of an L1, coinAccount one of the C-Chain.
type plainAccount struct {
	Nonce     uint64
	Balance   *big.Int
	Root      common.Hash
	CodeHash  []byte
	MultiCoin bool `rlp:"optional"`
}

type coinAccount struct {
	Nonce     uint64
	Balance   *big.Int
	Root      common.Hash
	CodeHash  []byte
	MultiCoin bool
}

// address is that of account i.
func address(i int) common.Address {
	return common.BytesToAddress(crypto.Keccak256(binary.BigEndian.AppendUint64(nil, uint64(i)))[12:])
}

func (f *File) states() error {
	for _, n := range []int{1, 2, 20, 1000} {
		t := trie.NewEmpty(triedb.NewDatabase(rawdb.NewMemoryDatabase(), nil))
		for i := range n {
			a := address(i)
			nonce, balance := number("nonce", i), big256("balance", i)
			var account any = plainAccount{nonce, balance, types.EmptyRootHash, types.EmptyCodeHash[:], false}
			if n > 2 {
				account = coinAccount{nonce, balance, types.EmptyRootHash, types.EmptyCodeHash[:], i%5 == 0}
			}
			value, err := rlp.EncodeToBytes(account)
			if err != nil {
				return err
			}
			if err := t.Update(crypto.Keccak256(a[:]), value); err != nil {
				return err
			}
		}
		s := State{Accounts: n, Root: t.Hash()}
		for i := 0; i < n; i += max(1, n/6) {
			nodes, err := proof(t, address(i))
			if err != nil {
				return err
			}
			s.Proofs = append(s.Proofs, Proof{address(i), number("nonce", i), (*hexutil.Big)(big256("balance", i)), nodes})
		}
		nodes, err := proof(t, address(n))
		if err != nil {
			return err
		}
		s.Proofs = append(s.Proofs, Proof{address(n), 0, new(hexutil.Big), nodes})
		f.States = append(f.States, s)
	}
	return nil
}

// nodes takes those of a proof in their order.
type nodes struct {
	memorydb.Database
	list []hexutil.Bytes
}

// Put implements ethdb.KeyValueWriter.
func (n *nodes) Put(_, value []byte) error {
	n.list = append(n.list, common.CopyBytes(value))
	return nil
}

func proof(t *trie.Trie, a common.Address) ([]hexutil.Bytes, error) {
	var n nodes
	err := t.Prove(crypto.Keccak256(a[:]), &n)
	return n.list, err
}
