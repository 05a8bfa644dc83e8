package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"quorate/engine/chain"
	"quorate/engine/folder"
	"quorate/engine/primary/pchain"
)

// validatorsFlags are the flags of quorate validators.
type validatorsFlags struct {
	dataDir, subnet string
	network         uint32
}

func validatorsCommand() *cobra.Command {
	var f validatorsFlags
	cmd := &cobra.Command{
		Use:   "validators [HEIGHT [LAST]]",
		Short: "Print who validated each subnet at heights of the P-Chain",
		Long: `Prints the validator sets of all subnets after a block of the P-Chain, or after each
block up to another one, as platform.getValidatorsAt of a node returns them; by default
after the last block. They are what messages are signed by: nodes, weights and
BLS keys as they follow from the P-Chain's blocks in the data folder, from the genesis
on. Each set is a line of JSON. No node is asked. It is for a folder that no server uses.`,
		Example: `  quorate validators
  quorate validators 0 1000 --subnet 11111111111111111111111111111111LpoYY`,
		Args: atMost(2),
		RunE: func(cmd *cobra.Command, args []string) error { return printValidators(cmd, &f, args) },
	}
	cmd.Flags().StringVar(&f.dataDir, "data-dir", defaultDataDir(), "data folder, which no running server may use")
	cmd.Flags().StringVar(&f.subnet, "subnet", "", "ID of the one subnet whose validators are printed (default all that have any)")
	cmd.Flags().Uint32Var(&f.network, "network", 0, "number of the network, where the folder has several")
	addConfigFlag(cmd)
	return cmd
}

// validatorSet is a line of what quorate validators prints.
type validatorSet struct {
	Height     uint64            `json:"height"`
	SubnetID   string            `json:"subnetId"`
	Validators []validatorOfASet `json:"validators"`
}

type validatorOfASet struct {
	NodeID    string `json:"nodeId"`
	PublicKey string `json:"publicKey,omitempty"` // 0x and hex; none has no key
	Weight    uint64 `json:"weight,string"`
}

func printValidators(cmd *cobra.Command, f *validatorsFlags, args []string) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	lines := json.NewEncoder(out)
	cfg := folder.ValidatorSetsConfig{
		DataDir: f.dataDir, Network: f.network,
		OnSet: func(height uint64, subnet chain.ID, members []pchain.Member) error {
			return lines.Encode(lineOf(height, subnet, members))
		},
	}
	for i, arg := range args {
		h, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			return usageError{fmt.Errorf("%q is not a height", arg)}
		}
		*[]**uint64{&cfg.First, &cfg.Last}[i] = &h
	}
	if cfg.Last != nil && *cfg.Last < *cfg.First {
		return usageError{fmt.Errorf("height %d is below %d", *cfg.Last, *cfg.First)}
	}
	if f.subnet != "" {
		id, err := chain.ParseIDHexOrCB58(f.subnet)
		if err != nil {
			return usageError{fmt.Errorf("--subnet: %w", err)}
		}
		cfg.Subnet = &id
	}
	return errors.Join(folder.ValidatorSets(cmd.Context(), cfg), out.Flush())
}

func lineOf(height uint64, subnet chain.ID, members []pchain.Member) *validatorSet {
	set := &validatorSet{Height: height, SubnetID: subnet.String(), Validators: make([]validatorOfASet, len(members))}
	for i := range members {
		m := &members[i]
		set.Validators[i] = validatorOfASet{NodeID: m.Node.String(), Weight: m.Weight}
		if m.Key != nil {
			set.Validators[i].PublicKey = "0x" + hex.EncodeToString(m.Key[:])
		}
	}
	return set
}
