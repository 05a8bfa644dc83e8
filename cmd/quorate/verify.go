package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"time"

	"github.com/spf13/cobra"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/devnet"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/engine/source"
	"quorate/engine/source/platform"
)

// errInvalid starts every verdict of quorate verify against a message.
var errInvalid = errors.New("not valid")

// verifyFlags are the flags of quorate verify.
type verifyFlags struct {
	nodeURL string
	facts   string
	subnet  string
	quorum  int
	height  uint64
	timeout time.Duration
}

// nodeReader is what verifying asks of a node; [platform.Client] is one.
type nodeReader interface {
	NetworkID(ctx context.Context) (uint32, error)
	ProposedHeight(ctx context.Context) (uint64, error)
	SubnetOf(ctx context.Context, blockchain chain.ID) (chain.ID, error)
	ValidatorsAt(ctx context.Context, subnet chain.ID, height uint64) ([]valset.Member, error)
}

func verifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify SIGNED_HEX",
		Short: "Check a signed warp message against the validator set of a node",
		Long: `Asks an Avalanche node for the validators of a subnet and checks, as a receiving
chain does, that the message was signed by those it names and that they hold the
quorum of the stake. The message is hex with or without 0x; "-" reads it from
standard input.

Prints the signers and "valid". If the message is not valid it prints the reason on
standard error and exits with 1.

The subnet whose validators must have signed is that of the message's source
chain. A receiving chain demands another one in two cases: messages of the
P-Chain, and of the C-Chain to an L1 that does not ask for the primary network,
are signed by the receiver's own validators. --subnet names it then.`,
		Example: `  quorate verify 0000000030390427d4b2...
  quorate aggregate $MESSAGE | quorate verify - --quorum 80
  quorate verify - --from-facts ~/.quorate/facts.json < signed.hex
  quorate verify - --node-url http://10.0.0.5:9650 --height 250000 < signed.hex`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("no signed message: give it in hex, or - for standard input")}
			}
			return f.run(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.nodeURL, "node-url", "http://127.0.0.1:9650", "address of an Avalanche node of the message's network")
	flags.StringVar(&f.facts, "from-facts", "", "facts file that names the node, in place of --node-url")
	flags.StringVar(&f.subnet, "subnet", "", "ID of the subnet whose validators must have signed (default: that of the source chain)")
	flags.IntVar(&f.quorum, "quorum", 67, "percent of the stake that must have signed")
	flags.Uint64Var(&f.height, "height", 0, "P-Chain height of the validator set; 0 is the present one")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "longest wait for the node")
	return cmd
}

func (f *verifyFlags) run(cmd *cobra.Command, arg string) error {
	if f.quorum < 1 || f.quorum > 100 {
		return usageError{fmt.Errorf("--quorum %d: must be 1 to 100", f.quorum)}
	}
	var subnet *chain.ID
	if f.subnet != "" {
		id, err := chain.ParseIDHexOrCB58(f.subnet)
		if err != nil {
			return usageError{fmt.Errorf("--subnet: %w", err)}
		}
		subnet = &id
	}
	signed, err := hexInput("signed message", arg, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if f.facts != "" {
		if cmd.Flags().Changed("node-url") {
			return usageError{errors.New("--node-url and --from-facts both name a node: give one of them")}
		}
		facts, err := devnet.ReadFacts(f.facts)
		if err != nil {
			return err
		}
		f.nodeURL = facts.NodeURL
	}
	client, err := source.Open(f.nodeURL)
	if err != nil {
		return usageError{fmt.Errorf("--node-url: %w", err)}
	}
	defer client.Close()
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), f.timeout, fmt.Errorf("no answer within %s", f.timeout))
	defer cancel()
	return verify(ctx, platform.New(client), signed, subnet, f.height, f.quorum, cmd.OutOrStdout())
}

// verify checks a signed message and writes what it finds to out. Its verdict
// against the message wraps errInvalid; other errors leave the question open.
func verify(ctx context.Context, node nodeReader, signed []byte, subnet *chain.ID, height uint64, quorum int, out io.Writer) error {
	msg, err := warp.ParseSigned(signed)
	if err != nil {
		return fmt.Errorf("%w: %w", errInvalid, err)
	}
	set, err := signingSet(ctx, node, msg, subnet, height)
	if err != nil {
		return causeOf(ctx, err)
	}
	if signers, ok := warp.BitsFromSigners(msg.Signers, len(set.Validators)); ok {
		if err := report(out, msg, set, signers); err != nil {
			return err
		}
	}
	if err := checkSigned(msg, set, quorum); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "valid")
	return err
}

