package provide

import (
	"fmt"
	"log/slog"
	"net/url"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/httpapi/view"
)

// native stands for a chain's own coin in a file of prices.
const native = "native"

// price is a decimal number, written as a string or as a number.
type price string

// UnmarshalJSON implements json.Unmarshaler.
func (p *price) UnmarshalJSON(b []byte) error {
	if n := len(b); n >= 2 && b[0] == '"' {
		b = b[1 : n-1]
	}
	*p = price(b)
	return view.CheckPrice(string(b))
}

// byCurrency are the prices of one coin or token.
type byCurrency map[string]price

type chainPrices struct {
	native byCurrency
	tokens map[evm.Address]byCurrency
}

// Prices knows the prices of a file.
type Prices struct{ file[map[string]chainPrices] }

// OpenPrices reads a file of prices. A nil log discards what there is to say.
func OpenPrices(path string, log *slog.Logger) (*Prices, error) {
	f, err := open(path, log, parsePrices)
	return &Prices{f}, err
}

func parsePrices(b []byte) (map[string]chainPrices, error) {
	var raw map[string]map[string]byCurrency
	if err := decode(b, &raw); err != nil {
		return nil, err
	}
	out := make(map[string]chainPrices, len(raw))
	for chain, prices := range raw {
		for what, list := range prices {
			for currency := range list {
				if _, ok := view.Currency([]byte(currency)); !ok {
					return nil, fmt.Errorf("chain %s, %s: currency %q is unknown", chain, what, currency)
				}
			}
		}
		p := chainPrices{native: prices[native]}
		delete(prices, native)
		var err error
		if p.tokens, err = byAddress(chain, prices); err != nil {
			return nil, err
		}
		out[chain] = p
	}
	return out, nil
}

// Price returns the price of one whole token in a currency, or "". A nil token is
// the chain's own coin.
func (p *Prices) Price(chainID string, token *evm.Address, currency string) string {
	c := (*p.Get())[chainID]
	if token == nil {
		return string(c.native[currency])
	}
	return string(c.tokens[*token][currency])
}

type chainLogos struct {
	native string
	tokens map[evm.Address]string
}

func parseLogos(b []byte) (map[string]chainLogos, error) {
	var raw map[string]map[string]string
	if err := decode(b, &raw); err != nil {
		return nil, err
	}
	out := make(map[string]chainLogos, len(raw))
	for chain, logos := range raw {
		for what, logo := range logos {
			if u, err := url.Parse(logo); err != nil || !u.IsAbs() {
				return nil, fmt.Errorf("chain %s, %s: logo %q is not an absolute URI", chain, what, logo)
			}
		}
		l := chainLogos{native: logos[native]}
		delete(logos, native)
		var err error
		if l.tokens, err = byAddress(chain, logos); err != nil {
			return nil, err
		}
		out[chain] = l
	}
	return out, nil
}

func parseReputation(b []byte) (map[string]map[evm.Address]view.Reputation, error) {
	var raw map[string]map[string]view.Reputation
	if err := decode(b, &raw); err != nil {
		return nil, err
	}
	out := make(map[string]map[evm.Address]view.Reputation, len(raw))
	for chain, tokens := range raw {
		for token, r := range tokens {
			if r != view.Malicious && r != view.Benign {
				return nil, fmt.Errorf("chain %s, %s: reputation %q is neither Malicious nor Benign", chain, token, r)
			}
		}
		var err error
		if out[chain], err = byAddress(chain, tokens); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// byID are the metadata of one contract's tokens.
type byID map[uint256.Int]*view.Metadata

func parseMetadata(b []byte) (map[string]map[evm.Address]byID, error) {
	var raw map[string]map[string]map[string]*view.Metadata
	if err := decode(b, &raw); err != nil {
		return nil, err
	}
	out := make(map[string]map[evm.Address]byID, len(raw))
	for chain, contracts := range raw {
		parsed := make(map[string]byID, len(contracts))
		for contract, tokens := range contracts {
			ids := make(byID, len(tokens))
			for text, m := range tokens {
				var id uint256.Int
				if err := id.SetFromDecimal(text); err != nil {
					return nil, fmt.Errorf("chain %s, %s: token ID %q: %w", chain, contract, text, err)
				}
				if m == nil || !knownStatus(m.Status) {
					return nil, fmt.Errorf("chain %s, %s, token %s: indexStatus is unknown or there are no metadata", chain, contract, text)
				}
				ids[id] = m
			}
			parsed[contract] = ids
		}
		var err error
		if out[chain], err = byAddress(chain, parsed); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// knownStatus reports whether clients know an index status: their list is closed.
func knownStatus(s string) bool {
	switch s {
	case "", "UNKNOWN", "MISSING_TOKEN", "INVALID_TOKEN_URI", "INVALID_TOKEN_URI_SCHEME", "UNREACHABLE_TOKEN_URI",
		"THROTTLED_TOKEN_URI", "METADATA_CONTENT_TOO_LARGE", "INVALID_METADATA", "INVALID_METADATA_JSON", "INDEXED", "UNINDEXED":
		return true
	}
	return false
}
