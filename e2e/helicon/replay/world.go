// Package replay serves a recorded network to tests as one of its nodes would: JSON-RPC
// at a node's paths, up to a height of the C-Chain that a test moves, with a lie in one
// receipt on demand. What was not recorded is refused with an error that says so.
package replay

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Members are those of a JSON object, as a node wrote them.
type Members = map[string]json.RawMessage

// A Block is one of the C-Chain with all that its node said of it.
type Block struct {
	Number         int
	Hash           string
	Block          Members
	RawHeader      json.RawMessage
	Receipts       []Members
	CallTracer     json.RawMessage
	PrestateTracer json.RawMessage
	Container      json.RawMessage

	Txs []Members `json:"-"`
	// Settled is the height up to which it settles, -1 of blocks from before the upgrade.
	Settled int `json:"-"`
	time    int64
}

// A Tx is one of the P- or X-Chain.
type Tx struct {
	ID          string
	Tx          json.RawMessage // with the encoding hex
	JSON        json.RawMessage
	Status      json.RawMessage
	RewardUTXOs json.RawMessage `json:"rewardUTXOs"`

	Height int `json:"-"`
	// rewarded is the height at which it has its reward outputs, 0 if never.
	rewarded int
}

// A ChainBlock is one of the P- or X-Chain.
type ChainBlock struct {
	Height          int
	Block           json.RawMessage // with the encoding hex
	JSON            json.RawMessage
	Container       json.RawMessage
	Txs             []*Tx
	ValidatorsAt    Members
	AllValidatorsAt json.RawMessage

	ID   string `json:"-"`
	time int64
}

// A Chain is the P- or the X-Chain.
type Chain struct {
	Blocks []*ChainBlock
	Txs    map[string]*Tx
}

// A Change is what an account has from a height on.
type Change struct {
	Height         int
	Balance, Nonce string // hex quantities
}

// A Call is a question that nothing else answers.
type Call struct {
	Path, Method  string
	Params        json.RawMessage
	Result, Error json.RawMessage
	At            float64 // Unix seconds
}

// A World is what was recorded of a network.
type World struct {
	Blocks   []*Block
	P, X     Chain
	Accounts map[string][]Change // by address, in lower case

	hashes  map[string]int
	txs     map[string][2]int // block and index
	proofs  map[int]map[string]json.RawMessage
	calls   map[string][]Call
	methods map[string]bool
	alias   map[string]string // of a blockchain ID
}

// Load reads the files of a recorded network, each from the first folder that has it.
func Load(dirs ...string) (*World, error) {
	w := &World{Accounts: map[string][]Change{}, hashes: map[string]int{}, txs: map[string][2]int{}, proofs: map[int]map[string]json.RawMessage{},
		calls: map[string][]Call{}, methods: map[string]bool{}, alias: map[string]string{}}
	var calls []Call
	err := errors.Join(
		lines(dirs, "c-blocks", w.addBlock),
		lines(dirs, "c-balances", w.addAccount),
		lines(dirs, "c-proofs", w.addProofs),
		lines(dirs, "p-blocks", w.P.add),
		lines(dirs, "x-blocks", w.X.add),
		lines(dirs, "calls", func(c Call) error { calls = append(calls, c); return nil }),
	)
	slices.SortStableFunc(calls, func(a, b Call) int { return int(a.At*1000) - int(b.At*1000) })
	for _, c := range calls {
		var p struct{ Alias string }
		var r struct{ BlockchainID string }
		if c.Method == "info.getBlockchainID" && decode(c.Params, &p) && decode(c.Result, &r) && len(p.Alias) == 1 {
			w.alias[r.BlockchainID] = p.Alias
		}
	}
	for _, c := range calls {
		c.Path = w.path(c.Path)
		key := c.Path + " " + c.Method
		w.methods[key] = true
		w.calls[key+" "+canonical(c.Params)] = append(w.calls[key+" "+canonical(c.Params)], c)
	}
	return w, err
}

