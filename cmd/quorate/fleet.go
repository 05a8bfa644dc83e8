package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quorate/engine"
	"quorate/engine/depot"
	"quorate/engine/feed/jetstream"
	"quorate/engine/fleet"
	"quorate/engine/metric"
	"quorate/httpapi"
	"quorate/httpapi/forward"
)

// fleetFlag is the flag of quorate serve that makes it one of several servers.
type fleetFlag struct {
	path  string
	fleet *fleet.Fleet // nil without one
}

func (f *fleetFlag) add(flags *pflag.FlagSet) {
	group(flags, groupListen, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.path, "fleet", "", "file of several servers that are one API: their keys and addresses, with mode 0600; \"quorate fleet init\" makes one")
	})
}

// open reads the file, if there is one.
func (f *fleetFlag) open() (err error) {
	if f.path == "" {
		return nil
	}
	if f.fleet, err = fleet.Open(f.path); err != nil {
		err = fmt.Errorf("--fleet %s: %w", f.path, err)
		if errors.Is(err, fleet.ErrForm) {
			err = usageError{err}
		}
	}
	return err
}

// archive opens the depot of the fleet, unless another one was named.
func (f *fleetFlag) archive(at *depotValue) error {
	if f.fleet == nil || at.Depot != nil {
		return nil
	}
	if err := at.Set(f.fleet.Archive); err != nil {
		err = fmt.Errorf("--fleet %s: archive: %w", f.path, err)
		if errors.Is(err, depot.ErrURL) {
			err = usageError{err}
		}
		return err
	}
	return nil
}

// log opens the log of newest blocks that the fleet shares, nil if it has none.
func (f *fleetFlag) log(name string, log *slog.Logger) (*jetstream.Log, error) {
	if f.fleet == nil || f.fleet.Log == "" {
		return nil, nil
	}
	return jetstream.Open(jetstream.Config{URL: f.fleet.Log, Name: name, Logger: log})
}

// configure has a server be one of a fleet.
func (f *fleetFlag) configure(cfg *httpapi.Config, eng *engine.Engine, log *slog.Logger, set *metric.Set) error {
	if f.fleet == nil {
		return nil
	}
	pages, err := f.fleet.Secrets(fleet.ForPages)
	files, wrong := f.fleet.Secrets(fleet.ForFiles)
	requests, wrongToo := f.fleet.Secrets(fleet.ForRequests)
	if err = errors.Join(err, wrong, wrongToo); err != nil {
		return err
	}
	cfg.TokenKey, cfg.OlderTokenKeys, cfg.FileKeys = pages[0], pages[1:], files
	reach := func(name string) bool {
		id, ok := eng.Chains().Lookup(name)
		return ok && eng.Networks().CanReach(id)
	}
	cfg.Fleet = forward.New(forward.Config{
		Members: f.fleet.Members, Secrets: requests, CanSign: eng.Networks().CanSign, CanReach: reach, Ready: eng.Ready(), Metrics: set, Logger: log,
	})
	return nil
}

// writeNew writes a secret to a file that is not there yet.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

func fleetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Make several servers one API",
		Long: `A fleet is several servers that are one API: they take each other's page tokens, one of
them, the home, keeps webhooks and exports, and the others pass on to it what is about
those. Each has the same file, which quorate serve takes with --fleet.`,
		Example: `  quorate fleet init --member http://10.0.0.1:9750 --member http://10.0.0.2:9750 -o fleet.yaml
  quorate serve --fleet fleet.yaml --node-url http://10.0.0.1:9650 --http-host 0.0.0.0
  quorate fleet status --fleet fleet.yaml`,
	}
	cmd.AddCommand(fleetInit(), fleetStatus())
	return cmd
}

func fleetInit() *cobra.Command {
	var members []string
	var archive, log, to string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a fleet file with a new key",
		Long: `Writes a file with a new key, readable by its owner alone. Copy it to each server. To
change the key later, add a second one to all files, then make it the first, then take
the old one out: after each step start the servers again, one after the other.`,
		Example: `  quorate fleet init --member http://10.0.0.1:9750 --member http://10.0.0.2:9750 -o fleet.yaml`,
		Args:    atMost(0),
		RunE: func(*cobra.Command, []string) error {
			text, err := fleet.New(members, archive, log)
			if err != nil {
				return usageError{err}
			}
			if archive != "" {
				if _, err := depot.Open(archive, objectStorage()); err != nil {
					return usageError{fmt.Errorf("--archive: %w", err)}
				}
			}
			return writeNew(to, text)
		},
	}
	cmd.Flags().StringArrayVar(&members, "member", nil, "address http://HOST:PORT of a server with a node, as the others reach it; the first is the home")
	cmd.Flags().StringVar(&archive, "archive", "", "depot of all servers: s3://BUCKET/PREFIX or file:///DIR")
	cmd.Flags().StringVar(&log, "log", "", "log of newest blocks of all servers, in NATS JetStream: nats://HOST:PORT, and further ones behind commas")
	cmd.Flags().StringVarP(&to, "output", "o", "fleet.yaml", "file to write, which must not be there yet")
	return cmd
}

// errRed ends quorate fleet status with exit code 1.
var errRed = errors.New("something is red")

func fleetStatus() *cobra.Command {
	var f fleetFlag
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how the servers of a fleet are",
		Long: `Asks each member of a fleet how it is, and prints a line for each of its chains: how far
the index is, how many blocks behind the last known one, whether the server writes to the log
and copies to the archive, and which one is the home. It exits with 1 when something is red: a
server that does not answer or is not ready, an archive that fails, a home that is not found.`,
		Example: `  quorate fleet status --fleet fleet.yaml`,
		Args:    atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.path == "" {
				return usageError{errors.New("--fleet is missing: the file of the fleet")}
			}
			if err := f.open(); err != nil {
				return err
			}
			return showFleet(cmd, f.fleet, wait)
		},
	}
	cmd.Flags().StringVar(&f.path, "fleet", "", "file of the fleet")
	cmd.Flags().DurationVar(&wait, "timeout", 5*time.Second, "longest wait for the answers of a server")
	return cmd
}

func showFleet(cmd *cobra.Command, of *fleet.Fleet, wait time.Duration) error {
	secrets, err := of.Secrets(fleet.ForRequests)
	if err != nil {
		return err
	}
	red := false
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SERVER\tCHAIN\tHEIGHT\tBEHIND\tWRITER\tARCHIVE\tHOME\tSTATE") // Flush has the error
	for i, member := range of.Members {
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), wait, fmt.Errorf("no answer within %s", wait))
		s := forward.Ask(ctx, member, secrets[0])
		cancel()
		if i == 0 && s.Home != "yes" && !s.Red {
			s.Red, s.Text = true, "it does not know that it is the home: can it reach its own address?"
		}
		red = red || s.Red
		for _, c := range s.Chains {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t-\t%s\t%s\t%s\n", member, c.Name, c.Height, max(0, c.Target-c.Height), s.Archive, s.Home, s.Text)
		}
		if len(s.Chains) == 0 {
			_, _ = fmt.Fprintf(w, "%s\t-\t-\t-\t-\t%s\t%s\t%s\n", member, s.Archive, s.Home, s.Text)
		}
	}
	if err := w.Flush(); err != nil || !red {
		return err
	}
	return errRed
}
