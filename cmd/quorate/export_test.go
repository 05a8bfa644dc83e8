package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

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
	campaign(t)
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: torture.Pick(100, 11_600), TxsPerBlock: torture.Pick(5, 100)})
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
	begin := func(s *child) string {
		t.Helper()
		status, answer := post(t, s.url+"/v1/operations/transactions:export", string(body))
		if status != http.StatusCreated {
			t.Fatalf("%d %s", status, answer)
		}
		return fmt.Sprint(answer["operationId"])
	}
	s.stop(t)
	s = startChild(t, d, dir, "--memory", "256MiB") // without what indexing took of memory
	want := exportFile(t, s.url, begin(s))
	if least := torture.Pick(100, 1_000_000); want.txs < least {
		t.Errorf("only %d transactions", want.txs)
	}
	besideExport(t, s, number, addresses, begin, want)
	columns, pages := want.columns, &rowList{}
	pageRows(t, s.url, number, addresses, columns, pages.add)
	sameRows(t, "pages", pages, want)
	s = killExports(t, s, d, dir, begin, want)
	files, err := os.ReadDir(filepath.Join(dir, "exports"))
	if err != nil || len(files) != 1+besideRounds()+(killCount(t, 20)+killsOfOne()-1)/killsOfOne() ||
		slices.ContainsFunc(files, func(f os.DirEntry) bool { return !strings.HasSuffix(f.Name(), ".csv.gz") }) {
		t.Errorf("files: %v, %v", files, err)
	}
	exportByCommand(t, s.url, number, addresses, want)
	s.stop(t)
}

// besideExport has exports written and measures what they take of memory besides the
// caches, which are as large as they get after another one of the same, and what pages take
// beside them. It measures in turns, since what else the machine does changes with time.
func besideExport(t *testing.T, s *child, number string, addresses []string, begin func(s *child) string, want *rowList) {
	t.Helper()
	idle, most := s.memory(t), 0
	var quiet, beside []time.Duration
	for range besideRounds() {
		quiet = append(quiet, pageTimes(t, s.url, number, addresses, func() {})...)
		id := begin(s)
		beside = append(beside, pageTimes(t, s.url, number, addresses, func() { most = max(most, s.memory(t)) })...)
		if state := stateOf(t, s.url, id).Status; state != "RUNNING" && torture.Pick(0, 1) == 1 {
			t.Errorf("the export was %s before the pages were answered", state)
		}
		most = max(most, s.memoryUntil(t, func() bool { return stateOf(t, s.url, id).Status != "RUNNING" }))
		sameRows(t, "another time", exportFile(t, s.url, id), want)
	}
	t.Logf("memory %d MiB above %d MiB; 99 of 100 pages within %v beside the export, %v without", (most-idle)>>20, idle>>20, ninetyNine(beside), ninetyNine(quiet))
	if most > idle+100<<20 {
		t.Errorf("the export takes %d MiB of memory, at most 100 are to be", (most-idle)>>20)
	}
	if ratio := float64(ninetyNine(beside)) / float64(ninetyNine(quiet)); ratio > 2 && torture.Pick(0, 1) == 1 {
		t.Errorf("pages take %.2f times as long beside an export, at most 2 are to be", ratio)
	}
}

// besideRounds is how many exports pages are measured beside.
func besideRounds() int { return torture.Pick(1, 3) }

// killsOfOne is how often the server is killed while it writes one export.
func killsOfOne() int { return torture.Pick(1, 5) }

// killExports kills the server at random moments of exports, each of which is to be like
// want in the end. It returns the server that runs then.
func killExports(t *testing.T, s *child, d *devnet.Devnet, dir string, begin func(s *child) string, want *rowList) *child {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 7))
	middle, id := 0, ""
	for i := range killCount(t, 20) {
		if id == "" {
			id = begin(s)
		}
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
		if (i+1)%killsOfOne() == 0 {
			sameRows(t, "after a kill", exportFile(t, s.url, id), want)
			id = ""
		}
	}
	if id != "" {
		sameRows(t, "after the last kill", exportFile(t, s.url, id), want)
	}
	t.Logf("%d transactions, %d rows, %d of %d kills while the file was written", want.txs, len(want.hashes), middle, killCount(t, 20))
	return s
}

// rowList is what of rows is compared: there are too many in the whole campaign to keep.
type rowList struct {
	columns []string
	hashes  []uint64
	txs     int        // rows of transactions
	text    [][]string // of the first ones
}

// maxRowText bounds the rows that are kept to be shown.
const maxRowText = 10_000