// checkSigned checks a signed message against the validators that must have signed it.
// Its errors wrap errInvalid.
func checkSigned(msg *warp.Signed, set *valset.Set, quorum int) error {
	signers, ok := warp.BitsFromSigners(msg.Signers, len(set.Validators))
	if !ok {
		return fmt.Errorf("%w: it names signers that are not among the %d validators of subnet %s at height %d",
			errInvalid, len(set.Validators), set.SubnetID, set.Height)
	}
	if weight := set.Weight(signers); !set.MeetsQuorum(weight, quorum) {
		return fmt.Errorf("%w: %s of the stake signed, the quorum is %d%%", errInvalid, share(weight, set.TotalWeight), quorum)
	}
	sig, err := bls.DecodeAggregate(msg.Signature[:])
	if err != nil {
		return fmt.Errorf("%w: %w", errInvalid, err)
	}
	key := set.KeySum(signers)
	if !bls.Verify(&key, bls.HashMessage(msg.Bytes()), &sig) {
		return fmt.Errorf("%w: the signature is not that of the named signers over this message", errInvalid)
	}
	return nil
}

// signingSet gets the validators that must have signed the message.
func signingSet(ctx context.Context, node nodeReader, msg *warp.Signed, subnet *chain.ID, height uint64) (*valset.Set, error) {
	network, err := node.NetworkID(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the node for its network: %w", err)
	}
	if network != msg.NetworkID {
		return nil, fmt.Errorf("%w: it is of network %d, and the node's network is %d", errInvalid, msg.NetworkID, network)
	}
	if subnet == nil {
		id := chain.PrimaryNetworkID
		if msg.SourceChainID != chain.PlatformChainID {
			id, err = node.SubnetOf(ctx, msg.SourceChainID)
		}
		switch {
		case errors.Is(err, platform.ErrNotFound):
			return nil, fmt.Errorf("%w: its source chain %s does not exist", errInvalid, msg.SourceChainID)
		case err != nil:
			return nil, fmt.Errorf("ask the node for the subnet of chain %s: %w", msg.SourceChainID, err)
		}
		subnet = &id
	}
	if height == 0 {
		if height, err = node.ProposedHeight(ctx); err != nil {
			return nil, fmt.Errorf("ask the node for the P-Chain height: %w", err)
		}
	}
	members, err := node.ValidatorsAt(ctx, *subnet, height)
	if err != nil {
		return nil, fmt.Errorf("ask the node for the validators of subnet %s at height %d: %w", subnet, height, err)
	}
	set, err := valset.New(*subnet, height, members, nil)
	if err != nil {
		return nil, fmt.Errorf("validators of subnet %s at height %d: %w", subnet, height, err)
	}
	if len(set.Validators) == 0 {
		return nil, fmt.Errorf("%w: subnet %s has no validators at height %d", errInvalid, subnet, height)
	}
	return set, nil
}

// report writes who signed, before the verdict.
func report(out io.Writer, msg *warp.Signed, set *valset.Set, signers warp.Bits) error {
	weight := set.Weight(signers)
	_, err := fmt.Fprintf(out, "message %s\nnetwork %d, source chain %s\nsubnet  %s at P-Chain height %d\nsigners %d of %d, %s of the stake\n",
		msg.ID(), msg.NetworkID, msg.SourceChainID, set.SubnetID, set.Height,
		signers.Count(), len(set.Validators), share(weight, set.TotalWeight))
	signers.Each(func(i int) {
		v := &set.Validators[i]
		for _, id := range v.NodeIDs {
			if err == nil {
				_, err = fmt.Fprintf(out, "  %s %s\n", id, share(v.Weight, set.TotalWeight))
			}
		}
	})
	return err
}

// share returns a part of the stake in percent, rounded down so that what misses
// a quorum never looks as if it met it.
func share(weight, total uint64) string {
	if total == 0 {
		return "0.00%"
	}
	hi, lo := bits.Mul64(min(weight, total), 100_00)
	q, _ := bits.Div64(hi, lo, total)
	return fmt.Sprintf("%d.%02d%%", q/100, q%100)
}
