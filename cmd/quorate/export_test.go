package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
	"quorate/devnet/torture"
)

// parties are the members of a page that have a from and a to.
type parties struct {
	From, To struct{ Address string }
}

// shownToken is a token in a page, shownMove a transfer or an internal transaction.
type (
	shownToken struct {
		Address, Name, Symbol string
		Decimals              *int
		TokenID               string `json:"tokenId"`
	}
	shownMove struct {
		parties
		LogIndex          int
		Value             string
		Erc20Token        *shownToken
		Erc721Token       *shownToken
		Erc1155Token      *shownToken
		InternalTxType    string
		IsReverted        bool
		GasUsed, GasLimit string
	}
	shownTx struct {
		NativeTransaction struct {
			parties
			BlockNumber, BlockHash, ChainID, TxHash, TxStatus string
			BlockTimestamp, BlockIndex, TxType                int
			GasLimit, GasUsed, GasPrice, Nonce, Value         string
			Method                                            struct{ CallType, MethodHash string }
		}
		Erc20Transfers, Erc721Transfers, Erc1155Transfers, InternalTransactions []shownMove
	}
)

// TestExport: the file of an export has the rows that paging gives, in the order of the
// chain, and it is the same file, and the only one, however often the server is killed
// while it is written.
func TestExport(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: torture.Pick(100, 10_000), TxsPerBlock: torture.Pick(5, 100)})
	c, number := cChain(d)
	dir := t.TempDir()
	s := startChild(t, d, dir)
	awaitIndexed(t, s.url, c)
	addresses := senders(t, s.url, number, torture.Pick(30, 100))
	order := map[string]any{"type": "TRANSACTION_EXPORT_EVM", "options": map[string]any{"addresses": addresses, "includeChains": []string{number}}}
	body, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	begin := func() string {
		t.Helper()
		status, answer := post(t, s.url+"/v1/operations/transactions:export", string(body))
		if status != http.StatusCreated {
			t.Fatalf("%d %s", status, answer)
		}
		return fmt.Sprint(answer["operationId"])
	}
	want := exportFile(t, s.url, begin())
	columns := want[0]
	pages := pageRows(t, s.url, number, addresses, columns)
	if len(pages) < 100 {
		t.Errorf("only %d rows", len(pages))
	}
	alike(t, columns, pages)
	sameRows(t, "pages", pages, want[1:])
	rnd := rand.New(rand.NewPCG(7, 7))
	middle := 0
	for range killCount(t, 20) {
		id := begin()
		part := filepath.Join(dir, "exports", id+".part")
		poll(t, time.Millisecond, "the export is written", func() bool {
			_, err := os.Stat(part)
			return err == nil || stateOf(t, s.url, id).Status != "RUNNING"
		})
		<-time.After(time.Duration(rnd.IntN(torture.Pick(20, 4000))) * time.Millisecond)
		s.kill(t)
		if _, err := os.Stat(part); err == nil {
			middle++
		}
		s = startChild(t, d, dir)
		sameRows(t, "after a kill", exportFile(t, s.url, id), want)
	}
	files, err := os.ReadDir(filepath.Join(dir, "exports"))
	if err != nil || len(files) != killCount(t, 20)+1 || slices.ContainsFunc(files, func(f os.DirEntry) bool { return !strings.HasSuffix(f.Name(), ".csv.gz") }) {
		t.Errorf("files: %v, %v", files, err)
	}
	t.Logf("%d rows, %d of %d kills while the file was written", len(pages), middle, killCount(t, 20))
	exportByCommand(t, s.url, number, addresses, want)
	s.stop(t)
}

// alike takes out of rows what pages do not have, milliseconds, and what contracts say of
// themselves, which may be known some time after their blocks.
func alike(t *testing.T, columns []string, rows [][]string) {
	t.Helper()
	column := func(name string) int { return slices.Index(columns, name) }
	date, seconds := column("blockDate"), column("blockTimestamp")
	said := []int{column("tokenName"), column("tokenSymbol"), column("tokenDecimals")}
	for _, row := range rows {
		if row[date] != "" {
			at, err := time.Parse(time.RFC3339, row[date])
			if err != nil || strconv.FormatInt(at.Unix(), 10) != row[seconds] {
				t.Fatalf("%s is not %s, %v", row[date], row[seconds], err)
			}
		}
		row[date] = ""
		for _, i := range said {
			row[i] = ""
		}
	}
}

// sameRows compares rows.
func sameRows(t *testing.T, what string, got, want [][]string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !slices.Equal(got[i], want[i]) {
			t.Fatalf("%s: row %d of %d, want %d:\n%q\nwant\n%q", what, i, len(got), len(want), got[min(i, len(got)-1)], want[min(i, len(want)-1)])
		}
	}
}

