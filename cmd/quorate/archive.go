package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"quorate/engine/depot"
	"quorate/engine/folder"
)

func archiveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Copy the history of chains to object storage, and from there",
		Long: `Works on a depot: the history of chains in object storage, as s3://BUCKET/PREFIX or
file:///DIR. A server puts it there with --archive, and another one begins from it
without asking nodes.

Of S3 the endpoint and the region come from AWS_ENDPOINT_URL and AWS_REGION, credentials
from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the files of the AWS tools, or the role
of the instance.`,
		Example: `  quorate archive push s3://bucket/quorate --data-dir /var/lib/quorate
  quorate archive pull s3://bucket/quorate --data-dir /srv/quorate-2`,
	}
	cmd.AddCommand(depotList(), depotCopy("push", "Put what a data folder has and a depot lacks", folder.Push),
		depotCopy("pull", "Take what a depot has and a data folder lacks", folder.Pull), depotVerify())
	return cmd
}

// exactlyDepot opens the depot that is the only argument.
func exactlyDepot(args []string) (*depot.Depot, error) {
	d, err := depot.Open(args[0], objectStorage())
	if errors.Is(err, depot.ErrURL) {
		err = usageError{err}
	}
	return d, err
}

// objectStorage returns where S3 is, by the variables of the AWS tools.
func objectStorage() depot.S3 {
	return depot.S3{
		Endpoint: cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")),
		Region:   cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
	}
}

func depotList() *cobra.Command {
	return &cobra.Command{
		Use:     "ls URL",
		Short:   "Show which blocks a depot has",
		Example: `  quorate archive ls s3://bucket/quorate`,
		Args:    exactly(1, "the depot's URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := exactlyDepot(args)
			if err != nil {
				return err
			}
			chains, err := d.Chains(cmd.Context())
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(w, "CHAIN\tFIRST\tLAST\tSPANS\tMISSING\tTWINS\tNOTES\tBYTES") // Flush has the error
			for _, of := range chains {
				s, err := d.Chain(of).Sum(cmd.Context())
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", of, s.First, s.Last, s.Spans, s.Missing, s.Twins, s.Notes, s.Bytes)
			}
			return w.Flush()
		},
	}
}

// depotCopy is a command that copies between a data folder and a depot.
func depotCopy(name, short string, do func(context.Context, folder.DepotConfig) error) *cobra.Command {
	cfg := folder.DepotConfig{}
	var network string
	cmd := &cobra.Command{
		Use:   name + " URL",
		Short: short,
		Long: short + `. No server may use the folder. It can be
stopped at any time and goes on when called again. What is not what its name says is
refused and named, and the exit code is 1 then.`,
		Example: fmt.Sprintf("  quorate archive %s s3://bucket/quorate --data-dir /var/lib/quorate\n"+
			"  quorate archive %s file:///mnt/quorate --chain network-1-p", name, name),
		Args: exactly(1, "the depot's URL"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if cfg.Depot, err = exactlyDepot(args); err != nil {
				return err
			}
			if network != "" {
				if cfg.Network, err = networkNumber(network); err != nil {
					return usageError{err}
				}
			}
			return copyDepot(cmd, cfg, do)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&cfg.DataDir, "data-dir", defaultDataDir(), "data folder, which no running server may use")
	flags.StringVar(&cfg.Chain, "chain", "", "only the chain with this blockchain ID, or of this name: network-1-p, -x, -vertices, -c")
	flags.StringVar(&network, "network", "", "mainnet, fuji or a number; by default that of the folder, or all")
	addConfigFlag(cmd)
	return cmd
}

// errRefused ends the command with exit code 1.
var errRefused = errors.New("objects were refused")

func copyDepot(cmd *cobra.Command, cfg folder.DepotConfig, do func(context.Context, folder.DepotConfig) error) error {
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return err
	}
	if err := folder.CheckUnused(cfg.DataDir); err != nil {
		return err
	}
	shown := newChainMeter(cmd.ErrOrStderr())
	spans, refused := 0, 0
	cfg.OnPut = func(o depot.Object) {
		spans++
		if !shown.bars {
			_, _ = fmt.Fprintln(cmd.ErrOrStderr(), o.Name)
		}
	}
	cfg.OnTaken = func(chain string, last, of uint64) {
		spans++
		shown.chain(chain, last, of)
	}
	cfg.OnRefused = func(err error) {
		refused++
		shown.finish()
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), err) // the exit code says it too
	}
	err := do(cmd.Context(), cfg)
	shown.finish()
	if err != nil {
		return fmt.Errorf("archive %s of %s: %w", cmd.Name(), cfg.Depot, err)
	}
	if _, err = fmt.Fprintf(cmd.ErrOrStderr(), "archive %s: %d spans were copied\n", cmd.Name(), spans); err == nil && refused > 0 {
		err = errRefused
	}
	return err
}

func depotVerify() *cobra.Command {
	var prune bool
	cmd := &cobra.Command{
		Use:   "verify URL",
		Short: "Read all that a depot has, and prove it",
		Long: `Reads each object of a depot and proves it as a server does that takes it: by the sum
in its name, its checksums, and the hashes of all blocks. What is refused is named, and
the exit code is 1. --prune removes spans of which the depot has another one, with
calls, that proves itself.`,
		Example: `  quorate archive verify s3://bucket/quorate --prune`,
		Args:    exactly(1, "the depot's URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := exactlyDepot(args)
			if err != nil {
				return err
			}
			return verifyDepot(cmd, d, prune)
		},
	}
	cmd.Flags().BoolVar(&prune, "prune", false, "remove spans that others make needless")
	return cmd
}

func verifyDepot(cmd *cobra.Command, d *depot.Depot, prune bool) (err error) {
	dir, err := os.MkdirTemp("", "quorate-depot-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	chains, err := d.Chains(cmd.Context())
	if err != nil {
		return err
	}
	refused := 0
	for _, of := range chains {
		v, err := d.Chain(of).Verify(cmd.Context(), dir, prune, func(err error) {
			refused++
			_, _ = fmt.Fprintln(cmd.OutOrStdout(), err) // the exit code says it too
		})
		if err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %d objects are sound, %d were removed\n", of, v.Sound, v.Removed); err != nil {
			return err
		}
	}
	if refused > 0 {
		return errRefused
	}
	return nil
}
