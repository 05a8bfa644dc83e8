package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"
)

const defaultNetwork = "fuji"

// aggregateFlags are the flags of quorate aggregate.
type aggregateFlags struct {
	url, network   string
	quorum, buffer int
	height         uint64
	signingSubnet  string
	justification  string
	fromFacts      string
	index          int
	timeout        time.Duration
	json           bool
}

// aggregateBody is the request's body.
type aggregateBody struct {
	Message         string `json:"message,omitempty"`
	Justification   string `json:"justification,omitempty"`
	SigningSubnetID string `json:"signingSubnetId,omitempty"`
	Quorum          int    `json:"quorumPercentage"`
	Buffer          int    `json:"quorumPercentageBuffer"`
	Height          uint64 `json:"pChainHeight,omitempty"`
}

func aggregateCommand() *cobra.Command {
	var f aggregateFlags
	cmd := &cobra.Command{
		Use:   "aggregate MESSAGE_HEX",
		Short: "Have a warp message signed by a quorum of validators",
		Long: `Posts an unsigned warp message to a running server and prints the signed message
in hex on standard output. The message is hex with or without 0x; "-" reads it
from standard input.

Validators only sign what they have seen happen: a message that a contract sent
in an accepted block, a block hash, or what the P-Chain knows about an L1. For
the last kind, --justification says what the message is about.

--quorum is the share of the signing validators' stake, in percent, that must
sign. --buffer requests this much stake beyond the quorum, if it can be had without
waiting: it covers stake that changes before the message is used.`,
		Example: `  quorate aggregate 0000000030390427d4b2...
  quorate aggregate - --quorum 80 --buffer 5 < message.hex
  quorate aggregate --from-facts facts.json --index 7
  quorate aggregate 0000... --url http://10.0.0.5:9750 --network mainnet --json`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return aggregate(cmd, &f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", defaultServer, "address of the server")
	flags.StringVar(&f.network, "network", defaultNetwork, "network of the message: mainnet, fuji or testnet; local networks are served as fuji")
	flags.IntVar(&f.quorum, "quorum", 67, "percent of the stake that must sign")
	flags.IntVar(&f.buffer, "buffer", 0, "percent of the stake to try for beyond the quorum")
	flags.Uint64Var(&f.height, "height", 0, "P-Chain height of the validator set; 0 is the present one")
	flags.StringVar(&f.signingSubnet, "signing-subnet", "", "ID of the subnet whose validators sign (default: that of the message's source chain)")
	flags.StringVar(&f.justification, "justification", "", "hex of what justifies a message of the P-Chain; may stand in for the message")
	flags.StringVar(&f.fromFacts, "from-facts", "", "take the message, and its network, from a facts file")
	flags.IntVar(&f.index, "index", -1, "with --from-facts: take this one of its further messages, counted from 0")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "longest wait for the answer")
	flags.BoolVar(&f.json, "json", false, "print the server's answer as it is, in JSON")
	return cmd
}

func aggregate(cmd *cobra.Command, f *aggregateFlags, args []string) error {
	body, err := f.body(cmd, args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), f.timeout,
		fmt.Errorf("no answer within %s", f.timeout))
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	server, err := newRemote(f.url)
	if err != nil {
		return err
	}
	resp, answer, err := server.ask(ctx, http.MethodPost, data, "v1", "signatureAggregator", url.PathEscape(f.network), "aggregateSignatures")
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		return serverError(resp, answer)
	}
	var signed struct {
		SignedMessage string `json:"signedMessage"`
	}
	if err := json.Unmarshal(answer, &signed); err != nil || signed.SignedMessage == "" {
		return fmt.Errorf("the answer of %s is not a signed message: %.200q", f.url, answer)
	}
	text := signed.SignedMessage
	if f.json {
		text = strings.TrimSpace(string(answer))
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}

// body makes the request from flags and arguments. It may take the network
// from a facts file.
func (f *aggregateFlags) body(cmd *cobra.Command, args []string) (*aggregateBody, error) {
	body := &aggregateBody{SigningSubnetID: f.signingSubnet, Quorum: f.quorum, Buffer: f.buffer, Height: f.height}
	message := ""
	switch {
	case f.fromFacts != "" && len(args) > 0:
		return nil, usageError{errors.New("give a message or --from-facts, not both")}
	case f.fromFacts == "" && cmd.Flags().Changed("index"):
		return nil, usageError{errors.New("--index needs --from-facts")}
	case f.fromFacts != "":
		facts, err := readFacts(f.fromFacts)
		if err != nil {
			return nil, err
		}
		if message, err = pick(facts, f.index); err != nil {
			return nil, err
		}
		if facts.Network != "" && !cmd.Flags().Changed("network") {
			f.network = facts.Network
		}
	case len(args) == 1:
		message = args[0]
	case f.justification == "":
		return nil, usageError{errors.New("no message: give it in hex, or - for standard input, or use --from-facts")}
	}
	if f.fromFacts != "" || len(args) == 1 {
		b, err := hexInput("message", message, cmd.InOrStdin())
		if err != nil {
			return nil, err
		}
		body.Message = hex.EncodeToString(b)
	}
	if f.justification != "" {
		b, err := hexInput("justification", f.justification, strings.NewReader(""))
		if err != nil {
			return nil, err
		}
		body.Justification = hex.EncodeToString(b)
	}
	return body, nil
}
