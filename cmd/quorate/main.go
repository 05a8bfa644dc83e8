// Command quorate indexes Avalanche networks and has their warp messages signed
// by a quorum of validators. See "quorate help".
//
// Exit codes: 0 done, 1 failed, 2 wrong usage.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a fault in how the command was called, not in what it did.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// streams are the standard streams of the process; tests pass their own.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		first := <-signals // asks for an orderly end
		time.AfterFunc(time.Duration(drainFor.Load())+time.Duration(stopTimes)*lastResort, giveUp)
		end(fmt.Errorf("%s signal received", first))
		again := <-signals // the second ends the process at once, as if no handler were there
		signal.Reset(again)
		if s, ok := again.(syscall.Signal); !ok || syscall.Kill(os.Getpid(), s) != nil {
			os.Exit(exitFailed)
		}
	}()
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run carries out a command line and returns the exit code.
func run(ctx context.Context, args []string, std streams) int {
	root := rootCommand(std)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	// What cannot be written to stderr cannot be reported.
	_, _ = fmt.Fprintf(std.err, "quorate: %v\n", err)
	var usage usageError
	if errors.As(err, &usage) {
		_, _ = fmt.Fprintf(std.err, "See %q.\n", cmd.CommandPath()+" --help")
		return exitUsage
	}
	return exitFailed
}

func rootCommand(std streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "quorate",
		Short: "Avalanche data, metrics and signature aggregation in one program",
		Long: `Quorate follows Avalanche nodes, serves their data and metrics over HTTP, and
collects the validators' signatures that make a warp message valid elsewhere.

Exit codes: 0 done, 1 failed, 2 wrong usage.`,
		Example: `  quorate serve --devnet                 a server with a simulated network, nothing else needed
  quorate aggregate MESSAGE_HEX          have a message signed by a running server
  quorate verify SIGNED_HEX              check a signed message against a node's validator set`,
		SilenceErrors: true, // run prints them, once
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			err := fmt.Errorf("there is no command %q", args[0])
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				err = fmt.Errorf("%w; did you mean %q?", err, near[0])
			}
			return usageError{err}
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(std.err)
			if err := cmd.Help(); err != nil {
				return err
			}
			return usageError{errors.New("no command given")}
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.Version = versionText() // gives it --version
	root.SetVersionTemplate(versionLine())
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{plainFlag(cmd.Flags(), err)} })
	root.AddCommand(commands()...)
	return root
}

// commands returns the commands, one file each.
func commands() []*cobra.Command {
	return []*cobra.Command{
		serveCommand(),
		devnetCommand(),
		healthCommand(),
		aggregateCommand(),
		exportCommand(),
		verifyCommand(),
		benchCommand(),
		keyCommand(),
		configCommand(),
		reindexCommand(),
		checkCommand(),
		validatorsCommand(),
		backupCommand(),
		restoreCommand(),
		cloneCommand(),
		archiveCommand(),
		fleetCommand(),
		verifyDataCommand(),
		versionCommand(),
		referenceCommand(),
	}
}

// atMost refuses more than n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usageError{fmt.Errorf("%s takes at most %d argument(s), got %d", cmd.Name(), n, len(args))}
		}
		return nil
	}
}

// exactly refuses any other number of arguments than n; what says what they are.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("%s takes %d argument(s), %s, got %d", cmd.Name(), n, what, len(args))}
		}
		return nil
	}
}
