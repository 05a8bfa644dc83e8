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
	//go:embed Wrapped.hex
	wrapped string
	//go:embed Router.hex
	router string
	//go:embed Rebasing.hex
	rebasing string
	//go:embed Fee.hex
	fee string
	//go:embed Claims.hex
	claims string
	//go:embed Renamed.hex
	renamed string
	//go:embed Inbox.hex
	inbox string
	//go:embed Messenger.hex
	messenger string
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

// Wrapped is a wrapped coin as WAVAX is.
func Wrapped() ([]byte, error) { return code(wrapped) }

// Router wraps coins and forwards them.
func Router() ([]byte, error) { return code(router) }

// Rebasing is a token whose balances grow without events.
func Rebasing() ([]byte, error) { return code(rebasing) }

// Fee is a token that keeps a part of each transfer, which its event does not say.
func Fee() ([]byte, error) { return code(fee) }

// Claims makes events of transfers and has no balances, nor decimals.
func Claims() ([]byte, error) { return code(claims) }

// Renamed is a token that can be renamed.
func Renamed() ([]byte, error) { return code(renamed) }

// Inbox takes interchain messages, or none while it is closed.
func Inbox() ([]byte, error) { return code(inbox) }

// Messenger is not made by a transaction: it is what a genesis places at the address of
// TeleporterMessenger, whose functions and events it has.
func Messenger() ([]byte, error) { return code(messenger) }

func code(text string) ([]byte, error) { return hex.DecodeString(strings.TrimSpace(text)) }
