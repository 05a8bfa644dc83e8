package tokens

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	evmsource "quorate/engine/source/evm"
	store "quorate/engine/store/index"
)

// world is a chain with tokens, its index, a node, and an archive for notes.
type world struct {
	t     testing.TB
	index *index.Chain
	notes []archive.Note
	last  *evm.Block

	mu     sync.Mutex
	tokens map[evm.Address]*token
	err    error // of all reads
	noPast bool  // no state of any height
	forked bool  // other blocks than those of the index
	hang   bool  // until the context ends
	calls  int
}

// token is a contract. What is nil or false it does not answer.
type token struct {
	name, symbol string
	decimals     int // below 0: none
	kind         index.TransferKind
	balance      func(holder evm.Address, height uint64) uint64 // nil: as events have it
	uri          func(id uint64) string
	held         map[evm.Address]uint64
}

// database has the chains of all worlds, each under an ID of its own.
var (
	database *store.DB
	worlds   atomic.Uint64
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tokens")
	if err == nil {
		database, err = store.Open(dir, store.Options{MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8, NoSync: true})
	}
	code := 1
	if err == nil {
		code = m.Run()
		err = errors.Join(database.Close(), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var errNode = errors.New("the node is gone")

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, tokens: map[evm.Address]*token{}}
	id := chain.ID{1}
	binary.BigEndian.PutUint64(id[8:], worlds.Add(1))
	var err error
	if w.index, err = index.Open(database, id, index.Options{NoRollup: true}); err != nil {
		t.Fatal(err)
	}
	w.block()
	return w
}

func (w *world) lane() *Lane {
	w.t.Helper()
	l, err := New(Config{Index: w.index, Node: w, Keep: func(_ context.Context, notes []archive.Note) error {
		w.notes = append(w.notes, notes...)
		return nil
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.do(l.begin(w.t.Context()))
	return l
}

func (w *world) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// settle has a lane work until there is nothing left to do now.
func (w *world) settle(l *Lane) {
	w.t.Helper()
	for range 100_000 {
		for _, n := range l.news.Drain(nil) {
			l.take(w.t.Context(), n)
		}
		idle, err := l.step(w.t.Context())
		w.do(err)
		if idle && l.news.Len() == 0 && !l.lost.Load() {
			return
		}
	}
	w.t.Fatal("the work never ends")
}

func (w *world) readAll(_ context.Context, f func(archive.Note) error, _ ...archive.NoteType) error {
	for _, n := range w.notes {
		if err := f(n); err != nil {
			return err
		}
	}
	return nil
}

// Logs.

func topicOf(a evm.Address) (h evm.Hash) {
	copy(h[12:], a[:])
	return h
}

func word(n uint64) []byte {
	b := make([]byte, 32)
	binary.BigEndian.PutUint64(b[24:], n)
	return b
}

func transferLog(token, from, to evm.Address, amount uint64) evm.Log {
	return evm.Log{Address: token, Topics: []evm.Hash{topic("Transfer(address,address,uint256)"), topicOf(from), topicOf(to)}, Data: word(amount)}
}

func nftLog(token, from, to evm.Address, id uint64) evm.Log {
	return evm.Log{Address: token, Topics: []evm.Hash{topic("Transfer(address,address,uint256)"), topicOf(from), topicOf(to), evm.Hash(word(id))}}
}

// block indexes a block with one transaction for each group of logs.
func (w *world) block(groups ...[]evm.Log) *evm.Block {
	w.t.Helper()
	b := &evm.Block{Traced: true}
	if w.last != nil {
		b.Number, b.Parent = w.last.Number+1, w.last.Hash
	}
	b.Hash = hashAt(b.Number)
	b.TimeMilli = b.Number * 1000
	n := uint32(0)
	for i, logs := range groups {
		tx := evm.Tx{Index: uint32(i), Hash: evm.Keccak(b.Hash[:], word(uint64(i))), From: evm.Address{0xee}}
		for _, log := range logs {
			log.Index = n
			n++
			tx.Logs = append(tx.Logs, log)
			if t := w.tokens[log.Address]; t != nil && len(log.Topics) == 3 && len(log.Data) == 32 {
				v := binary.BigEndian.Uint64(log.Data[24:])
				t.held[evm.Address(log.Topics[1][12:])] -= v
				t.held[evm.Address(log.Topics[2][12:])] += v
			}
		}
		b.Txs = append(b.Txs, tx)
	}
	w.last = b
	w.do(w.index.Commit(w.t.Context(), []*evm.Block{b}))
	return b
}

func hashAt(height uint64) evm.Hash { return evm.Keccak([]byte("block"), word(height)) }

func headAt(height uint64) *evm.Head { return &evm.Head{Number: height, Hash: hashAt(height)} }

// grow indexes a block and tells a lane of it, as the chain's head does.
func (w *world) grow(l *Lane, groups ...[]evm.Log) *evm.Block {
	w.t.Helper()
	b := w.block(groups...)
	var tokens []index.SeenToken
	var nfts []index.SeenNFT
	eachTransfer([]*evm.Block{b}, func(_ *evm.Block, t *index.Transfer) {
		tokens = append(tokens, index.SeenToken{Token: t.Token, Kind: t.Kind})
		if t.From.IsZero() && t.Kind != index.ERC20 {
			nfts = append(nfts, index.SeenNFT{NFT: index.NFT{Token: t.Token, ID: t.ID}, Kind: t.Kind})
		}
	})
	if len(tokens) > 0 {
		l.Seen(tokens, nfts)
	}
	l.Block(b)
	w.settle(l)
	return b
}

func (w *world) add(a evm.Address, t *token) *token {
	t.held = map[evm.Address]uint64{}
	w.tokens[a] = t
	return t
}

// ReadContracts implements [Node].
func (w *world) ReadContracts(ctx context.Context, block *evm.Head, calls []evmsource.ContractCall) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.hang:
		<-ctx.Done()
		return ctx.Err()
	case w.err != nil:
		return w.err
	case block != nil && w.noPast:
		return evmsource.ErrNotFound
	case block != nil && (w.forked || block.Hash != hashAt(block.Number)):
		return evmsource.ErrOtherBlock
	}
	at := uint64(math.MaxUint64)
	if block != nil {
		at = block.Number
	}
	w.calls += len(calls)
	for i := range calls {
		calls[i].Returned = w.tokens[calls[i].To].answer(calls[i].Input, at)
	}
	return nil
}

func abiString(s string) []byte {
	b := append(append(word(32), word(uint64(len(s)))...), s...)
	return append(b, make([]byte, (32-len(s)%32)%32)...)
}

func (t *token) answer(input []byte, height uint64) []byte {
	is := func(signature string) bool {
		id := topic(signature)
		return bytes.HasPrefix(input, id[:4])
	}
	arg := func() uint64 { return binary.BigEndian.Uint64(input[28:36]) }
	switch {
	case t == nil:
	case is("name()"):
		return abiString(t.name)
	case is("symbol()"):
		return abiString(t.symbol)
	case is("decimals()") && t.decimals >= 0:
		return word(uint64(t.decimals))
	case is("totalSupply()"):
		return word(1)
	case is("supportsInterface(bytes4)"):
		yes := t.kind == index.ERC721 && input[4] == 0x80 || t.kind == index.ERC1155 && input[4] == 0xd9
		if yes {
			return word(1)
		}
		return word(0)
	case is("balanceOf(address)"):
		holder := evm.Address(input[16:36])
		if t.balance != nil {
			return word(t.balance(holder, height))
		}
		return word(t.held[holder])
	case (is("tokenURI(uint256)") || is("uri(uint256)")) && t.uri != nil:
		return abiString(t.uri(arg()))
	}
	return nil
}

// What tests ask of the index.

func (w *world) meta(c *index.Chain, a evm.Address) (m index.TokenMeta, known bool) {
	w.t.Helper()
	v := w.view(c)
	defer v.Close()
	m, known, err := v.Token(a)
	w.do(err)
	return m, known
}

func (w *world) uri(c *index.Chain, a evm.Address, id uint64) string {
	w.t.Helper()
	v := w.view(c)
	defer v.Close()
	uri, known, err := v.TokenURI(a, *uint256.NewInt(id))
	w.do(err)
	if !known {
		return "unknown"
	}
	return uri
}

func (w *world) view(c *index.Chain) *index.View {
	w.t.Helper()
	v, err := c.At(nil)
	w.do(err)
	return v
}
