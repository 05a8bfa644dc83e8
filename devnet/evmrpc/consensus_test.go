package evmrpc

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/crypto/secp256k1"

	"quorate/engine/chain/evm"
)

// encoded is a transaction in its consensus encoding, and what its sender signed.
func encoded(t *testing.T, x *jsonTx) (raw, unsigned []byte) {
	t.Helper()
	to := "0x"
	if x.To != nil {
		to = *x.To
	}
	items := []string{"#" + x.Nonce, "#" + x.GasPrice}
	if x.Type == "0x2" {
		items = []string{"#" + x.Nonce, "#" + x.MaxPriorityFeePerGas, "#" + x.MaxFeePerGas}
	}
	items = append(items, "#"+x.Gas, to, "#"+x.Value, x.Input)
	sig := []string{"#" + x.V, "#" + x.R, "#" + x.S}
	if x.Type == "0x0" {
		raw = list(t, append(items[:len(items):len(items)], sig...)...)
		if x.ChainID != "" {
			items = append(items, "#"+x.ChainID, "0x", "0x")
		}
		return raw, list(t, items...)
	}
	items = append([]string{"#" + x.ChainID}, append(items, "="+accessList(t, x))...)
	typ := bytesOf(t, "0x0"+x.Type[2:])
	return append(typ[:1:1], list(t, append(items[:len(items):len(items)], sig...)...)...), append(typ[:1:1], list(t, items...)...)
}

func accessList(t *testing.T, x *jsonTx) string {
	var entries []string
	for _, a := range x.AccessList {
		entries = append(entries, "="+string(list(t, a.Address, "="+string(list(t, a.StorageKeys...)))))
	}
	return string(list(t, entries...))
}

func txHash(t *testing.T, x *jsonTx) evm.Hash {
	raw, _ := encoded(t, x)
	return evm.Keccak(raw)
}

// sender is who signed a transaction, by the library that nodes use.
func sender(t *testing.T, x *jsonTx) string {
	t.Helper()
	_, unsigned := encoded(t, x)
	v, sig := number(t, x.V), make([]byte, 65)
	wide(t, x.R).FillBytes(sig[:32])
	wide(t, x.S).FillBytes(sig[32:64])
	switch {
	case x.Type != "0x0":
		if x.YParity != x.V {
			t.Errorf("yParity %s of %s", x.YParity, x.V)
		}
	case x.ChainID == "":
		v -= 27
	default:
		v -= 35 + 2*number(t, x.ChainID)
	}
	sig[64] = byte(v)
	hash := evm.Keccak(unsigned)
	public, err := secp256k1.RecoverPubkey(hash[:], sig)
	if err != nil {
		t.Fatalf("transaction %s: %v", x.Hash, err)
	}
	if !secp256k1.VerifySignature(public, hash[:], sig[:64]) { // refuses an s in the upper half
		t.Errorf("transaction %s: its signature is not canonical", x.Hash)
	}
	sum := evm.Keccak(public[1:])
	return hexBytes(sum[12:])
}

// receiptOf is a receipt in its consensus encoding.
func receiptOf(t *testing.T, r *jsonReceipt) []byte {
	var logs []string
	for _, l := range r.Logs {
		logs = append(logs, "="+string(list(t, l.Address, "="+string(list(t, l.Topics...)), l.Data)))
	}
	raw := list(t, "#"+r.Status, "#"+r.CumulativeGasUsed, r.LogsBloom, "="+string(list(t, logs...)))
	if r.Type == "0x0" {
		return raw
	}
	return append(bytesOf(t, "0x0"+r.Type[2:])[:1:1], raw...)
}

// trie is a node of a Merkle-Patricia trie without extensions in memory: those
// come into being when it is hashed.
type trie struct {
	children [16]*trie
	value    []byte
}

func (n *trie) put(key string, value []byte) {
	for _, digit := range []byte(key) {
		k := bytes.IndexByte([]byte("0123456789abcdef"), digit)
		if n.children[k] == nil {
			n.children[k] = new(trie)
		}
		n = n.children[k]
	}
	n.value = value
}

// encode is the RLP of the node, path that from the node above to here.
func (n *trie) encode(t *testing.T, path string) []byte {
	used, only := 0, 0
	for k, child := range n.children {
		if child != nil {
			used, only = used+1, k
		}
	}
	const digits = "0123456789abcdef"
	packed := func(flag int, path string) string {
		if len(path)%2 == 1 {
			return "0x" + digits[flag+1:flag+2] + path
		}
		return "0x" + digits[flag:flag+1] + "0" + path
	}
	switch {
	case used == 0:
		return list(t, packed(2, path), hexBytes(n.value))
	case used == 1:
		return n.children[only].encode(t, path+digits[only:only+1])
	case path != "":
		return list(t, packed(0, path), n.ref(t))
	}
	var items []string
	for _, child := range n.children {
		if child == nil {
			items = append(items, "0x")
			continue
		}
		items = append(items, child.ref(t))
	}
	return list(t, append(items, "0x")...)
}

// ref is how the node above names this one.
func (n *trie) ref(t *testing.T) string {
	raw := n.encode(t, "")
	if len(raw) < 32 {
		return "=" + string(raw)
	}
	return evm.Keccak(raw).String()
}

// rootOf is the root of the trie of a list.
func rootOf(t *testing.T, values [][]byte) string {
	if len(values) == 0 {
		return evm.Keccak([]byte{0x80}).String()
	}
	root := new(trie)
	for i, v := range values {
		key := []byte{byte(i)}
		switch {
		case i == 0:
			key = []byte{0x80}
		case i >= 0x80:
			b := big.NewInt(int64(i)).Bytes()
			key = append([]byte{0x80 + byte(len(b))}, b...)
		}
		root.put(hexText(key), v)
	}
	return evm.Keccak(root.encode(t, "")).String()
}

// roots checks the roots of a block.
func roots(t *testing.T, b *jsonBlock, receipts []jsonReceipt) {
	t.Helper()
	var txs, all [][]byte
	for i := range receipts {
		raw, _ := encoded(t, &b.Transactions[i])
		txs, all = append(txs, raw), append(all, receiptOf(t, &receipts[i]))
	}
	if got := rootOf(t, txs); got != b.TransactionsRoot {
		t.Errorf("block %s: transactions root %s, its transactions' is %s", b.Number, b.TransactionsRoot, got)
	}
	if got := rootOf(t, all); got != b.ReceiptsRoot {
		t.Errorf("block %s: receipts root %s, its receipts' is %s", b.Number, b.ReceiptsRoot, got)
	}
}

// TestLargeBlock: roots are true for blocks with any number of transactions.
func TestLargeBlock(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Blocks, cfg.TxsPerBlock, cfg.Atomic = 3, 300, false
	h := newHandler(t, cfg)
	most := 0
	for n := range cfg.Blocks + 1 {
		b := get[jsonBlock](t, h, "eth_getBlockByNumber", hexOf(n), true)
		roots(t, &b, get[[]jsonReceipt](t, h, "eth_getBlockReceipts", hexOf(n)))
		most = max(most, len(b.Transactions))
	}
	if most <= 256 {
		t.Errorf("no block has more than %d transactions", most)
	}
}
