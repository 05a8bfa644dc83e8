package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"quorate/engine/archive"
	"quorate/engine/archive/container"
	"quorate/engine/depot"
)

// DepotConfig says what [Push] and [Pull] copy.
type DepotConfig struct {
	Depot *depot.Depot
	// DataDir is the data folder. No other process may use it. Required.
	DataDir string
	// Network is the number of the network; zero is the only one that is there.
	Network uint32
	// Chain is the one chain to copy, by the name of its archive's folder; empty is all.
	Chain string
	// OnRefused is called for each object that is refused or missing. Required.
	OnRefused func(error)
	// OnPut is called for each span that was put, OnTaken for each span of a chain that was
	// taken, with its last block and that of the last one there is. Required.
	OnPut   func(depot.Object)
	OnTaken func(chain string, last, of uint64)
	Logger  *slog.Logger // nil discards
}

// unsettled is how many of the last blocks of an EVM chain may not be settled yet.
const unsettled = 256

// DepotDir is the folder, in a data folder, of what is on its way to a depot or from it.
const DepotDir = "depot.tmp"

// Push puts what the archives in a data folder have, and the depot lacks.
func Push(ctx context.Context, cfg DepotConfig) error {
	entries, err := os.ReadDir(filepath.Join(cfg.DataDir, ArchiveDir))
	if err != nil {
		return err
	}
	if cfg.Network == 0 {
		if cfg.Network, err = onlyArchived(entries); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if !e.IsDir() || cfg.Chain != "" && cfg.Chain != e.Name() {
			continue
		}
		kind, err := archive.KindOf(filepath.Join(cfg.DataDir, ArchiveDir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // nothing is in it
		}
		if err != nil {
			return err
		}
		err = cfg.with(HeldAs(cfg.Network, e.Name(), kind), e.Name(), func(c *depot.Copy) error {
			last, _, _ := c.Archive.Last()
			if kind == archive.KindEVM {
				last -= min(last, unsettled)
			}
			return c.Push(ctx, last, func(uint64, uint64) bool { return true })
		})
		if err != nil {
			return fmt.Errorf("chain %s: %w", e.Name(), err)
		}
	}
	return nil
}

// HeldAs returns what a depot calls the chain of an archive, by its folder and kind.
func HeldAs(network uint32, name string, kind archive.Kind) depot.Held {
	if k, ok := container.ChainOf(kind); ok {
		network, _, _ = ParsePrimaryName(name)
		name = letterOf(k)
	}
	return depot.Held{Network: network, Name: name, Kind: kind}
}

// onlyArchived returns the network of which the folder has archives.
func onlyArchived(entries []os.DirEntry) (uint32, error) {
	found := make(map[uint32]bool)
	for _, e := range entries {
		if network, _, ok := ParsePrimaryName(e.Name()); ok {
			found[network] = true
		}
	}
	for network := range found {
		if len(found) == 1 {
			return network, nil
		}
	}
	return 0, errors.New("the folder does not say of which network its chains are: name it by --network")
}

// Pull takes what the depot has, and the archives in a data folder lack.
func Pull(ctx context.Context, cfg DepotConfig) error {
	all, err := cfg.Depot.Chains(ctx)
	if err != nil {
		return err
	}
	found := false
	for _, of := range all {
		name := of.Name
		if k, ok := container.ChainOf(of.Kind); ok {
			name = PrimaryName(of.Network, k)
		}
		if cfg.Network != 0 && cfg.Network != of.Network || cfg.Chain != "" && cfg.Chain != name {
			continue
		}
		found = true
		if err := cfg.with(of, name, func(c *depot.Copy) error { return c.Pull(ctx, 0) }); err != nil {
			return fmt.Errorf("chain %s: %w", name, err)
		}
	}
	if !found {
		return fmt.Errorf("%s has no such chain", cfg.Depot)
	}
	return nil
}

// with opens the archive of a chain.
func (cfg *DepotConfig) with(of depot.Held, name string, do func(*depot.Copy) error) (err error) {
	tmp := filepath.Join(cfg.DataDir, DepotDir)
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(tmp, 0o700)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	a, err := archive.Open(filepath.Join(cfg.DataDir, ArchiveDir, name), archive.Options{Kind: of.Kind, Logger: cfg.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return do(&depot.Copy{
		Depot: cfg.Depot, Of: of, Archive: a, Dir: tmp, OnRefused: cfg.OnRefused,
		OnPut: cfg.OnPut, OnTaken: func(_ depot.Object, last, of uint64) { cfg.OnTaken(name, last, of) },
	})
}
