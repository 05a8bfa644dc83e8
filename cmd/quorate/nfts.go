package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holiman/uint256"
	"github.com/spf13/pflag"

	"quorate/engine"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/nftmeta"
	"quorate/httpapi"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/view"
)

// nftFlags are the flags of quorate serve about the metadata of NFTs.
type nftFlags struct {
	on, http, private bool
	gateway           string
	refresh           time.Duration
	most              int
}

func (f *nftFlags) add(flags, limits *pflag.FlagSet) {
	group(flags, groupChains, func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.on, "nft-metadata", false, "fetch the metadata of NFTs from where their contracts say; see docs/nfts.md")
		flags.StringVar(&f.gateway, "nft-ipfs-gateway", "", "address of the gateway for metadata in IPFS, such as http://127.0.0.1:8080; without one they are not fetched")
	})
	limits.BoolVar(&f.http, "nft-http", false, "fetch metadata by http:// besides https://")
	limits.BoolVar(&f.private, "nft-private", false, "fetch metadata from addresses that are not of the internet, such as this machine's: every author of a contract can then send requests there")
	limits.DurationVar(&f.refresh, "nft-refresh", 7*24*time.Hour, "age after which metadata are looked at again")
	limits.IntVar(&f.most, "nft-documents", 1_000_000, "tokens whose metadata are kept")
}

func (f *nftFlags) check() error {
	if f.gateway != "" {
		if _, err := nftmeta.ParseGateway(f.gateway); err != nil {
			return fmt.Errorf("--nft-ipfs-gateway: %w", err)
		}
	}
	switch {
	case f.refresh < time.Minute:
		return fmt.Errorf("limits.nft-refresh %s: must be at least 1m", f.refresh)
	case f.most < 1:
		return errors.New("limits.nft-documents must be at least 1")
	case !f.on && (f.gateway != "" || f.http || f.private):
		return errors.New("--nft-ipfs-gateway, limits.nft-http and limits.nft-private need --nft-metadata")
	}
	return nil
}

func (f *nftFlags) configure(cfg *engine.Config) {
	cfg.Metadata = nftmeta.Config{On: f.on, Gateway: f.gateway, HTTP: f.http, Private: f.private, Refresh: f.refresh, Most: f.most}
}

func (f *nftFlags) serve(cfg *httpapi.Config, eng *engine.Engine) {
	if f.on {
		cfg.NFTs = &nfts{eng: eng}
	}
}

// nfts shows the HTTP server the metadata that the engine fetches.
type nfts struct {
	eng *engine.Engine
	ids sync.Map // chain.ID by text: the same few are asked for in each row
}

var _ evmapi.NFTs = (*nfts)(nil)

func (n *nfts) id(text string) (chain.ID, error) {
	if id, ok := n.ids.Load(text); ok {
		return id.(chain.ID), nil
	}
	id, err := chain.ParseID(text)
	if err == nil {
		n.ids.Store(text, id)
	}
	return id, err
}

// Metadata implements [quorate/httpapi/evm.NFTs].
func (n *nfts) Metadata(blockchainID string, token *evm.Address, id *uint256.Int) (*view.Metadata, error) {
	m := n.eng.Metadata()
	if m == nil {
		return nil, nil
	}
	of, err := n.id(blockchainID)
	if err != nil {
		return nil, err
	}
	t, err := m.Token(of, token, id)
	if err != nil || t == nil {
		return nil, err
	}
	out := &view.Metadata{
		Status: string(t.Status), UpdatedAt: t.UpdatedAt, Name: t.Name, Symbol: t.Symbol, Description: t.Description, ImageURI: t.ImageURI,
		AnimationURI: t.AnimationURI, ExternalURL: t.ExternalURL, Background: t.Background, Attributes: t.Attributes, Properties: t.Properties,
	}
	if t.Decimals != nil {
		d := int(*t.Decimals)
		out.Decimals = &d
	}
	return out, nil
}

// Reindex implements [quorate/httpapi/evm.NFTs].
func (n *nfts) Reindex(ctx context.Context, blockchainID string, token evm.Address, id uint256.Int) error {
	m := n.eng.Metadata()
	if m == nil {
		return nftmeta.ErrStopping
	}
	of, err := n.id(blockchainID)
	if err != nil {
		return err
	}
	return m.Reindex(ctx, of, token, id)
}
