package history

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/holiman/uint256"

	"quorate/engine/archive"
	archiveevm "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
)

// Errors of a History.
var (
	// ErrNotArchived: the archive does not have the block, any more or yet.
	ErrNotArchived = errors.New("the archive does not have the block")
	// ErrNoTx: the block has no such transaction.
	ErrNoTx = errors.New("the block has no such transaction")
	// ErrNoArchive: the archive of the chain is not open yet.
	ErrNoArchive = errors.New("the archive of the chain is not open")
)

// Places knows where things are, as the index of a chain does.
type Places interface {
	// Cursor returns the last block that is indexed.
	Cursor() (number uint64, hash evm.Hash, ok bool)
	// Block returns the height of a block, and Tx the place of a transaction.
	Block(hash evm.Hash) (number uint64, found bool, err error)
	Tx(hash evm.Hash) (number uint64, index uint32, found bool, err error)
	// Later reports whether the chain executes blocks after it accepted them, as far as it
	// is known.
	Later() (later, known bool)
}

// History answers from one archive. All methods may be called at once.
type History struct {
	places Places
	// open returns the archive, nil as long as there is none.
	open func() *archive.Archive

	filters *filters
	first   atomic.Pointer[uint256.Int] // the difficulty of the genesis block, once it is known

	mu        sync.Mutex // guards what follows
	read      archive.NotesAt
	corrected map[uint64]bool // blocks of which something false was archived
}

// New returns the history of a chain.
func New(places Places, open func() *archive.Archive) *History {
	return &History{places: places, open: open, filters: newFilters(), corrected: make(map[uint64]bool)}
}

// Forget drops what is remembered of blocks, for the chain went back.
func (h *History) Forget() { h.filters.clear() }

// TxLogs returns the logs of a transaction as its block in the archive has them.
func (h *History) TxLogs(ctx context.Context, number uint64, tx evm.Hash) (logs []evm.Log, err error) {
	b, err := h.block(ctx, number)
	if err != nil {
		return nil, err
	}
	for i := range b.Txs {
		if b.Txs[i].Hash == tx {
			return b.Txs[i].Logs, nil
		}
	}
	return nil, ErrNoTx
}

// block returns a block as it is known now.
func (h *History) block(ctx context.Context, number uint64) (b *evm.Block, err error) {
	err = h.blocks(ctx, number, number, func(is *evm.Block) error {
		b = is
		return nil
	})
	return b, err
}

// blocks calls f with the blocks of a range, in order, as they are known now.
func (h *History) blocks(ctx context.Context, from, to uint64, f func(b *evm.Block) error) error {
	a, err := h.archive(ctx)
	if err != nil {
		return err
	}
	err = a.Read(ctx, from, to, func(kept archive.Block) error {
		if h.isCorrected(kept.Height) {
			return archiveevm.NewReader(a).Read(ctx, kept.Height, kept.Height, f)
		}
		b := new(evm.Block)
		if err := archiveevm.Decode(kept.Data, b); err != nil {
			return fmt.Errorf("block %d: %w", kept.Height, err)
		}
		return f(b)
	})
	if errors.Is(err, archive.ErrRange) {
		return ErrNotArchived
	}
	return err
}

// archive returns the archive, once it is known of which blocks something false is in it.
func (h *History) archive(ctx context.Context) (*archive.Archive, error) {
	a := h.open()
	if a == nil {
		return nil, ErrNoArchive
	}
	return a, h.correct(ctx, a)
}

// correct learns of which blocks something false was archived.
func (h *History) correct(ctx context.Context, a *archive.Archive) error {
	end := a.NotesEnd()
	h.mu.Lock()
	defer h.mu.Unlock()
	if end == h.read {
		return nil
	}
	err := a.Notes(ctx, func(n archive.Note) error {
		if !h.corrected[n.Height] {
			h.corrected[n.Height] = true
			h.filters.drop(n.Height / spanBlocks)
		}
		return nil
	}, archiveevm.NoteBlock, archiveevm.NoteCorrection)
	if d := (*archive.Damage)(nil); err == nil || errors.As(err, &d) {
		h.read, err = end, nil
	}
	return err
}

func (h *History) isCorrected(number uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.corrected[number]
}
