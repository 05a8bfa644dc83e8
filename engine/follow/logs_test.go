package follow

import (
	"errors"
	"reflect"
	"testing"

	"quorate/engine/archive"
	archiveevm "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
)

// TestLogs: logs are those of the transaction in the archive's block, and what is not
// there is said to be missing.
func TestLogs(t *testing.T) {
	t.Parallel()
	a, err := archive.Open(t.TempDir(), archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	logs := []evm.Log{{Index: 0, Address: evm.Address{7}, Topics: []evm.Hash{{8}, {9}}, Data: []byte{1, 2, 3}}, {Index: 1, Address: evm.Address{6}, Data: []byte{}}}
	one := &evm.Block{Number: 5, Hash: evm.Hash{5}, Parent: evm.Hash{4}, Txs: []evm.Tx{{Hash: evm.Hash{1}}, {Hash: evm.Hash{2}, Index: 1, Logs: logs}}}
	if err := a.Append(t.Context(), []archive.Block{archiveevm.BlockOf(one)}); err != nil {
		t.Fatal(err)
	}
	got, err := logsOf(t.Context(), a, 5, evm.Hash{2})
	if len(got) != 2 || err != nil || got[0].Address != logs[0].Address || !reflect.DeepEqual(got[0].Topics, logs[0].Topics) || string(got[0].Data) != string(logs[0].Data) || got[1].Index != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := logsOf(t.Context(), a, 5, evm.Hash{1}); len(got) != 0 || err != nil {
		t.Errorf("of a transaction without logs: %v, %v", got, err)
	}
	if _, err := logsOf(t.Context(), a, 5, evm.Hash{3}); !errors.Is(err, ErrNoTx) {
		t.Errorf("of another block's: %v", err)
	}
	for _, number := range []uint64{4, 6} {
		if _, err := logsOf(t.Context(), a, number, evm.Hash{2}); !errors.Is(err, ErrNotArchived) {
			t.Errorf("block %d: %v", number, err)
		}
	}
	if _, err := new(EVM).Logs(t.Context(), 5, evm.Hash{2}); !errors.Is(err, ErrNoArchive) {
		t.Errorf("without an archive: %v", err)
	}
}
