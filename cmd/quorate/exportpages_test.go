package main

import (
	"cmp"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"quorate/devnet/torture"
)

// senders returns so many of those that have sent the latest transactions.
func senders(t *testing.T, url, number string, most int) (list []string) {
	t.Helper()
	token := ""
	for range torture.Pick(1, 50) {
		path := url + "/v1/chains/" + number + "/transactions?pageSize=100"
		if token != "" {
			path += "&pageToken=" + token
		}
		_, answer := get(t, path)
		page := decoded[struct {
			NextPageToken string
			Transactions  []struct{ From struct{ Address string } }
		}](t, answer)
		for _, tx := range page.Transactions {
			if a := tx.From.Address; !slices.Contains(list, a) && len(list) < most {
				list = append(list, a)
			}
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	return list
}

// pageRows walks the pages of all addresses together, oldest first, and calls add with
// the rows that an export is to have.
func pageRows(t *testing.T, url, number string, addresses, columns []string, add func(row []string)) {
	t.Helper()
	walks := make([]*pageWalk, len(addresses))
	for i, a := range addresses {
		walks[i] = &pageWalk{base: fmt.Sprintf("%s/v1/chains/%s/addresses/%s/transactions?pageSize=100&sortOrder=asc", url, number, a)}
		walks[i].read(t)
	}
	for {
		var views []*shownTx // of the oldest transaction, by each who has part in it
		var of []*pageWalk
		for _, w := range walks {
			if w.next() == nil {
				continue
			}
			switch order := compareTx(t, w.next(), views); {
			case order < 0:
				views, of = []*shownTx{w.next()}, []*pageWalk{w}
			case order == 0:
				views, of = append(views, w.next()), append(of, w)
			}
		}
		if len(views) == 0 {
			return
		}
		for _, w := range of {
			w.pass(t)
		}
		for _, row := range joined(t, url, number, views).rows(t, addresses, columns) {
			alike(t, columns, row)
			add(row)
		}
	}
}

// pageWalk is a walk over the pages of an address.
type pageWalk struct {
	base, token string
	page        []*shownTx
}

func (w *pageWalk) next() *shownTx {
	if len(w.page) == 0 {
		return nil
	}
	return w.page[0]
}

// pass goes on to the next transaction.
func (w *pageWalk) pass(t *testing.T) {
	t.Helper()
	if w.page = w.page[1:]; len(w.page) == 0 && w.token != "" {
		w.read(t)
	}
}

func (w *pageWalk) read(t *testing.T) {
	t.Helper()
	path := w.base
	if w.token != "" {
		path += "&pageToken=" + w.token
	}
	status, answer := get(t, path)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	page := decoded[struct {
		NextPageToken string
		Transactions  []*shownTx
	}](t, answer)
	w.page, w.token = page.Transactions, page.NextPageToken
}

// compareTx compares the place of a transaction with that of those that views are of;
// before the first one it is before.
func compareTx(t *testing.T, tx *shownTx, views []*shownTx) int {
	t.Helper()
	if len(views) == 0 {
		return -1
	}
	number := func(tx *shownTx) int {
		n, err := strconv.Atoi(tx.NativeTransaction.BlockNumber)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return cmp.Or(number(tx)-number(views[0]), tx.NativeTransaction.BlockIndex-views[0].NativeTransaction.BlockIndex)
}

// joined returns a transaction with what concerns any of those whose views they are:
// pages have what concerns one. What cannot be told apart when it is in two views is
// taken from the transaction itself.
func joined(t *testing.T, url, number string, views []*shownTx) *shownTx {
	t.Helper()
	one := views[0]
	if len(views) == 1 {
		return one
	}
	for _, v := range views {
		if len(v.Erc1155Transfers)+len(v.InternalTransactions) > 0 {
			_, answer := get(t, url+"/v1/chains/"+number+"/transactions/"+one.NativeTransaction.TxHash)
			whole := decoded[shownTx](t, answer)
			return &whole
		}
	}
	for _, v := range views[1:] {
		one.Erc20Transfers = joinedMoves(one.Erc20Transfers, v.Erc20Transfers)
		one.Erc721Transfers = joinedMoves(one.Erc721Transfers, v.Erc721Transfers)
	}
	return one
}

// joinedMoves appends those of another view that are not there.
func joinedMoves(list, further []shownMove) []shownMove {
	for _, m := range further {
		if !slices.ContainsFunc(list, func(o shownMove) bool { return o.LogIndex == m.LogIndex }) {
			list = append(list, m)
		}
	}
	return list
}

// rows returns the rows of a transaction, as far as they concern the addresses.
func (tx *shownTx) rows(t *testing.T, of, columns []string) (rows [][]string) {
	n := &tx.NativeTransaction
	add := func(kind string, p *parties, cells map[string]string) {
		all := map[string]string{
			"rowType": kind, "chainId": n.ChainID, "blockNumber": n.BlockNumber, "blockTimestamp": strconv.Itoa(n.BlockTimestamp),
			"blockHash": n.BlockHash, "blockIndex": strconv.Itoa(n.BlockIndex), "txHash": n.TxHash, "txStatus": n.TxStatus,
			"from": p.From.Address, "to": p.To.Address,
		}
		for name, cell := range cells {
			all[name] = cell
		}
		row := make([]string, len(columns))
		for i, name := range columns {
			row[i] = all[name]
		}
		rows = append(rows, row)
	}
	used, price := new(big.Int), new(big.Int)
	if _, ok := used.SetString(n.GasUsed, 10); !ok {
		t.Fatal(n.GasUsed)
	}
	if _, ok := price.SetString(n.GasPrice, 10); !ok {
		t.Fatal(n.GasPrice)
	}
	add("transaction", &n.parties, map[string]string{
		"txType": strconv.Itoa(n.TxType), "nonce": n.Nonce, "value": n.Value, "gasLimit": n.GasLimit, "gasUsed": n.GasUsed, "gasPrice": n.GasPrice,
		"fee": price.Mul(price, used).String(), "callType": n.Method.CallType, "methodHash": n.Method.MethodHash,
	})
	concerns := func(m *shownMove) bool {
		return slices.Contains(of, m.From.Address) || slices.Contains(of, m.To.Address)
	}
	moves := slices.Concat(tx.Erc20Transfers, tx.Erc721Transfers, tx.Erc1155Transfers)
	slices.SortStableFunc(moves, func(a, b shownMove) int { return a.LogIndex - b.LogIndex })
	for i := range moves {
		m := &moves[i]
		if !concerns(m) {
			continue
		}
		token, kind := m.Erc20Token, "ERC-20"
		if m.Erc721Token != nil {
			token, kind = m.Erc721Token, "ERC-721"
		} else if m.Erc1155Token != nil {
			token, kind = m.Erc1155Token, "ERC-1155"
		}
		cells := map[string]string{
			"value": m.Value, "logIndex": strconv.Itoa(m.LogIndex), "tokenAddress": token.Address, "tokenName": token.Name,
			"tokenSymbol": token.Symbol, "tokenId": token.TokenID,
		}
		if token.Decimals != nil {
			cells["tokenDecimals"] = strconv.Itoa(*token.Decimals)
		}
		add(kind, &m.parties, cells)
	}
	for i := range tx.InternalTransactions {
		if m := &tx.InternalTransactions[i]; concerns(m) {
			add("internal", &m.parties, map[string]string{
				"value": m.Value, "gasLimit": m.GasLimit, "gasUsed": m.GasUsed, "callType": m.InternalTxType, "isReverted": strconv.FormatBool(m.IsReverted),
			})
		}
	}
	return rows
}

// memory returns the memory of a process that is no file's, in bytes.