// add takes a row.
func (l *rowList) add(row []string) {
	l.hashes = append(l.hashes, xxhash.Sum64String(strings.Join(row, "\x00")))
	if row[0] == "transaction" {
		l.txs++
	}
	if len(l.text) < maxRowText {
		l.text = append(l.text, row)
	}
}

func (l *rowList) row(i int) any {
	if i < len(l.text) {
		return l.text[i]
	}
	return "a row that was not kept"
}

// alike takes out of a row what pages do not have, milliseconds, and what contracts say
// of themselves, which may be known some time after their blocks.
func alike(t *testing.T, columns, row []string) {
	t.Helper()
	column := func(name string) int { return slices.Index(columns, name) }
	date, seconds := column("blockDate"), column("blockTimestamp")
	if row[date] != "" {
		at, err := time.Parse(time.RFC3339, row[date])
		if err != nil || strconv.FormatInt(at.Unix(), 10) != row[seconds] {
			t.Fatalf("%s is not %s, %v", row[date], row[seconds], err)
		}
	}
	for _, name := range []string{"blockDate", "tokenName", "tokenSymbol", "tokenDecimals"} {
		row[column(name)] = ""
	}
}

// sameRows compares rows.
func sameRows(t *testing.T, what string, got, want *rowList) {
	t.Helper()
	for i := range max(len(got.hashes), len(want.hashes)) {
		if i >= len(got.hashes) || i >= len(want.hashes) || got.hashes[i] != want.hashes[i] {
			t.Fatalf("%s: row %d of %d, want %d:\n%q\nwant\n%q", what, i, len(got.hashes), len(want.hashes), got.row(i), want.row(i))
		}
	}
}

// fileRows reads a file, of one complete gzip member, for comparisons.
func fileRows(t *testing.T, file io.Reader) *rowList {
	t.Helper()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(z)
	l := &rowList{}
	if l.columns, err = r.Read(); err != nil {
		t.Fatal(err)
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return l
		}
		if err != nil {
			t.Fatal(err)
		}
		alike(t, l.columns, row)
		l.add(row)
	}
}

// exportByCommand has quorate export fetch the same file.
func exportByCommand(t *testing.T, url, number string, addresses []string, want *rowList) {
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
	sameRows(t, "the command's file", fileRows(t, bytes.NewReader(got)), want)
	if code, _, errs := quorate(t, "", args...); code != exitUsage || !strings.Contains(errs, "--force") {
		t.Errorf("exit code %d, %q", code, errs)
	}
	if code, _, errs := quorate(t, "", "export", "--url", url, "--chain", "1", "--address", addresses[0]); code != exitFailed || !strings.Contains(errs, "not served here") {
		t.Errorf("exit code %d, %q", code, errs)
	}
	missing := filepath.Join(t.TempDir(), "none", "x.csv")
	if code, _, errs := quorate(t, "", "export", "--url", "http://127.0.0.1:1", "--chain", "C", "--address", "0x00", "--out", missing); code != exitUsage || !strings.Contains(errs, "--out "+missing+": there is no such folder\n") {
		t.Errorf("exit %d, %s", code, errs)
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
func exportFile(t *testing.T, url, id string) *rowList {
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
	return fileRows(t, bytes.NewReader(file))
}

func (c *child) memory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("%v: %s", err, status)
	}
	return kib << 10
}

// memoryUntil returns the most memory that was seen until something is over.
func (c *child) memoryUntil(t *testing.T, over func() bool) (most int) {
	t.Helper()
	poll(t, 20*time.Millisecond, "an export ends", func() bool {
		most = max(most, c.memory(t))
		return over()
	})
	return most
}

// pageTimes returns how long pages take, and calls between after every tenth.
func pageTimes(t *testing.T, url, number string, addresses []string, between func()) []time.Duration {
	t.Helper()
	times := make([]time.Duration, torture.Pick(20, 1000))
	for i := range times {
		begin := time.Now()
		// Each asks for another page: none is kept.
		path := fmt.Sprintf("%s/v1/chains/%s/addresses/%s/transactions?pageSize=25&endBlock=%d", url, number, addresses[i%len(addresses)], 10_000_000+pagesAsked.Add(1))
		if status, answer := get(t, path); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
		times[i] = time.Since(begin)
		if i%10 == 0 {
			between()
		}
	}
	return times
}

// pagesAsked counts the pages that pageTimes has asked for.
var pagesAsked atomic.Uint64

// ninetyNine returns the time within which 99 of 100 were answered.
func ninetyNine(times []time.Duration) time.Duration {
	times = slices.Sorted(slices.Values(times))
	return times[len(times)*99/100]
}