// lines calls add with every line of a file.
func lines[T any](dirs []string, name string, add func(T) error) error {
	var file *os.File
	err := os.ErrNotExist
	for _, dir := range dirs {
		if file, err = os.Open(filepath.Join(dir, name+".jsonl.gz")); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for d, n := json.NewDecoder(z), 1; ; n++ {
		var v T
		if err = d.Decode(&v); err == nil {
			err = add(v)
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
}

func (w *World) addBlock(b *Block) error {
	if b.Number != len(w.Blocks) {
		return fmt.Errorf("block %d in place of %d", b.Number, len(w.Blocks))
	}
	if err := json.Unmarshal(b.Block["transactions"], &b.Txs); err != nil {
		return err
	}
	b.time, b.Settled = int64(Quantity(b.Block["timestamp"])), -1
	if h := b.Block["settledHeight"]; h != nil {
		b.Settled = int(Quantity(h))
	}
	w.hashes[b.Hash] = b.Number
	for i, t := range b.Txs {
		w.txs[Text(t["hash"])] = [2]int{b.Number, i}
	}
	w.Blocks = append(w.Blocks, b)
	return nil
}

func (w *World) addAccount(a struct {
	Address string
	Changes [][3]any
}) error {
	for _, c := range a.Changes {
		height, ok1 := c[0].(float64)
		balance, ok2 := c[1].(string)
		nonce, ok3 := c[2].(string)
		if !ok1 || !ok2 || !ok3 {
			return fmt.Errorf("changes of %s: %v", a.Address, c)
		}
		w.Accounts[a.Address] = append(w.Accounts[a.Address], Change{int(height), balance, nonce})
	}
	return nil
}

func (w *World) addProofs(a struct {
	Height int
	Nodes  []string
	Proofs map[string]Members
}) error {
	m := map[string]json.RawMessage{}
	for address, p := range a.Proofs {
		var indices []int
		if p["error"] != nil {
			continue
		}
		if err := json.Unmarshal(p["accountProof"], &indices); err != nil {
			return err
		}
		nodes := make([]string, len(indices))
		for i, k := range indices {
			nodes[i] = a.Nodes[k]
		}
		p["accountProof"] = encode(nodes)
		m[address] = encode(p)
	}
	w.proofs[a.Height] = m
	return nil
}

func (c *Chain) add(b *ChainBlock) error {
	if b.Height != len(c.Blocks) {
		return fmt.Errorf("block %d in place of %d", b.Height, len(c.Blocks))
	}
	if c.Txs == nil {
		c.Txs = map[string]*Tx{}
	}
	var accepted struct{ Timestamp time.Time }
	if decode(b.Container, &accepted); !accepted.Timestamp.IsZero() {
		b.time = accepted.Timestamp.Unix()
	}
	var id struct{ ID string }
	if err := json.Unmarshal(b.JSON, &id); err != nil {
		return err
	}
	b.ID = id.ID
	for _, t := range b.Txs {
		t.Height = b.Height
		c.Txs[t.ID] = t
		var tx struct {
			UnsignedTx struct {
				TxID            string
				Timestamp, Auth json.RawMessage
			}
		}
		// Reward transactions have the one that staked in them, and no authorization.
		if decode(t.JSON, &tx); tx.UnsignedTx.TxID != "" && tx.UnsignedTx.Auth == nil {
			t.rewarded = b.Height
			if s := c.Txs[tx.UnsignedTx.TxID]; s != nil && tx.UnsignedTx.Timestamp == nil {
				s.rewarded = b.Height
			}
		}
	}
	c.Blocks = append(c.Blocks, b)
	return nil
}

// at returns the height of the chain at a time.
func (c *Chain) at(now int64) int {
	n := len(c.Blocks) - 1
	for n > 0 && c.Blocks[n].time > now {
		n--
	}
	return n
}

// At returns what an account has after a block; without any change it has nothing.
func (w *World) At(address string, height int) (Change, bool) {
	list := w.Accounts[strings.ToLower(address)]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Height <= height {
			return list[i], true
		}
	}
	return Change{}, false
}

// path returns a path with a chain's alias in place of its ID.
func (w *World) path(p string) string {
	rest, ok := strings.CutPrefix(p, "/ext/bc/")
	id, more, _ := strings.Cut(rest, "/")
	if alias := w.alias[id]; ok && alias != "" {
		return strings.TrimSuffix("/ext/bc/"+alias+"/"+more, "/")
	}
	return p
}

// decode reports whether r is a JSON document that fits v.
func decode(r json.RawMessage, v any) bool { return json.Unmarshal(r, v) == nil }

// encode returns the JSON of a value of which every part has one.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Text returns the string that r is, "" if it is none.
func Text(r json.RawMessage) (s string) {
	if !decode(r, &s) {
		return ""
	}
	return s
}

// Quantity returns the number of at most 64 bits whose hex quantity r is, 0 if it is none.
func Quantity(r json.RawMessage) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(Text(r), "0x"), 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// Texts returns the strings that r is an array of.
func Texts(r json.RawMessage) (list []string) {
	if !decode(r, &list) {
		return nil
	}
	return list
}

// Last returns the last recorded result of a call, nil if there is none.
func (w *World) Last(path, method, params string) json.RawMessage {
	list := w.calls[w.path(path)+" "+method+" "+canonical(json.RawMessage(params))]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1].Result
}
