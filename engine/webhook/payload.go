package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-json"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/events"
	"quorate/engine/index"
)

// The types of messages.
const (
	typeActivity   = "address_activity"
	typeRetraction = "retraction"
)

// object is a JSON object: its members are written in the order of their names.
type object map[string]any

// messageID returns an ID that a repeat has too: of the webhook and what it is told.
func messageID(hook string, parts ...[]byte) string {
	h := sha256.New()
	h.Write([]byte(hook))
	for _, p := range parts {
		h.Write(p)
	}
	b := h.Sum(nil)
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // a UUID of RFC 9562, version 8
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// tokens returns what contracts say of themselves.
type tokens interface {
	Token(a evm.Address) (index.TokenMeta, bool, error)
}

// maxNames bounds the names and symbols of tokens in a message, in bytes: a transaction can
// move one token thousands of times.
const maxNames = 1 << 20

// brief are tokens that have no names any more once there were enough of them.
type brief struct {
	of    tokens
	names int
}

func (b *brief) Token(a evm.Address) (index.TokenMeta, bool, error) {
	meta, ok, err := b.of.Token(a)
	if b.names >= maxNames {
		meta.Name, meta.Symbol = "", ""
	}
	b.names += len(meta.Name) + len(meta.Symbol)
	return meta, ok, err
}

// activity returns the message about a transaction, in the form that the SDKs know. again
// is a part of its ID.
func activity(h *Hook, number string, again []byte, e *events.Event, of tokens) ([]byte, error) {
	tx, err := transaction(h, number, e, &brief{of: of})
	if err != nil {
		return nil, err
	}
	return canonical(object{
		"webhookId": h.ID, "eventType": typeActivity,
		"messageId": messageID(h.ID, e.Block.Hash[:], e.Tx.Hash[:], again),
		"event":     object{"transaction": tx},
	})
}

// retraction returns the message that what was told of blocks above one is void.
func retraction(h *Hook, number string, again []byte, from events.Position, stands events.Head) ([]byte, error) {
	return canonical(object{
		"webhookId": h.ID, "eventType": typeRetraction,
		"messageId": messageID(h.ID, []byte(typeRetraction), from.Append(nil), binary.BigEndian.AppendUint64(nil, stands.Number), stands.Hash[:], again),
		"event":     object{"chainId": number, "blockNumber": decimal(stands.Number), "blockHash": stands.Hash.String()},
	})
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// or0 is an amount that may not be there.
func or0(v *uint256.Int) string {
	if v == nil {
		return "0"
	}
	return v.Dec()
}

func transaction(h *Hook, number string, e *events.Event, of tokens) (object, error) {
	tx := e.Tx
	cumulative := uint64(0)
	for _, other := range e.Block.Txs {
		if other.Index <= tx.Index {
			cumulative += other.GasUsed
		}
	}
	status := "1"
	if tx.Failed {
		status = "0"
	}
	o := object{
		"blockHash": e.Block.Hash.String(), "blockNumber": decimal(e.Block.Number), "blockTimestamp": e.Block.TimeMilli / 1000,
		"chainId": number, "from": tx.From.String(), "to": tx.To.String(), "gas": decimal(tx.GasLimit), "gasPrice": tx.GasPrice.Dec(),
		"maxFeePerGas": or0(tx.MaxFee), "maxPriorityFeePerGas": or0(tx.MaxPriorityFee), "txHash": tx.Hash.String(), "txStatus": status,
		"input": "0x" + hex.EncodeToString(tx.Input), "nonce": decimal(tx.Nonce), "transactionIndex": tx.Index, "value": tx.Value.Dec(),
		"type": tx.Type, "receiptGasUsed": decimal(tx.GasUsed), "receiptCumulativeGasUsed": decimal(cumulative),
		"receiptEffectiveGasPrice": tx.GasPrice.Dec(), "receiptRoot": "",
	}
	if tx.Creation {
		o["to"], o["contractAddress"] = "", tx.Contract.String()
	}
	lists := map[index.TransferKind][]object{index.ERC20: {}, index.ERC721: {}, index.ERC1155: {}}
	for i := range tx.Transfers {
		t := &tx.Transfers[i]
		moved, err := transfer(tx, e.Block, t, of)
		if err != nil {
			return nil, err
		}
		lists[t.Kind] = append(lists[t.Kind], moved)
	}
	o["erc20Transfers"], o["erc721Transfers"], o["erc1155Transfers"] = lists[index.ERC20], lists[index.ERC721], lists[index.ERC1155]
	if h.Internal && tx.Traced {
		o["internalTransactions"] = internals(tx)
	}
	return o, nil
}

func transfer(tx *index.Tx, b *events.Block, t *index.Transfer, of tokens) (object, error) {
	kinds := map[index.TransferKind]string{index.ERC20: "erc20Token", index.ERC721: "erc721Token", index.ERC1155: "erc1155Token"}
	meta, _, err := of.Token(t.Token)
	if err != nil {
		return nil, err
	}
	token := object{"address": t.Token.String(), "name": plain(meta.Name), "symbol": plain(meta.Symbol), "decimals": meta.Decimals, "valueWithDecimals": ""}
	o := object{
		"transactionHash": tx.Hash.String(), "type": strings.ReplaceAll(t.Kind.String(), "-", ""), "from": t.From.String(), "to": t.To.String(),
		"value": t.Value.Dec(), "blockTimestamp": b.TimeMilli / 1000, "logIndex": t.LogIndex, kinds[t.Kind]: token,
	}
	if t.Kind == index.ERC20 {
		token["valueWithDecimals"] = scaled(&t.Value, meta.Decimals)
	} else {
		o["tokenId"] = t.ID.Dec()
	}
	return o, nil
}

// scaled returns an amount in whole tokens.
func scaled(v *uint256.Int, decimals uint8) string {
	if decimals == 0 {
		return v.Dec()
	}
	s := v.Dec()
	if n := int(decimals) + 1 - len(s); n > 0 {
		s = strings.Repeat("0", n) + s
	}
	at := len(s) - int(decimals)
	return strings.TrimSuffix(strings.TrimRight(s[:at]+"."+s[at:], "0"), ".")
}

func internals(tx *index.Tx) []object {
	list := []object{}
	for i := range tx.Calls {
		c := &tx.Calls[i]
		list = append(list, object{
			"from": c.From.String(), "to": c.To.String(), "internalTxType": c.Type.String(), "value": c.Value.Dec(),
			"gasUsed": decimal(c.GasUsed), "gasLimit": decimal(c.Gas), "transactionHash": tx.Hash.String(),
		})
	}
	return list
}

// plain makes a name of a contract's own fit for canonical: Go escapes two separators of
// lines and what is no text, which RFC 8785 does not.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// canonical returns JSON in the form of RFC 8785, which receivers bring it to before
// they check the signature: members sorted, no spaces, no needless escapes. There are no
// fractions in messages.
func canonical(o object) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// sign returns the signature of a message: that which the SDKs' isValidSignature checks.
func sign(secret string, body []byte) (string, error) {
	key, err := hex.DecodeString(secret)
	if err != nil {
		return "", fmt.Errorf("webhook: a secret: %w", err)
	}
	h := hmac.New(sha256.New, key)
	h.Write(body) // never fails
	return base64.StdEncoding.EncodeToString(h.Sum(nil)), nil
}

// parsed reads JSON to be a part of a message in its canonical form.
func parsed(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("webhook: part of a message: %w", err)
	}
	return plainAll(v), nil
}

// plainAll is plain for all strings of a value, and the like for its numbers: RFC 8785
// has them as doubles, and writes the nearest one of what is more than they can tell.
func plainAll(v any) any {
	switch v := v.(type) {
	case string:
		return plain(v)
	case json.Number:
		if f, err := v.Float64(); err == nil && f >= 0 && f < 1e21 {
			return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
		}
	case []any:
		for i := range v {
			v[i] = plainAll(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainAll(v[name])
		}
	}
	return v
}
