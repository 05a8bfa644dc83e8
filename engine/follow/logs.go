package follow

import (
	"context"
	"errors"
	"fmt"

	"quorate/engine/archive"
	archiveevm "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
)

// Errors of [EVM.Logs].
var (
	// ErrNoArchive: the archive of the chain is not open yet.
	ErrNoArchive = errors.New("the archive of the chain is not open")
	// ErrNotArchived: the archive does not have the block, any more or yet.
	ErrNotArchived = errors.New("the archive does not have the block")
	// ErrNoTx: the block has no such transaction.
	ErrNoTx = errors.New("the block has no such transaction")
)

// Logs returns the logs of a transaction as its block in the archive has them.
func (c *EVM) Logs(ctx context.Context, number uint64, tx evm.Hash) ([]evm.Log, error) {
	k := c.keeper.Load()
	if k == nil {
		return nil, ErrNoArchive
	}
	return logsOf(ctx, k.sink.archive, number, tx)
}

func logsOf(ctx context.Context, a *archive.Archive, number uint64, tx evm.Hash) (logs []evm.Log, err error) {
	found := false
	err = a.Read(ctx, number, number, func(kept archive.Block) error {
		b := new(evm.Block)
		if err := archiveevm.Decode(kept.Data, b); err != nil {
			return fmt.Errorf("block %d: %w", number, err)
		}
		for i := range b.Txs {
			if b.Txs[i].Hash == tx {
				logs, found = b.Txs[i].Logs, true
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, archive.ErrRange):
		return nil, ErrNotArchived
	case err == nil && !found:
		return nil, ErrNoTx
	}
	return logs, err
}
