package follow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	"quorate/engine/ingest"
	evmsource "quorate/engine/source/evm"
	store "quorate/engine/store/index"
	"quorate/engine/tokens"
)

var errNoAnswer = errors.New("nobody answers")

// mute is a node that answers nothing.
type mute struct{}

func (mute) Tip(context.Context) (h chain.Head, err error) { return h, errNoAnswer }
func (mute) Fetch(context.Context, uint64, uint64) ([]*evm.Block, error) {
	return nil, errNoAnswer
}
func (mute) Watch(context.Context, func(uint64)) error { return errNoAnswer }
func (mute) ReadContracts(context.Context, *evm.Head, []evmsource.ContractCall) error {
	return errNoAnswer
}

// listener notes how high the index was when the network learned of a block.
type listener struct {
	host
	index *index.Chain
	heard []string
}

func (l *listener) Accepted(_ chain.ID, b *evm.Block, _ uint64) {
	height, _, ok := l.index.Cursor()
	l.heard = append(l.heard, fmt.Sprintf("%d at %d %t", b.Number, height, ok))
}

// TestAcceptedFirst: the network learns of a block before its rows are written, so that
// the messages in it are signed meanwhile.
func TestAcceptedFirst(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.TempDir(), store.Options{NoSync: true, MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- db.Run(ctx) }()
	defer func() {
		cancel()
		if err := errors.Join(<-done, db.CloseWithin(time.Minute)); err != nil {
			t.Error(err)
		}
	}()
	x, err := index.Open(db, chain.ID{1}, index.Options{NoRollup: true})
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{index: x}
	c := &EVM{base: base[*evm.Block]{common: Common{Host: l}}, rows: x}
	if c.tokens, err = tokens.New(tokens.Config{Index: x, Node: mute{}}); err != nil {
		t.Fatal(err)
	}
	sink := headSink{index.Sink{Chain: x}, c.before}
	blocks := indextest.New(indextest.Config{Seed: 1, Txs: 3}).Blocks(3)
	if err := sink.Commit(t.Context(), blocks[:1]); err != nil { // as from the archive: long accepted
		t.Fatal(err)
	}
	i, err := ingest.New(ingest.Config[*evm.Block]{Source: mute{}, Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	c.ingest.Store(i)
	full := errors.New("the disk is full")
	if err := sink.CommitAfter(t.Context(), blocks[1:2], func() error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	for _, b := range blocks[1:] {
		if err := sink.Commit(t.Context(), []*evm.Block{b}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"1 at 0 true", "1 at 0 true", "2 at 1 true"}; !slices.Equal(l.heard, want) {
		t.Errorf("%q, want %q", l.heard, want)
	}
}
