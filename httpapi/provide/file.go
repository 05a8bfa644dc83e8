// Package provide reads files that tell what is in no block: prices, logos, which
// tokens are malicious, the metadata of NFTs, and names of functions. What a file does not tell is
// not known, and is left out of answers; nothing is made up.
//
// Files are JSON. One has prices, by EVM chain number:
//
//	{"43114": {"native": {"usd": "25.31"}, "0x...": {"usd": 1.0, "eur": "0.92"}}}
//
// One has what is known of tokens, in parts, each of which may be missing:
//
//	{"logos":       {"43114": {"native": "https://...", "0x...": "https://..."}},
//	 "reputation":  {"43114": {"0x...": "Malicious", "0x...": "Benign"}},
//	 "nftMetadata": {"43114": {"0x...": {"1": {"name": "First", "imageUri": "ipfs://..."}}}},
//	 "methods":     ["0xa9059cbb transfer(address,uint256)"]}
//
// Prices are of one whole coin or token, by lower-case currency, as strings or
// numbers without sign and exponent. Metadata are by token contract and
// token ID in decimal, with the members that answers have.
//
// A file is read again when its time or size has changed, which is looked for
// at most once a second. A file that is wrong then is not taken: what was read
// before stays, and the log says why.
package provide

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/goccy/go-json"

	"quorate/engine/chain/evm"
	"quorate/httpapi/reload"
)

// maxFile bounds a file's size in bytes.
const maxFile = 256 << 20

// file is a file's content, kept up to date.
type file[T any] struct{ *reload.Value[T] }

func open[T any](path string, log *slog.Logger, parse func([]byte) (T, error)) (file[T], error) {
	v, err := reload.Open(reload.Config[T]{
		Name: "data file", Paths: []string{path}, MaxBytes: maxFile, Logger: log,
		Parse: func(content [][]byte, _ *T) (*T, error) {
			value, err := parse(content[0])
			return &value, err
		},
	})
	return file[T]{v}, err
}

// decode reads exactly one JSON value.
func decode(b []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	switch err := d.Decode(to); {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	case err != nil:
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// checkChain checks the name of a chain.
func checkChain(name string) error {
	if name == "" || strings.Trim(name, "0123456789") != "" {
		return fmt.Errorf("%q is not an EVM chain number", name)
	}
	return nil
}

// byAddress returns a chain's part of a file with its addresses read.
func byAddress[T any](chain string, in map[string]T) (map[evm.Address]T, error) {
	if err := checkChain(chain); err != nil {
		return nil, err
	}
	out := make(map[evm.Address]T, len(in))
	for text, v := range in {
		a, err := evm.ParseAddress(text)
		if err != nil {
			return nil, fmt.Errorf("chain %s, %q: %w", chain, text, err)
		}
		if _, twice := out[a]; twice {
			return nil, fmt.Errorf("chain %s: %s is there twice", chain, a)
		}
		out[a] = v
	}
	return out, nil
}
