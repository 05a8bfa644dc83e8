package operation

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// Head is the first line of each file: the names of the columns.
const Head = "rowType,chainId,blockNumber,blockTimestamp,blockDate,blockHash,blockIndex,txHash,txStatus,txType,nonce," +
	"from,to,value,gasLimit,gasUsed,gasPrice,fee,callType,methodHash,logIndex," +
	"tokenAddress,tokenName,tokenSymbol,tokenDecimals,tokenId,isReverted\r\n"

// The row types.
const (
	rowTx       = "transaction"
	rowInternal = "internal"
)

// writer writes transactions as rows (RFC 4180).
type writer struct {
	chainID string
	v       *index.View
	tokens  map[evm.Address]index.TokenMeta // seen lately
	err     error                           // the first one met while looking up a token

	common []byte // of all rows of a transaction
}

// maxTokens bounds the tokens that a writer remembers.
const maxTokens = 4096

// tx appends the rows of a transaction: its own, and one for each transfer and call that
// is from or to one of the addresses, in the order of logs and calls. It returns their
// number.
func (w *writer) tx(dst []byte, tx *index.Tx, of []evm.Address) ([]byte, int) {
	w.prepare(tx)
	rows := 1
	dst = w.own(dst, tx)
	for i := range tx.Transfers {
		if t := &tx.Transfers[i]; slices.Contains(of, t.From) || slices.Contains(of, t.To) {
			dst = w.transfer(dst, t)
			rows++
		}
	}
	if !tx.Traced {
		return dst, rows
	}
	for i := range tx.Calls {
		c := &tx.Calls[i]
		if slices.ContainsFunc(of, func(a evm.Address) bool { return c.Concerns(&a) }) {
			dst = w.call(dst, c)
			rows++
		}
	}
	return dst, rows
}

// prepare writes the cells after the row type that all rows of a transaction share.
func (w *writer) prepare(tx *index.Tx) {
	b := append(w.common[:0], ',')
	b = append(append(b, w.chainID...), ',')
	b = append(strconv.AppendUint(b, tx.Block.Number, 10), ',')
	b = append(strconv.AppendUint(b, tx.Block.TimeMilli/1000, 10), ',')
	b = append(appendTime(b, tx.Block.TimeMilli), ',')
	b = append(appendHex(b, tx.Block.Hash[:]), ',')
	b = append(strconv.AppendUint(b, uint64(tx.Index), 10), ',')
	b = append(appendHex(b, tx.Hash[:]), ',')
	if tx.Failed {
		b = append(b, '0', ',')
	} else {
		b = append(b, '1', ',')
	}
	w.common = b
}

// own appends the row of the transaction itself.
func (w *writer) own(b []byte, tx *index.Tx) []byte {
	to, kind := &tx.To, "CONTRACT_CALL"
	switch {
	case tx.Creation:
		to, kind = &tx.Contract, "CONTRACT_CREATION"
	case len(tx.Input) == 0:
		kind = "NATIVE_TRANSFER"
	}
	b = append(append(b, rowTx...), w.common...)
	b = append(strconv.AppendUint(b, uint64(tx.Type), 10), ',')
	b = append(strconv.AppendUint(b, tx.Nonce, 10), ',')
	b = w.parties(b, &tx.From, to)
	b = append(appendAmount(b, &tx.Value), ',')
	b = append(strconv.AppendUint(b, tx.GasLimit, 10), ',')
	b = append(strconv.AppendUint(b, tx.GasUsed, 10), ',')
	b = append(appendAmount(b, &tx.GasPrice), ',')
	var fee uint256.Int
	fee.Mul(&tx.GasPrice, fee.SetUint64(tx.GasUsed))
	b = append(appendAmount(b, &fee), ',')
	b = append(append(b, kind...), ',')
	if kind == "CONTRACT_CALL" && len(tx.Input) >= 4 {
		b = appendHex(b, tx.Input[:4])
	}
	return append(b, ",,,,,,,\r\n"...)
}

