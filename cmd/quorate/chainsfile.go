package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"

	"quorate/engine"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/follow"
	"quorate/engine/source"
	"quorate/httpapi/view"
)

// chainEntry is a chain in the chains file.
type chainEntry struct {
	RPC string `koanf:"rpc"`
	WS  string `koanf:"ws"`
	// Headers go with each request to RPC and WS.
	Headers      map[string]string `koanf:"headers"`
	BlockchainID string            `koanf:"blockchain-id"`
	SubnetID     string            `koanf:"subnet-id"`
	VMID         string            `koanf:"vm-id"`
	Names        []string          `koanf:"names"`
	Name         string            `koanf:"name"`
	Description  string            `koanf:"description"`
	ExplorerURL  string            `koanf:"explorer-url"`
	LogoURI      string            `koanf:"logo-uri"`
	PublicRPC    string            `koanf:"public-rpc"`
	PublicWS     string            `koanf:"public-ws"`
	Multicall    string            `koanf:"multicall"`
	Features     []string          `koanf:"features"`
	Wrapped      []string          `koanf:"wrapped-tokens"`
	Private      bool              `koanf:"private"`
	Token        struct {
		Name        string `koanf:"name"`
		Symbol      string `koanf:"symbol"`
		Decimals    *int   `koanf:"decimals"`
		LogoURI     string `koanf:"logo-uri"`
		Description string `koanf:"description"`
	} `koanf:"token"`
}

// readChains reads the chains file: a list under the key chains.
func readChains(path string) ([]engine.EVMConfig, error) {
	k := koanf.New(keyDelim)
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		return nil, fmt.Errorf("--chains-file %s: %w", path, err)
	}
	var form struct {
		Chains []chainEntry `koanf:"chains"`
	}
	// An unknown key is a mistake, as it is in the configuration file.
	strict := &mapstructure.DecoderConfig{Result: &form, TagName: "koanf", ErrorUnused: true}
	if err := k.UnmarshalWithConf("", &form, koanf.UnmarshalConf{DecoderConfig: strict}); err != nil {
		return nil, fmt.Errorf("--chains-file %s: %w", path, err)
	}
	if len(form.Chains) == 0 {
		return nil, fmt.Errorf("--chains-file %s: no list of chains under the key chains", path)
	}
	out := make([]engine.EVMConfig, len(form.Chains))
	seen := make(map[chain.ID]bool)
	for i := range form.Chains {
		cfg, err := form.Chains[i].config()
		if err == nil && seen[cfg.ID] {
			err = errors.New("the blockchain ID is there twice")
		}
		if err != nil {
			return nil, fmt.Errorf("--chains-file %s: chain %d: %w", path, i+1, err)
		}
		seen[cfg.ID], out[i] = true, cfg
	}
	return out, nil
}

// endpoints returns the chain's API with its headers. No error quotes an address:
// it may hold a password.
func (e *chainEntry) endpoints() (rpc, ws source.Endpoint, err error) {
	if rpc, err = source.ParseEndpoint(e.RPC); err != nil {
		return rpc, ws, errors.New("rpc is not of the form http://HOST:PORT/PATH")
	}
	if e.WS != "" {
		if ws, err = source.ParseWebSocket(e.WS); err != nil {
			return rpc, ws, errors.New("ws is not of the form ws://HOST:PORT/PATH")
		}
	}
	for name, value := range e.Headers {
		if rpc, err = rpc.WithHeader(name, value); err != nil {
			return rpc, ws, fmt.Errorf("headers: %w", err)
		}
		if ws.Zero() {
			continue
		}
		if ws, err = ws.WithHeader(name, value); err != nil {
			return rpc, ws, fmt.Errorf("headers: %w", err)
		}
	}
	return rpc, ws, nil
}

func (e *chainEntry) config() (cfg engine.EVMConfig, err error) {
	if cfg.RPC, cfg.WS, err = e.endpoints(); err != nil {
		return cfg, err
	}
	cfg.Names = e.Names
	for _, f := range []struct {
		key, text string
		dst       *chain.ID
		required  bool
	}{
		{"blockchain-id", e.BlockchainID, &cfg.ID, true},
		{"subnet-id", e.SubnetID, &cfg.Subnet, false},
		{"vm-id", e.VMID, &cfg.VM, false},
	} {
		if f.text == "" && f.required {
			return cfg, fmt.Errorf("%s is missing", f.key)
		}
		if f.text == "" {
			continue
		}
		if *f.dst, err = chain.ParseID(f.text); err != nil {
			return cfg, fmt.Errorf("%s: %w", f.key, err)
		}
	}
	for _, f := range e.Features {
		switch f {
		case view.FeatureNFT, view.FeatureTeleporter, view.FeatureWebhooks:
		default:
			return cfg, fmt.Errorf("feature %q is unknown; there are %s", f,
				strings.Join([]string{view.FeatureNFT, view.FeatureTeleporter, view.FeatureWebhooks}, ", "))
		}
	}
	d := follow.Details{
		Name: e.Name, Description: e.Description, ExplorerURL: e.ExplorerURL, LogoURI: e.LogoURI,
		RPCURL: e.PublicRPC, WSURL: e.PublicWS, Multicall: e.Multicall, Features: e.Features, Private: e.Private,
		TokenName: e.Token.Name, TokenSymbol: e.Token.Symbol, TokenDecimals: 18, TokenLogoURI: e.Token.LogoURI, TokenDescription: e.Token.Description,
	}
	if n := e.Token.Decimals; n != nil {
		if *n < 0 || *n > 255 {
			return cfg, fmt.Errorf("decimals of %d: must be 0 to 255", *n)
		}
		d.TokenDecimals = uint8(*n)
	}
	for _, w := range e.Wrapped {
		a, err := evm.ParseAddress(w)
		if err != nil {
			return cfg, fmt.Errorf("wrapped-tokens: %w", err)
		}
		d.Wrapped = append(d.Wrapped, a)
	}
	cfg.Details = d
	return cfg, nil
}