// fileRows reads a file, with its line of names, for comparisons.
func fileRows(t *testing.T, file []byte) [][]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	alike(t, rows[0], rows[1:])
	return rows
}

// exportByCommand has quorate export fetch the same file.
func exportByCommand(t *testing.T, url, number string, addresses []string, want [][]string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "all.csv.gz")
	args := []string{"export", "--url", url, "--chain", number, "--address", strings.Join(addresses, ","), "--out", out}
	if code, text, errs := quorate(t, "", args...); code != exitDone || text != "" || !strings.Contains(errs, " rows in "+out) {
		t.Fatalf("exit code %d, %q, %q", code, text, errs)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, "the command's file", fileRows(t, got), want)
	if code, _, errs := quorate(t, "", args...); code != exitUsage || !strings.Contains(errs, "--force") {
		t.Errorf("exit code %d, %q", code, errs)
	}
	if code, _, errs := quorate(t, "", "export", "--url", url, "--chain", "1", "--address", addresses[0]); code != exitFailed || !strings.Contains(errs, "not served here") {
		t.Errorf("exit code %d, %q", code, errs)
	}
	if code, _, errs := quorate(t, "", "export", "--url", url); code != exitUsage {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

func decoded[T any](t *testing.T, answer []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return v
}

func stateOf(t *testing.T, url, id string) (s exportState) {
	t.Helper()
	status, answer := get(t, url+"/v1/operations/"+id)
	switch status {
	case http.StatusOK:
		return decoded[exportState](t, answer)
	case http.StatusServiceUnavailable: // the server has just begun
		return exportState{Status: "RUNNING"}
	}
	t.Fatalf("%d %s", status, answer)
	return s
}

// exportFile waits for an export and returns the rows of its file.
func exportFile(t *testing.T, url, id string) [][]string {
	t.Helper()
	var s exportState
	poll(t, 20*time.Millisecond, "export "+id+" ends", func() bool {
		s = stateOf(t, url, id)
		return s.Status != "RUNNING"
	})
	if s.Status != "COMPLETED" {
		t.Fatalf("%+v", s)
	}
	status, file := get(t, s.Metadata.DownloadURL)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, file)
	}
	return fileRows(t, file)
}

// senders returns so many of those that have sent the latest transactions.
func senders(t *testing.T, url, number string, most int) (list []string) {
	t.Helper()
	_, answer := get(t, url+"/v1/chains/"+number+"/transactions?pageSize=100")
	for _, tx := range decoded[struct {
		Transactions []struct{ From struct{ Address string } }
	}](t, answer).Transactions {
		if a := tx.From.Address; !slices.Contains(list, a) && len(list) < most {
			list = append(list, a)
		}
	}
	return list
}

// pageRows walks the pages of all addresses, oldest first, and returns what an export is
// to have. Of a transaction that several of them have part in, pages have what concerns
// one each: that is taken from the transaction itself.
func pageRows(t *testing.T, url, number string, addresses, columns []string) (rows [][]string) {
	t.Helper()
	type place struct{ block, index int }
	seen := make(map[place]*shownTx)
	shared := make(map[place]bool)
	var order []place
	for _, a := range addresses {
		for token := ""; ; {
			path := fmt.Sprintf("%s/v1/chains/%s/addresses/%s/transactions?pageSize=100&sortOrder=asc", url, number, a)
			if token != "" {
				path += "&pageToken=" + token
			}
			status, answer := get(t, path)
			if status != http.StatusOK {
				t.Fatalf("%d %s", status, answer)
			}
			page := decoded[struct {
				NextPageToken string
				Transactions  []*shownTx
			}](t, answer)
			for _, tx := range page.Transactions {
				block, err := strconv.Atoi(tx.NativeTransaction.BlockNumber)
				if err != nil {
					t.Fatal(err)
				}
				at := place{block, tx.NativeTransaction.BlockIndex}
				if seen[at] == nil {
					seen[at], order = tx, append(order, at)
				} else {
					shared[at] = true
				}
			}
			if token = page.NextPageToken; token == "" {
				break
			}
		}
	}
	slices.SortFunc(order, func(a, b place) int { return cmp.Or(a.block-b.block, a.index-b.index) })
	for _, at := range order {
		tx := seen[at]
		if shared[at] {
			_, answer := get(t, url+"/v1/chains/"+number+"/transactions/"+tx.NativeTransaction.TxHash)
			whole := decoded[shownTx](t, answer)
			tx = &whole
		}
		rows = append(rows, tx.rows(t, addresses, columns)...)
	}
	return rows
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
