// Package contracts holds contracts that the tests deploy: their sources, and
// the bytecode that build.mjs made of them, so that tests need no compiler.
package contracts

import (
	_ "embed"
	"encoding/hex"
	"strings"
)

var (
	//go:embed Coin.hex
	coin string
	//go:embed Art.hex
	art string
	//go:embed Items.hex
	items string
	//go:embed Box.hex
	box string
	//go:embed Factory.hex
	factory string
)

// Coin is an ERC-20 token: (string name, string symbol, uint8 decimals, uint256 supply).
func Coin() ([]byte, error) { return code(coin) }

// Art is an ERC-721 token. It takes no arguments, as those below.
func Art() ([]byte, error) { return code(art) }

// Items is an ERC-1155 token.
func Items() ([]byte, error) { return code(items) }

// Box holds coins and can fail.
func Box() ([]byte, error) { return code(box) }

// Factory makes boxes.
func Factory() ([]byte, error) { return code(factory) }

func code(text string) ([]byte, error) { return hex.DecodeString(strings.TrimSpace(text)) }
