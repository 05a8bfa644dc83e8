package webhook

import (
	"bytes"
	"strings"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/events"
	"quorate/engine/index"
)

// wordy are tokens with long names.
type wordy struct{}

func (wordy) Token(evm.Address) (index.TokenMeta, bool, error) {
	return index.TokenMeta{Name: strings.Repeat("n", 1<<10), Symbol: strings.Repeat("\"", 1<<10), Decimals: 6, HasDecimals: true}, true, nil
}

// TestLongNames: a message about a transaction that moves a token with a long name
// thousands of times is not thousands of times as long.
func TestLongNames(t *testing.T) {
	t.Parallel()
	const moves = 3000
	tx := &index.Tx{}
	for i := range moves {
		tx.Transfers = append(tx.Transfers, index.Transfer{Kind: index.ERC20, LogIndex: uint32(i)})
	}
	e := &events.Event{Tx: tx, Block: &events.Block{}}
	body, err := activity(&Hook{ID: "h"}, "43112", nil, e, wordy{})
	if err != nil {
		t.Fatal(err)
	}
	if len(body) > 4<<20 || bytes.Count(body, []byte(`"erc20Token":`)) != moves || !bytes.Contains(body, []byte(strings.Repeat("n", 1<<10))) {
		t.Errorf("%d bytes, %d transfers", len(body), bytes.Count(body, []byte(`"erc20Token":`)))
	}
}
