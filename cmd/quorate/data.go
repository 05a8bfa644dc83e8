package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"quorate/engine"
	"quorate/engine/chain/evm/selector"
	"quorate/engine/follow"
	"quorate/engine/source/evm"
	"quorate/httpapi"
	"quorate/httpapi/provide"
	"quorate/httpapi/token"
	"quorate/httpapi/view"
)

// The key of page tokens in the data folder.
const (
	tokenKeyName = "token.key"
	tokenKeyLen  = 2 * token.MinKey
)

// maxConcurrency bounds the requests of one kind that are made at one time.
const maxConcurrency = 256

// dataFlags are the flags of quorate serve about chain data.
type dataFlags struct {
	index, ahead                                  bool
	chainsFile, publicURL, dialect, verify, start string
	prices, tokens                                string
	// Files whose contents are parts of the file of tokens now.
	logos, reputation, nftMetadata, methods string
	fetchers, tracers                       int
	primary                                 primaryFlags
	untracedAfter                           time.Duration
}

func (f *dataFlags) add(flags, limits *pflag.FlagSet) {
	group(flags, groupSigning, func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.ahead, "sign-ahead", true, "have the warp messages of new blocks signed before anyone asks; needs --index")
	})
	group(flags, groupChains, func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.index, "index", true, "follow EVM chains and index them: the C-Chain, and those of --chains-file")
		flags.StringVar(&f.chainsFile, "chains-file", "", "file (YAML or JSON) of further EVM chains to follow; see docs/formats.md")
		flags.StringVar(&f.start, "start-block", "0", "block with which chains begin: a height, or latest-1000 for 1000 below the node's last; lowered later, older blocks are fetched")
		f.primary.add(flags)
		flags.StringVar(&f.verify, "verify", "sample", "senders that are recovered from signatures: sample (a random sample while catching up, all at a usual head) or full; all that block hashes cover is always checked")
		flags.StringVar(&f.prices, "prices-file", "", "JSON file of prices by chain, token and currency, read again when it changes")
		flags.StringVar(&f.tokens, "tokens-file", "", "JSON file of the logos and the reputation of coins and tokens, of the metadata of NFTs and of further function signatures, read again when it changes")
		flags.StringVar(&f.logos, "logos-file", "", "JSON file of the logos of coins and tokens")
		flags.StringVar(&f.reputation, "reputation-file", "", "JSON file of malicious and benign tokens")
		flags.StringVar(&f.nftMetadata, "nft-metadata-file", "", "JSON file of the metadata of NFTs")
		flags.StringVar(&f.methods, "methods-file", "", "file of further function signatures, a line each: 0x and 8 digits, and the signature")
		for name, part := range map[string]string{"logos-file": "logos", "reputation-file": "reputation", "nft-metadata-file": "nftMetadata", "methods-file": "methods"} {
			moved(flags, name, part+" in the file of --tokens-file")
		}
	})
	limits.IntVar(&f.fetchers, "fetch-concurrency", 0, "requests for blocks made at one time for a chain; 0: twice the processors, 4 to 32")
	limits.IntVar(&f.tracers, "trace-concurrency", 0, "requests for traces made at one time for a chain, each of which keeps a processor of a node busy; 0: twice the processors, 4 to 32")
	limits.DurationVar(&f.untracedAfter, "untraced-after", time.Minute, "time for which no node can trace a chain after which its new blocks are indexed without their traces, which follow once a node can; 0: they wait")
	group(flags, groupAnswers, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.publicURL, "public-url", "", "address of this server as clients know it, named as rpcUrl (default http://HOST:PORT)")
		flags.StringVar(&f.dialect, "api-dialect", "auto", "form of answers: contract, sdk, or auto, which sends the official SDKs theirs")
	})
}

func (f *dataFlags) check() error {
	if _, err := view.ParseMode(f.dialect); err != nil {
		return fmt.Errorf("--api-dialect: %w", err)
	}
	if _, err := evm.ParseVerify(f.verify); err != nil {
		return fmt.Errorf("--verify: %w", err)
	}
	for name, n := range map[string]int{"fetch": f.fetchers, "trace": f.tracers} {
		if n < 0 || n > maxConcurrency {
			return fmt.Errorf("limits.%s-concurrency %d: must be 0 to %d", name, n, maxConcurrency)
		}
	}
	if _, err := follow.ParseStartBlock(f.start); err != nil {
		return fmt.Errorf("--start-block: %w", err)
	}
	if f.untracedAfter < 0 {
		return fmt.Errorf("limits.untraced-after %s: must not be negative", f.untracedAfter)
	}
	if f.publicURL != "" {
		if _, ok := publicURL(f.publicURL); !ok {
			return fmt.Errorf("--public-url %q is not of the form http://HOST:PORT", f.publicURL)
		}
	}
	if f.tokens != "" && f.logos+f.reputation+f.nftMetadata+f.methods != "" {
		return errors.New("--tokens-file has what the files of --logos-file, --reputation-file, --nft-metadata-file and --methods-file had: leave those out")
	}
	if f.chainsFile != "" && !f.index {
		return errors.New("--chains-file needs --index")
	}
	return f.primary.check()
}

