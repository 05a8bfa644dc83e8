package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"
)

const (
	// exportPoll is the time between two questions about an export.
	exportPoll = 500 * time.Millisecond
	// exportTries is how often a question or a download is repeated that found no server.
	exportTries = 60
)

// exportOrder are the flags of quorate export.
type exportOrder struct {
	url, key, out, compression string
	first, last                string
	addresses, chains          []string
	force                      bool
}

// exportState is what a server says of an export.
type exportState struct {
	ID       string  `json:"operationId"`
	Status   string  `json:"operationStatus"`
	Message  string  `json:"message"`
	Rows     string  `json:"rowCount"`
	Progress float64 `json:"progress"`
	Metadata struct {
		DownloadURL string `json:"downloadUrl"`
		NextDate    string `json:"nextDate"`
	} `json:"metadata"`
}

func exportCommand() *cobra.Command {
	var f exportOrder
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Have a server write the transactions of addresses into a file",
		Long: `Asks a running server for a file with all transactions of addresses, with their
token transfers and internal transactions, waits for it and downloads it: CSV,
compressed. docs/export.md says what the columns are.

Dates are days, of which the last is included, or times such as
2024-12-31T23:59:59Z. A download that is cut off is continued, and the file
has its name only once it is whole. When the export was too large for one file,
the command prints the date to go on with and exits with 0.`,
		Example: `  quorate export --chain 43114 --address 0x71C7... --out transactions.csv.gz
  quorate export --chain 43114 --chain C --address 0x71C7... --first-date 2024-01-01 --last-date 2024-12-31 --compression zstd --out 2024.csv.zst
  quorate export --chain 43114 --address 0x71C7... --out - | gunzip | head`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runExport(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", defaultServer, "address of the server")
	flags.StringVar(&f.key, "api-key", "", "API key to send")
	flags.StringSliceVar(&f.addresses, "address", nil, "address whose transactions are wanted; repeat it for several (required)")
	flags.StringSliceVar(&f.chains, "chain", nil, "chain, by EVM chain ID, blockchain ID or alias; repeat it for several (required)")
	flags.StringVar(&f.first, "first-date", "", "first day or time (default: the chain's first block)")
	flags.StringVar(&f.last, "last-date", "", "last day or time (default: the chain's last block)")
	flags.StringVar(&f.compression, "compression", "gzip", "format of the file: gzip or zstd")
	flags.StringVar(&f.out, "out", "", "file to write, or - for standard output (default transactions-ID.csv.gz)")
	flags.BoolVar(&f.force, "force", false, "replace a file that is there")
	addConfigFlag(cmd)
	return cmd
}

func runExport(cmd *cobra.Command, f *exportOrder) error {
	if len(f.addresses) == 0 || len(f.chains) == 0 {
		return usageError{errors.New("say what: at least one --address and one --chain")}
	}
	if f.out != "" && f.out != "-" && !f.force {
		if _, err := os.Stat(f.out); err == nil {
			return usageError{fmt.Errorf("%s is there; --force replaces it", f.out)}
		}
	}
	if st, err := os.Stat(filepath.Dir(f.out)); f.out != "-" && (err != nil || !st.IsDir()) { // found out before the server works
		return usageError{fmt.Errorf("--out %s: there is no such folder", f.out)}
	}
	server, err := newRemote(f.url)
	if err != nil {
		return err
	}
	server.key = f.key
	client := &exportClient{server}
	ctx := cmd.Context()
	state, err := client.create(ctx, f)
	if err != nil {
		return err
	}
	if state, err = client.await(ctx, state, newMeter(cmd.ErrOrStderr(), "export")); err != nil {
		return err
	}
	if state.Status == "FAILED" {
		return fmt.Errorf("export %s failed: %s", state.ID, state.Message)
	}
	name := f.out
	if name == "" {
		name = "transactions-" + state.ID + map[bool]string{true: ".csv.zst", false: ".csv.gz"}[f.compression == "zstd"]
	}
	shown := newMeter(cmd.ErrOrStderr(), "download")
	if name == "-" {
		err = client.download(ctx, state.ID, cmd.OutOrStdout(), shown)
	} else {
		err = client.save(ctx, state.ID, name, shown)
	}
	shown.finish()
	if err != nil {
		return fmt.Errorf("download of export %s: %w", state.ID, err)
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "export: %s rows in %s\n", state.Rows, name)
	if state.Metadata.NextDate != "" {
		_, e := fmt.Fprintf(cmd.ErrOrStderr(), "export: there is more; go on with --first-date %s\n", state.Metadata.NextDate)
		err = errors.Join(err, e)
	}
	return err
}

// exportClient asks a server for exports.
type exportClient struct{ *remote }

// create starts an export.
func (c *exportClient) create(ctx context.Context, f *exportOrder) (*exportState, error) {
	body := map[string]any{
		"type": "TRANSACTION_EXPORT_EVM",
		"options": map[string]any{
			"addresses": f.addresses, "includeChains": f.chains, "compression": f.compression,
		},
	}
	for name, date := range map[string]string{"firstDate": f.first, "lastDate": f.last} {
		if date != "" {
			body[name] = date
		}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return c.state(ctx, http.MethodPost, "transactions:export", data, http.StatusCreated)
}

// state asks about an operation.
func (c *exportClient) state(ctx context.Context, method, path string, body []byte, want int) (*exportState, error) {
	resp, answer, err := c.ask(ctx, method, body, "v1", "operations", path)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != want {
		err := serverError(resp, answer)
		if resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests {
			err = momentary{err}
		}
		return nil, err
	}
	state := &exportState{}
	if err := json.Unmarshal(answer, state); err != nil || state.ID == "" {
		return nil, fmt.Errorf("the answer of %s is not an operation: %.200q", c.base, answer)
	}
	return state, nil
}

// momentary marks a refusal that a moment later may be none.
type momentary struct{ error }

// Unwrap returns the refusal.
func (p momentary) Unwrap() error { return p.error }

// mayPass reports whether an error may be none a moment later: the server is started
// again, or has too much to do.
func mayPass(err error) bool {
	var p momentary
	var u *url.Error
	return errors.As(err, &p) || errors.As(err, &u)
}

// pause waits a moment.
func pause(ctx context.Context) error {
	select {
	case <-time.After(exportPoll):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await waits until an export is over. The server may be started again meanwhile.
func (c *exportClient) await(ctx context.Context, state *exportState, shown *meter) (*exportState, error) {
	defer shown.finish()
	for tries := 0; state.Status == "RUNNING"; {
		shown.share(state.Progress, state.Rows)
		if err := pause(ctx); err != nil {
			return nil, err
		}
		next, err := c.state(ctx, http.MethodGet, state.ID, nil, http.StatusOK)
		switch {
		case err == nil:
			state, tries = next, 0
		case !mayPass(err):
			return nil, err
		default:
			if tries++; tries >= exportTries {
				return nil, err
			}
		}
	}
	return state, nil
}

// save downloads into a file, which has its name only once it is whole.
func (c *exportClient) save(ctx context.Context, id, name string, shown *meter) error {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.part")
	if err != nil {
		return err
	}
	err = c.download(ctx, id, file, shown)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// download writes the file of an export to w. What is cut off is continued, by an
// address that is new each time.
func (c *exportClient) download(ctx context.Context, id string, w io.Writer, shown *meter) error {
	done := int64(0)
	for tries := 0; ; tries++ {
		state, err := c.state(ctx, http.MethodGet, id, nil, http.StatusOK)
		if err == nil {
			before := done
			if done, err = c.rest(ctx, state.Metadata.DownloadURL, w, done, shown); err == nil {
				return nil
			}
			if done > before {
				tries = 0
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var local *os.PathError
		if tries >= exportTries || !mayPass(err) && !errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &local) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// rest downloads what comes after so many bytes, and returns how many there are then.
func (c *exportClient) rest(ctx context.Context, address string, w io.Writer, done int64, shown *meter) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return done, err
	}
	want := http.StatusOK
	if done > 0 {
		want = http.StatusPartialContent
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", done))
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return done, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // only for the message
		return done, serverError(resp, answer)
	}
	all := done + resp.ContentLength
	for {
		n, err := io.CopyN(w, resp.Body, 256<<10)
		done += n
		shown.bytes(done, all)
		switch {
		case errors.Is(err, io.EOF) && done == all:
			return done, nil
		case errors.Is(err, io.EOF):
			return done, io.ErrUnexpectedEOF
		case err != nil:
			return done, err
		}
	}
}
