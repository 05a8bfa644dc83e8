package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/goccy/go-json"

	"quorate/devnet"
	"quorate/devnet/world"
)

// embeddedConfig is the network that quorate serve starts.
func embeddedConfig(helicon *heliconValue, logger *slog.Logger) devnet.Config {
	return devnet.Config{
		Blocks: embeddedBlocks, BlockInterval: devnet.DefaultBlockInterval,
		PrimaryBlocks: defaultPrimary, HeightInterval: defaultHeight, Helicon: helicon.after(world.Start()),
		ExecutionDelay: devnet.DefaultExecutionDelay, Logger: logger,
	}
}

// startEmbedded starts a network for quorate serve: on the port where one is
// looked for, or on any other when that is taken. It goes on where that of an earlier start
// with the same data folder ended.
func startEmbedded(ctx context.Context, cfg devnet.Config, dir string) (*devnet.Devnet, func(err *error), error) {
	if err := keepGrowth(&cfg, dir); err != nil {
		return nil, nil, err
	}
	cfg.HTTPPort = devnetPort
	d, stop, err := startDevnet(ctx, cfg)
	if errors.Is(err, syscall.EADDRINUSE) {
		cfg.HTTPPort = 0
		if d, stop, err = startDevnet(ctx, cfg); err == nil {
			cfg.Logger.Warn("the port of the simulated network's node is taken, perhaps by another such network: the node is elsewhere; the facts file has its address",
				"port", devnetPort, "node", d.NodeURL())
		}
	}
	return d, stop, err
}

// growthFile is the file of the data folder that says how far the network that quorate
// serve starts has come: without it the chains would begin again, far below those that
// the folder has.
const growthFile = "devnet.json"

// maxGrowth bounds what the file may say: five million blocks are four months.
const maxGrowth = 5_000_000

// keepGrowth has a network go on where the one before it ended, and writes down how far
// it comes. A crash costs a block or two, which come again in a moment.
func keepGrowth(cfg *devnet.Config, dir string) error {
	path := filepath.Join(dir, growthFile)
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	default:
		err = json.Unmarshal(content, &cfg.Grown)
		if err == nil && max(cfg.Grown.Blocks, cfg.Grown.Heights) > maxGrowth {
			err = fmt.Errorf("more than %d blocks", maxGrowth)
		}
		if err != nil {
			return fmt.Errorf("%s, which says how far the simulated network has come: %w; without the file it begins again", path, err)
		}
		cfg.Helicon = cfg.Grown.Helicon // it has that history
	}
	var failed sync.Once
	cfg.OnGrowth = func(g devnet.Growth) {
		if err := writeGrowth(path, g); err != nil {
			failed.Do(func() { cfg.Logger.Warn("how far the simulated network has come is not kept", "err", err) })
		}
	}
	return nil
}

func writeGrowth(path string, g devnet.Growth) error {
	content, err := json.Marshal(g)
	if err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, content, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
