package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// exportFile has the transactions of an export, and how many the address had at least when
// it began.
type exportFile struct {
	least int
	txs   []string
}

// export has the transactions of the address exported again and again.
func (s *swap) export() {
	for s.busy.Err() == nil {
		s.mu.Lock()
		f := exportFile{}
		for _, e := range s.events {
			if e.name == "transaction" {
				f.least++
			}
		}
		s.mu.Unlock()
		body, err := s.exported()
		if err == nil {
			f.txs, err = exportedTxs(body)
		}
		if err != nil {
			s.t.Errorf("an export: %v", err)
		}
		s.files = append(s.files, f)
		select {
		case <-time.After(time.Second):
		case <-s.busy.Done():
		}
	}
}

// exported returns the file of an export.
func (s *swap) exported() ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), swapWait)
	defer cancel()
	var state struct {
		OperationID, OperationStatus string
		Metadata                     struct{ DownloadURL string }
	}
	order := fmt.Appendf(nil, `{"type":"TRANSACTION_EXPORT_EVM","options":{"addresses":[%q],"includeChains":[%q]}}`, s.facts.Address, s.facts.ChainID)
	a, err := s.server.client.Post(ctx, "/v1/operations/transactions:export", order)
	tick := time.NewTicker(connectEvery)
	defer tick.Stop()
	for ; ; a, err = s.server.client.Get(ctx, "/v1/operations/"+state.OperationID) {
		if err == nil && a.Status/100 == 2 {
			err = json.Unmarshal(a.Body, &state)
		} else if err == nil {
			err = errors.New(a.String())
		}
		if err != nil {
			return nil, err
		}
		if state.OperationStatus != "RUNNING" {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("it has not ended: %s", a)
		}
	}
	if state.OperationStatus != "COMPLETED" {
		return nil, errors.New(a.String())
	}
	a, err = s.server.client.Get(ctx, strings.TrimPrefix(state.Metadata.DownloadURL, s.server.URL))
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, errors.New(a.String())
	}
	return a.Body, nil
}

// exportedTxs reads the transactions of a file.
func exportedTxs(body []byte) (txs []string, err error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(unzipped).ReadAll()
	if err != nil {
		return nil, err
	}
	kind, hash := slices.Index(rows[0], "rowType"), slices.Index(rows[0], "txHash")
	for _, row := range rows[1:] {
		if row[kind] == "transaction" {
			txs = append(txs, row[hash])
		}
	}
	return txs, nil
}

// checkFiles checks that each export has the transactions that there were when it began.
func (s *swap) checkFiles(tr *swapTruth) {
	s.t.Helper()
	for i, f := range s.files {
		if n := min(len(f.txs), len(tr.address)); n < f.least || !slices.Equal(f.txs[:n], tr.address[:n]) {
			s.t.Errorf("export %d has %d transactions, others than there are; %d had happened", i, len(f.txs), f.least)
		}
	}
	if len(s.files) < 20 {
		s.t.Errorf("only %d exports", len(s.files))
	}
}
