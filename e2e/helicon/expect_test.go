package helicon

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"quorate/e2e/helicon/replay"
)

const (
	evmChain   = "/v1/chains/43112"
	chainsPath = "/v1/networks/testnet/blockchains"

	topicTransfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
	topicSingle   = "0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62"
	feeTypeTip    = 2 // of transactions with a tip
)

func blockPath(height int) string { return fmt.Sprintf("%s/blocks/%d", evmChain, height) }

// misses collects what an answer says otherwise than the recordings do.
type misses []error

func (m *misses) want(what string, got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		*m = append(*m, fmt.Errorf("%s: %v, recorded: %v", what, got, want))
	}
}

func (m *misses) err(err error) bool {
	if err != nil {
		*m = append(*m, err)
	}
	return err == nil
}

// join returns the first misses as an error.
func (m misses) join() error {
	if len(m) > 20 {
		m = append(m[:20:20], fmt.Errorf("and %d more", len(m)-20))
	}
	return errors.Join(m...)
}

// decimal returns a hex quantity of any size in decimal form.
func decimal(hex string) string {
	n, ok := new(big.Int).SetString(strings.TrimPrefix(hex, "0x"), 16)
	if !ok {
		return "no quantity: " + hex
	}
	return n.String()
}

// paid is what receipts say of a block: gas, fees, and the executed base fee where a
// transaction shows it, which is one whose fee cap left its tip whole.
func paid(b *replay.Block) (gas, fees uint64, baseFee string) {
	if b.Settled < 0 {
		baseFee = decimal(replay.Text(b.Block["baseFeePerGas"]))
	}
	for i, r := range b.Receipts {
		price := replay.Quantity(r["effectiveGasPrice"])
		gas += replay.Quantity(r["gasUsed"])
		fees += replay.Quantity(r["gasUsed"]) * price
		if tx := b.Txs[i]; replay.Quantity(tx["type"]) == feeTypeTip && price < replay.Quantity(tx["maxFeePerGas"]) {
			baseFee = fmt.Sprint(price - replay.Quantity(tx["maxPriorityFeePerGas"]))
		}
	}
	return gas, fees, baseFee
}

// block compares a block of the C-Chain and its transactions.
func (s *server) block(ctx context.Context, b *replay.Block) error {
	var (
		m   misses
		got struct {
			BlockHash, ParentHash, GasUsed, FeesSpent, BaseFee    string
			ReservedGas, ReservedBaseFee, SettledHeight, GasLimit string
			TxCount                                               int
		}
	)
	if err := s.get(ctx, blockPath(b.Number), &got); err != nil {
		return err
	}
	gas, fees, baseFee := paid(b)
	what := fmt.Sprintf("block %d: ", b.Number)
	m.want(what+"hash", got.BlockHash, b.Hash)
	m.want(what+"parentHash", got.ParentHash, replay.Text(b.Block["parentHash"]))
	m.want(what+"gasUsed", got.GasUsed, gas)
	m.want(what+"feesSpent", got.FeesSpent, fees)
	m.want(what+"gasLimit", got.GasLimit, replay.Quantity(b.Block["gasLimit"]))
	m.want(what+"txCount", got.TxCount, len(b.Receipts))
	if baseFee != "" && b.Number > 0 {
		m.want(what+"baseFee", got.BaseFee, baseFee)
	}
	if b.Settled >= 0 {
		m.want(what+"reservedGas", got.ReservedGas, replay.Quantity(b.Block["gasUsed"]))
		m.want(what+"reservedBaseFee", got.ReservedBaseFee, replay.Quantity(b.Block["baseFeePerGas"]))
		m.want(what+"settledHeight", got.SettledHeight, b.Settled)
	}
	for i := range b.Receipts {
		m.err(s.tx(ctx, b, i))
	}
	return m.join()
}

// transfers returns the values of the ERC-20 transfers in a receipt, and the numbers of others.
func transfers(receipt replay.Members) (erc20 []string, erc721, erc1155 int) {
	for _, l := range replay.Logs(receipt) {
		topics := replay.Texts(l["topics"])
		switch {
		case topics[0] == topicTransfer && len(topics) == 3:
			erc20 = append(erc20, decimal(replay.Text(l["data"])))
		case topics[0] == topicTransfer && len(topics) == 4:
			erc721++
		case topics[0] == topicSingle:
			erc1155++
		}
	}
	return erc20, erc721, erc1155
}

// tx compares a transaction of the C-Chain.
func (s *server) tx(ctx context.Context, b *replay.Block, i int) error {
	var (
		m   misses
		r   = b.Receipts[i]
		got struct {
			NativeTransaction struct {
				BlockNumber, TxStatus, GasUsed, GasPrice string
			}
			Erc20Transfers                    []struct{ Value string }
			Erc721Transfers, Erc1155Transfers []struct{}
		}
	)
	hash := replay.Text(r["transactionHash"])
	if err := s.get(ctx, evmChain+"/transactions/"+hash, &got); err != nil {
		return err
	}
	what, n := fmt.Sprintf("block %d, transaction %d: ", b.Number, i), got.NativeTransaction
	erc20, erc721, erc1155 := transfers(r)
	m.want(what+"block", n.BlockNumber, b.Number)
	m.want(what+"status", n.TxStatus, replay.Quantity(r["status"]))
	m.want(what+"gasUsed", n.GasUsed, replay.Quantity(r["gasUsed"]))
	m.want(what+"gasPrice", n.GasPrice, replay.Quantity(r["effectiveGasPrice"]))
	var values []string
	for _, x := range got.Erc20Transfers {
		values = append(values, x.Value)
	}
	m.want(what+"ERC-20", values, erc20)
	m.want(what+"ERC-721", len(got.Erc721Transfers), erc721)
	m.want(what+"ERC-1155", len(got.Erc1155Transfers), erc1155)
	return m.join()
}

// blocks compares all blocks of the C-Chain from one on to the tip, and what accounts have
// where it changes, just before, and at the tip.
func (s *server) blocks(ctx context.Context, w *replay.World, from, tip int) error {
	var m misses
	for _, b := range w.Blocks[from : tip+1] {
		m.err(s.block(ctx, b))
	}
	for address, list := range w.Accounts {
		heights := map[int]bool{tip: true}
		for _, c := range list {
			heights[c.Height], heights[c.Height-1] = true, true
		}
		for h := range heights {
			if h < from || h > tip {
				continue
			}
			var got struct{ NativeTokenBalance struct{ Balance string } }
			if !m.err(s.get(ctx, fmt.Sprintf("%s/addresses/%s/balances:getNative?blockNumber=%d", evmChain, address, h), &got)) {
				continue
			}
			want, _ := w.At(address, h)
			m.want(fmt.Sprintf("balance of %s at %d", address, h), got.NativeTokenBalance.Balance, decimal(want.Balance))
		}
	}
	return m.join()
}