// transfer appends the row of a transfer.
func (w *writer) transfer(b []byte, t *index.Transfer) []byte {
	b = append(append(b, t.Kind.String()...), w.common...)
	b = w.parties(append(b, ',', ','), &t.From, &t.To)
	if t.Kind != index.ERC721 {
		b = appendAmount(b, &t.Value)
	}
	b = append(b, ",,,,,,,"...)
	b = append(strconv.AppendUint(b, uint64(t.LogIndex), 10), ',')
	b = append(t.Token.Append(b), ',')
	meta := w.token(&t.Token)
	b = append(appendText(b, meta.Name), ',')
	b = append(appendText(b, meta.Symbol), ',')
	if meta.HasDecimals {
		b = strconv.AppendUint(b, uint64(meta.Decimals), 10)
	}
	b = append(b, ',')
	if t.Kind != index.ERC20 {
		b = appendAmount(b, &t.ID)
	}
	return append(b, ",\r\n"...)
}

// call appends the row of an internal transaction.
func (w *writer) call(b []byte, c *evm.Call) []byte {
	b = append(append(b, rowInternal...), w.common...)
	b = w.parties(append(b, ',', ','), &c.From, &c.To)
	b = append(appendAmount(b, &c.Value), ',')
	b = append(strconv.AppendUint(b, c.Gas, 10), ',')
	b = append(strconv.AppendUint(b, c.GasUsed, 10), ",,,"...)
	kind := c.Type
	if kind == evm.CallSelfDestruct {
		kind = evm.CallUnknown // as in the API, whose list of names is closed
	}
	b = append(append(b, kind.String()...), ",,,,,,,,"...)
	return append(strconv.AppendBool(b, c.Reverted), "\r\n"...)
}

func (w *writer) parties(b []byte, from, to *evm.Address) []byte {
	return append(to.Append(append(from.Append(b), ',')), ',')
}

// token returns what a token says of itself, as far as that is known.
func (w *writer) token(a *evm.Address) index.TokenMeta {
	if meta, ok := w.tokens[*a]; ok || !w.v.MayBeToken(a) {
		return meta
	}
	meta, _, err := w.v.Token(*a)
	if err != nil {
		if w.err == nil {
			w.err = err
		}
		return meta
	}
	if w.tokens == nil || len(w.tokens) >= maxTokens {
		w.tokens = make(map[evm.Address]index.TokenMeta)
	}
	w.tokens[*a] = meta
	return meta
}

func appendHex(b, data []byte) []byte { return hex.AppendEncode(append(b, '0', 'x'), data) }

func appendAmount(b []byte, v *uint256.Int) []byte {
	if v.IsUint64() {
		return strconv.AppendUint(b, v.Uint64(), 10)
	}
	return append(b, v.Dec()...)
}

// TimeForm is the form of times in files, and of nextDate.
const TimeForm = "2006-01-02T15:04:05.000Z"

func appendTime(b []byte, milli uint64) []byte {
	return time.UnixMilli(int64(milli)).UTC().AppendFormat(b, TimeForm) // block times are checked by nodes
}

// FormatTime returns a time in Unix milliseconds in the form of [TimeForm].
func FormatTime(milli uint64) string { return string(appendTime(nil, milli)) }

// formula are the characters that have spreadsheets take a cell for a formula.
const formula = "=+-@|%\uff1d\uff0b\uff0d\uff20"

// appendText appends a cell of text that anybody may have written.
func appendText(b []byte, s string) []byte {
	if s = SafeCell(s); !strings.ContainsAny(s, `",`) {
		return append(b, s...)
	}
	return append(append(append(b, '"'), strings.ReplaceAll(s, `"`, `""`)...), '"')
}

// SafeCell returns text that anybody may have written as a spreadsheet can have it. Control
// characters, line ends among them, are replaced, and what would be run has an apostrophe
// before it.
func SafeCell(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return utf8.RuneError
		}
		return r
	}, s) // makes invalid UTF-8 valid as well
	if first := strings.TrimLeft(s, " \u00a0\ufeff"); first != "" {
		if r, _ := utf8.DecodeRuneInString(first); strings.ContainsRune(formula, r) {
			s = "'" + s
		}
	}
	return s
}
