package view

import (
	"strconv"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// Source tells a [Writer] what the rows themselves do not say.
type Source interface {
	// Token returns what a token's contract says of itself; false if a is not known
	// to be a token.
	Token(a *evm.Address) (index.TokenMeta, bool)
	// TokenURI returns the address of an NFT's metadata, "" if it is not known.
	TokenURI(token *evm.Address, id *uint256.Int) string
	// Owner returns the owner of an ERC-721 token, the zero address if it was burnt;
	// false if it is not known.
	Owner(token *evm.Address, id *uint256.Int) (evm.Address, bool)
	// Logo returns the URI of a token's logo, "" if it is not known. A nil token is
	// the chain's own coin.
	Logo(token *evm.Address) string
	// Metadata returns an NFT's metadata, nil if they are not known.
	Metadata(token *evm.Address, id *uint256.Int) *Metadata
	// Price returns the price of one whole token in Currency, as a string that
	// CheckPrice accepts, or "". A nil token is the chain's own coin.
	Price(token *evm.Address) string
	// Reputation returns what is known of a token's intentions.
	Reputation(token *evm.Address) Reputation
	// MethodName returns the signature of a function, "" if it is not known.
	MethodName(selector [4]byte) string
}

// Reputation says whether a token is known to be honest.
type Reputation string

// What can be known of a token.
const (
	Unknown   Reputation = ""
	Malicious Reputation = "Malicious"
	Benign    Reputation = "Benign"
)

// Metadata are those of an NFT. Empty members are left out.
type Metadata struct {
	// Status is INDEXED, or why there are none, such as INVALID_METADATA_JSON.
	// Empty is INDEXED.
	Status       string `json:"indexStatus"`
	UpdatedAt    int64  `json:"metadataLastUpdatedTimestamp"` // Unix seconds, 0 = unknown
	Name         string `json:"name"`
	Symbol       string `json:"symbol"`
	ImageURI     string `json:"imageUri"`
	Description  string `json:"description"`
	AnimationURI string `json:"animationUri"`
	ExternalURL  string `json:"externalUrl"`
	Background   string `json:"background"`
	Attributes   string `json:"attributes"` // of ERC-721
	Decimals     *int   `json:"decimals"`   // of ERC-1155
	Properties   string `json:"properties"` // of ERC-1155
}

// Writer appends answers to B. Set the fields before its first use.
type Writer struct {
	B        []byte
	Dialect  Dialect
	Currency string
	Chain    *ChainInfo
	Source   Source
	Primary  Primary // for answers about the primary network

	last writtenBlock
	tx   wordsOfTx
}

// Forget has the next row written by itself, for B has other bytes than before.
func (w *Writer) Forget() { w.last = writtenBlock{} }

// Member writes the name of a member, with a comma before it unless it is the
// first of its object, and the colon.
func (w *Writer) Member(name string) {
	w.Comma()
	w.B = append(append(append(w.B, '"'), name...), '"', ':')
}

// Comma separates from what was written before, unless that opened something.
func (w *Writer) Comma() {
	if n := len(w.B); n > 0 && w.B[n-1] != '{' && w.B[n-1] != '[' {
		w.B = append(w.B, ',')
	}
}

// Raw appends s as it is.
func (w *Writer) Raw(s string) { w.B = append(w.B, s...) }

// text writes a member with a string.
func (w *Writer) text(name, s string) {
	w.Member(name)
	w.B = AppendString(w.B, s)
}

// known writes a member with a string unless that is empty.
func (w *Writer) known(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

// demanded writes a member with a string, which only the SDKs demand if it is not known.
func (w *Writer) demanded(name, s string) {
	if s != "" || w.Dialect != Contract {
		w.text(name, s)
	}
}

func (w *Writer) integer(name string, n int64) {
	w.Member(name)
	w.B = strconv.AppendInt(w.B, n, 10)
}

func (w *Writer) boolean(name string, v bool) {
	w.Member(name)
	w.B = strconv.AppendBool(w.B, v)
}

// count writes a member with a whole number as a string.
func (w *Writer) count(name string, n uint64) {
	w.Member(name)
	w.B = append(w.B, '"')
	w.B = append(AppendUint(w.B, n), '"')
}

func (w *Writer) amount(name string, v *uint256.Int) {
	w.Member(name)
	w.B = append(w.B, '"')
	w.B = append(AppendAmount(w.B, v), '"')
}

func (w *Writer) hash(name string, h *evm.Hash) {
	w.Member(name)
	w.B = append(w.B, '"')
	w.B = append(AppendHash(w.B, h), '"')
}

func (w *Writer) address(name string, a *evm.Address) {
	w.Member(name)
	w.B = append(w.B, '"')
	w.B = append(checksums.append(w.B, a), '"')
}

// party writes the address info of a sender or receiver.
func (w *Writer) party(name string, a *evm.Address) {
	w.Member(name)
	if meta, ok := w.Source.Token(a); ok {
		w.token(a, &meta)
		return
	}
	w.B = append(checksums.append(append(w.B, `{"address":"`...), a), '"', '}')
}

// partyAs is party where the capitals of the address' text are known. The member's
// name comes with all that is around it.
func (w *Writer) partyAs(name string, a *evm.Address, text evm.Capitals) {
	w.B = append(w.B, name...)
	if meta, ok := w.Source.Token(a); ok {
		w.token(a, &meta)
		return
	}
	w.B = append(appendChecked(append(w.B, `{"address":"`...), a, text), '"', '}')
}

// token writes the address info of a token.
func (w *Writer) token(a *evm.Address, meta *index.TokenMeta) {
	w.B = append(w.B, '{')
	if w.tx.roomForNames() {
		start := len(w.B)
		w.known("name", meta.Name)
		w.known("symbol", meta.Symbol)
		w.tx.names += len(w.B) - start
	}
	if meta.HasDecimals {
		w.integer("decimals", int64(meta.Decimals))
	}
	w.known("logoUri", w.Source.Logo(a))
	w.address("address", a)
	w.B = append(w.B, '}')
}

// price writes the price of a token, or nothing if there is none.
func (w *Writer) price(name, value string) {
	if value == "" || w.Dialect == Either {
		return
	}
	w.Member(name)
	w.money()
	w.B = append(w.B, value...)
	w.moneyEnd()
}

// worth writes the value of an amount of a token, or nothing without a price.
func (w *Writer) worth(name string, amount *uint256.Int, decimals uint8, price string) {
	if price == "" || w.Dialect == Either {
		return
	}
	w.Member(name)
	w.money()
	w.B = AppendValue(w.B, amount, decimals, price)
	w.moneyEnd()
}

func (w *Writer) money() {
	w.Raw(`{"currencyCode":"`)
	w.Raw(w.Currency)
	w.Raw(`","value":`)
	if w.Dialect == Contract {
		w.B = append(w.B, '"')
	}
}

func (w *Writer) moneyEnd() {
	if w.Dialect == Contract {
		w.B = append(w.B, '"')
	}
	w.B = append(w.B, '}')
}