// chains reads the chains file, if there is one.
func (f *dataFlags) chains() ([]engine.EVMConfig, error) {
	if f.chainsFile == "" {
		return nil, nil
	}
	return readChains(f.chainsFile)
}

// configure fills in what the HTTP server needs to serve chain data.
func (f *dataFlags) configure(cfg *httpapi.Config, c chains, dataDir string, log *slog.Logger) (err error) {
	if !f.index {
		return nil
	}
	cfg.Primary = newPrimaries(c.eng)
	if cfg.Dialect, err = view.ParseMode(f.dialect); err != nil {
		return err
	}
	if cfg.TokenKey, err = secret(filepath.Join(dataDir, tokenKeyName), tokenKeyLen); err != nil {
		return err
	}
	var errs []error
	for _, of := range f.outside(cfg, log) {
		errs = append(errs, of.open())
	}
	if t, ok := cfg.NFTMetadata.(*provide.Tokens); ok {
		c.metadata = c.metadata || t.KnowsNFTs()
	}
	cfg.Chains = c
	return errors.Join(errs...)
}

// outsideFile is a file with what no chain knows.
type outsideFile struct {
	flag, path string
	read       func() error
}

func (o *outsideFile) open() error { return named("--"+o.flag, o.read()) }

// outside returns the files that are named. Each sets what cfg says when it is opened.
func (f *dataFlags) outside(cfg *httpapi.Config, log *slog.Logger) []outsideFile {
	cfg.Methods = builtIn{selector.New()}
	part := func(name string, set func(t *provide.Tokens), path string) func() error {
		return func() error {
			t, err := provide.OpenPart(name, path, log)
			if err == nil {
				set(t)
			}
			return err
		}
	}
	all := []outsideFile{
		{"prices-file", f.prices, func() (err error) {
			cfg.Prices, err = provide.OpenPrices(f.prices, log)
			return err
		}},
		{"tokens-file", f.tokens, func() error {
			t, err := provide.OpenTokens(f.tokens, log)
			if err == nil {
				cfg.Logos, cfg.Reputation, cfg.NFTMetadata, cfg.Methods = t, t, t, t
			}
			return err
		}},
		{"logos-file", f.logos, part("logos", func(t *provide.Tokens) { cfg.Logos = t }, f.logos)},
		{"reputation-file", f.reputation, part("reputation", func(t *provide.Tokens) { cfg.Reputation = t }, f.reputation)},
		{"nft-metadata-file", f.nftMetadata, part("nftMetadata", func(t *provide.Tokens) { cfg.NFTMetadata = t }, f.nftMetadata)},
		{"methods-file", f.methods, part("methods", func(t *provide.Tokens) { cfg.Methods = t }, f.methods)},
	}
	// What is not named stays an empty interface, which means that nothing is known.
	return slices.DeleteFunc(all, func(of outsideFile) bool { return of.path == "" })
}

func named(flag string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// builtIn are the names of functions that are known without a file.
type builtIn struct{ table *selector.Table }

// MethodName implements [quorate/httpapi/evm.MethodNames].
func (b builtIn) MethodName(s [4]byte) string {
	_, name := b.table.MethodName(s[:])
	return name
}

// secret returns the random bytes of a file, and makes it if need be.
func secret(path string, size int) ([]byte, error) {
	key, err := readSecret(path, size)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, size)
	rand.Read(key) // never fails
	return key, writeSecret(path, key)
}

// readSecret returns the random bytes of a file.
func readSecret(path string, size int) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) != size {
		return nil, fmt.Errorf("%s has %d bytes, not %d", path, len(key), size)
	}
	return key, err
}

// writeSecret writes a new file that is whole, and on disk, before it has its name:
// page tokens that were given out must be good after a crash.
func writeSecret(path string, content []byte) (err error) {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
