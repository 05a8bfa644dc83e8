package evmrpc

import (
	"math/big"
	"strings"
	"testing"

	"quorate/engine/chain/evm"
)

func callData(signature string, words ...*big.Int) string {
	data := evm.Keccak([]byte(signature))
	out := data[:4:4]
	for _, w := range words {
		out = append(out, w.FillBytes(make([]byte, 32))...)
	}
	return hexBytes(out)
}

func addressWord(a string) *big.Int {
	v, _ := new(big.Int).SetString(a[2:], 16)
	return v
}

// compare checks what the node says of the state after block n.
func (o *oracle) compare(n uint64) {
	t, at := o.t, hexOf(n)
	for a, want := range o.wei {
		if got := wide(t, get[string](t, o.h, "eth_getBalance", a, at)); got.Cmp(want) != 0 {
			t.Fatalf("after block %d %s has %s, want %s", n, a, got, want)
		}
	}
	for a, want := range o.nonces {
		if got := number(t, get[string](t, o.h, "eth_getTransactionCount", a, at)); got != want {
			t.Errorf("after block %d %s has the nonce %d, want %d", n, a, got, want)
		}
	}
	ask := func(to, data string) *big.Int {
		return wide(t, get[string](t, o.h, "eth_call", map[string]string{"to": to, "data": data}, at))
	}
	for key, want := range o.tokens {
		contract, holder, id := key[:42], key[42:84], key[84:]
		data := callData("balanceOf(address)", addressWord(holder))
		if id != "" {
			v, _ := new(big.Int).SetString(id, 10)
			data = callData("balanceOf(address,uint256)", addressWord(holder), v)
		}
		if got := ask(contract, data); got.Cmp(want) != 0 {
			t.Fatalf("after block %d %s has %s of %s %s, want %s", n, holder, got, contract, id, want)
		}
	}
	for key, want := range o.owners {
		contract, id := key[:42], addressWord(key[42:])
		if want == zeroAddr {
			if a := ask2(t, o.h, contract, callData("ownerOf(uint256)", id), at); a.Error == nil || a.Error.Code != 3 {
				t.Errorf("a burnt token has an owner: %s", a.Result)
			}
			continue
		}
		if got := ask(contract, callData("ownerOf(uint256)", id)); got.Cmp(addressWord(want)) != 0 {
			t.Fatalf("after block %d %s is of %x, want %s", n, key, got, want)
		}
	}
	o.compareOdd(n)
	for a, height := range o.made {
		if code := get[string](t, o.h, "eth_getCode", a, at); len(code) < 10 {
			t.Errorf("after block %d contract %s has the code %s", n, a, code)
		}
		if code := get[string](t, o.h, "eth_getCode", a, hexOf(height-1)); code != "0x" {
			t.Errorf("before block %d contract %s had the code %s", height, a, code)
		}
	}
}

func ask2(t *testing.T, h *Handler, to, data, at string) rpcAnswer {
	t.Helper()
	return ask(t, h, "eth_call", map[string]string{"to": to, "input": data}, at)
}

// complete checks that there was everything.
func (o *oracle) complete() {
	for _, kind := range []string{
		"CALL", "CREATE", "CREATE2", "DELEGATECALL", "STATICCALL", "failed CALL", "failed CREATE", "failed STATICCALL", "ERC-20", "ERC-721",
		"ERC-1155", "ERC-1155 batch", "warp", "import", "export", "empty", "burst", "status 0x0", "status 0x1", "type 0x0", "type 0x1", "type 0x2",
		"Deposit", "Withdrawal", "wrapped, forwarded, unwrapped", "Rebase", "taxed", "phantom", "reveal", "other URI", "other name", "other decimals",
		"for any chain", "access type 0x1", "access type 0x2", "access without slots",
	} {
		if o.kinds[kind] == 0 {
			o.t.Errorf("no %s in the chain: %v", kind, o.kinds)
		}
	}
}

// list is an RLP list of strings, given as hex, as numbers when with "#", or
// encoded already when with "=".
func list(t *testing.T, items ...string) []byte {
	var body []byte
	for _, item := range items {
		if rlp, ok := strings.CutPrefix(item, "="); ok { // encoded already
			body = append(body, rlp...)
			continue
		}
		digits, isNumber := strings.CutPrefix(item, "#")
		var b []byte
		if isNumber {
			b = wide(t, digits).Bytes()
		} else {
			b = bytesOf(t, item)
		}
		if len(b) != 1 || b[0] >= 0x80 {
			body = append(body, prefix(0x80, len(b))...)
		}
		body = append(body, b...)
	}
	return append(prefix(0xc0, len(body)), body...)
}

func prefix(base byte, n int) []byte {
	if n < 56 {
		return []byte{base + byte(n)}
	}
	size := big.NewInt(int64(n)).Bytes()
	return append([]byte{base + 55 + byte(len(size))}, size...)
}

// headerHash works the hash out of the members, as coreth's header has them.
func headerHash(t *testing.T, b *jsonBlock, cChain bool) evm.Hash {
	items := []string{
		b.ParentHash, b.Sha3Uncles, b.Miner, b.StateRoot, b.TransactionsRoot, b.ReceiptsRoot, b.LogsBloom, "#" + b.Difficulty,
		"#" + b.Number, "#" + b.GasLimit, "#" + b.GasUsed, "#" + b.Timestamp, b.ExtraData, b.MixHash, b.Nonce,
	}
	if cChain {
		items = append(items, b.ExtDataHash, "#"+b.BaseFeePerGas, "#"+b.ExtDataGasUsed)
	} else {
		items = append(items, "#"+b.BaseFeePerGas)
	}
	items = append(items, "#"+b.BlockGasCost, "#"+b.BlobGasUsed, "#"+b.ExcessBlobGas, b.ParentBeaconBlockRoot,
		"#"+b.TimestampMilliseconds, "#"+b.MinDelayExcess)
	if b.SettledHeight != "" {
		items = append(items, "#"+b.TargetExponent, "#"+b.MinPriceExponent, "#"+b.SettledHeight, "#"+b.SettledGasUnix,
			"#"+b.SettledGasNumerator, "#"+b.SettledExcess)
	}
	return evm.Keccak(list(t, items...))
}
