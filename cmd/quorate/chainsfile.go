package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"

	"quorate/engine"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/httpapi/view"
)

// chainEntry is a chain in the chains file.
type chainEntry struct {
	RPC          string   `koanf:"rpc"`
	WS           string   `koanf:"ws"`
	BlockchainID string   `koanf:"blockchain-id"`
	SubnetID     string   `koanf:"subnet-id"`
	VMID         string   `koanf:"vm-id"`
	Names        []string `koanf:"names"`
	Name         string   `koanf:"name"`
	Description  string   `koanf:"description"`
	ExplorerURL  string   `koanf:"explorer-url"`
	LogoURI      string   `koanf:"logo-uri"`
	PublicRPC    string   `koanf:"public-rpc"`
	PublicWS     string   `koanf:"public-ws"`
	Multicall    string   `koanf:"multicall"`
	Features     []string `koanf:"features"`
	Wrapped      []string `koanf:"wrapped-tokens"`
	Private      bool     `koanf:"private"`
	Token        struct {
		Name     string `koanf:"name"`
		Symbol   string `koanf:"symbol"`
		Decimals *int   `koanf:"decimals"`
		LogoURI  string `koanf:"logo-uri"`
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

func (e *chainEntry) config() (cfg engine.EVMConfig, err error) {
	if u, err := url.Parse(e.RPC); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return cfg, errors.New("rpc is not of the form http://HOST:PORT/PATH")
	}
	if u, err := url.Parse(e.WS); e.WS != "" && (err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss") {
		return cfg, errors.New("ws is not of the form ws://HOST:PORT/PATH")
	}
	cfg.RPC, cfg.WS, cfg.Names = e.RPC, e.WS, e.Names
	for _, f := range []struct {
		key, text string
		dst       *chain.ID
		required  bool
	}{
		{"blockchain-id", e.BlockchainID, &cfg.ID, true},
		{"subnet-id", e.SubnetID, &cfg.Subnet, false},
		{"vm-id", e.VMID, &cfg.VM, false},
	} {
		if f.text == "" && !f.required {
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
	d := engine.ChainDetails{
		Name: e.Name, Description: e.Description, ExplorerURL: e.ExplorerURL, LogoURI: e.LogoURI,
		RPCURL: e.PublicRPC, WSURL: e.PublicWS, Multicall: e.Multicall, Features: e.Features, Private: e.Private,
		TokenName: e.Token.Name, TokenSymbol: e.Token.Symbol, TokenDecimals: 18, TokenLogoURI: e.Token.LogoURI,
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
