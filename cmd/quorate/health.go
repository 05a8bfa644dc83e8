package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"
)

// errUnhealthy ends the command with exit code 1.
var errUnhealthy = errors.New("the server cannot do its work")

// healthFlags are the flags of quorate health.
type healthFlags struct {
	url     string
	alive   bool
	timeout time.Duration
}

func healthCommand() *cobra.Command {
	var f healthFlags
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a running server whether it can do its work",
		Long: `Asks a running server for its health, prints "up" or "down", and which checks fail
where the server says so: at the address for operators, see --admin-addr of quorate
serve. It exits with 0 if the server is healthy and with 1 if it is not or does not
answer, as health checks of containers want it. --alive is content with any answer:
a server whose nodes are away is not better after a restart.`,
		Example: `  quorate health
  quorate health --url http://127.0.0.1:9751 --alive`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return askHealth(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.url, "url", defaultServer, "address of the server")
	cmd.Flags().BoolVar(&f.alive, "alive", false, "only ask whether the server answers")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 5*time.Second, "longest wait for the answer")
	return cmd
}

// healthAnswer is what /health answers. Only operators get the details.
type healthAnswer struct {
	Status  string `json:"status"`
	Details map[string]struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		// Warning is what a check that may pass says will go wrong, or needs somebody.
		Warning string `json:"warning"`
	} `json:"details"`
}

func askHealth(cmd *cobra.Command, f *healthFlags) error {
	server, err := newRemote(f.url)
	if err != nil {
		return err
	}
	server.client.Transport = &http.Transport{DisableKeepAlives: true} // it is asked itself, and no proxy
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), f.timeout, fmt.Errorf("no answer within %s", f.timeout))
	defer cancel()
	resp, body, err := server.ask(ctx, http.MethodGet, nil, "health")
	if err != nil {
		return err
	}
	var answer healthAnswer
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status == "" {
		return fmt.Errorf("%s is no server of ours: it answered %s: %.100q", f.url, resp.Status, body)
	}
	if _, err = fmt.Fprintln(cmd.OutOrStdout(), answer.Status); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(answer.Details)) {
		d := answer.Details[name]
		for _, text := range []string{d.Error, d.Warning} {
			if text == "" {
				continue
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", name, text); err != nil {
				return err
			}
		}
	}
	if resp.StatusCode != http.StatusOK && !f.alive {
		return errUnhealthy
	}
	return nil
}
