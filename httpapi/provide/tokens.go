package provide

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"

	"github.com/goccy/go-json"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/selector"
	"quorate/httpapi/view"
)

// Tokens knows what a file says of coins, tokens and functions.
type Tokens struct{ file[tokens] }

type tokens struct {
	logos      map[string]chainLogos
	reputation map[string]map[evm.Address]view.Reputation
	metadata   map[string]map[evm.Address]byID
	methods    *selector.Table
}

// OpenTokens reads a file of tokens. A nil log discards what there is to say.
func OpenTokens(path string, log *slog.Logger) (*Tokens, error) {
	f, err := open(path, log, func(b []byte) (t tokens, err error) {
		var raw struct {
			Logos, Reputation, NFTMetadata json.RawMessage
			Methods                        []string
		}
		if err := decode(b, &raw); err != nil {
			return t, err
		}
		t.methods = selector.New()
		for name, content := range map[string][]byte{
			"logos": raw.Logos, "reputation": raw.Reputation, "nftMetadata": raw.NFTMetadata, "methods": []byte(strings.Join(raw.Methods, "\n")),
		} {
			if err := t.parse(name, content); err != nil {
				return t, fmt.Errorf("%s: %w", name, err)
			}
		}
		return t, nil
	})
	return &Tokens{f}, err
}

// OpenPart reads a file that has one part of a file of tokens alone; methods are text, a line each.
func OpenPart(part, path string, log *slog.Logger) (*Tokens, error) {
	f, err := open(path, log, func(b []byte) (tokens, error) {
		t := tokens{methods: selector.New()}
		if part != "methods" && len(b) == 0 {
			return t, decode(b, nil)
		}
		return t, t.parse(part, b)
	})
	return &Tokens{f}, err
}

// parse reads a part. One that is empty says nothing.
func (t *tokens) parse(part string, b []byte) (err error) {
	switch {
	case len(b) == 0:
	case part == "logos":
		t.logos, err = parseLogos(b)
	case part == "reputation":
		t.reputation, err = parseReputation(b)
	case part == "nftMetadata":
		t.metadata, err = parseMetadata(b)
	case part == "methods":
		err = t.methods.Load(bytes.NewReader(b))
	}
	return err
}

// Logo returns the URI of a token's logo, or "". A nil token is the chain's own
// coin.
func (p *Tokens) Logo(chainID string, token *evm.Address) string {
	c := p.Get().logos[chainID]
	if token == nil {
		return c.native
	}
	return c.tokens[*token]
}

// Reputation returns what the file says of a token.
func (p *Tokens) Reputation(chainID string, token *evm.Address) view.Reputation {
	return p.Get().reputation[chainID][*token]
}

// Metadata returns what the file says of a token, nil if nothing.
func (p *Tokens) Metadata(chainID string, token *evm.Address, id *uint256.Int) *view.Metadata {
	return p.Get().metadata[chainID][*token][*id]
}

// KnowsNFTs reports whether the file has metadata of NFTs.
func (p *Tokens) KnowsNFTs() bool { return p.Get().metadata != nil }

// MethodName returns the signature of a function, empty if neither the file nor the built-in table
// has it.
func (p *Tokens) MethodName(s [4]byte) string {
	_, name := p.Get().methods.MethodName(s[:])
	return name
}
