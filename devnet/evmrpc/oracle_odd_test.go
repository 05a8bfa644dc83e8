package evmrpc

import (
	"math/big"
	"strings"
	"testing"
)

// oddOracle is what is known of the tokens that careless readers get wrong.
type oddOracle struct {
	wrapped, rebasing, taxed, phantom, renamed, wide, revealed, treasury string

	factor  *big.Int
	haunted map[string]bool   // who seems to hold the phantom
	wraps   map[string]string // what a transaction did with the wrapped coin
	said    map[string]string // what was answered last, by question
}

func newOddOracle(t *testing.T, h *Handler) oddOracle {
	odd := h.chain.Sample().Odd
	text := func(a interface{ String() string }) string { return strings.ToLower(a.String()) }
	return oddOracle{
		wrapped: text(odd.Wrapped), rebasing: text(odd.Rebasing), taxed: text(odd.Taxed), phantom: text(odd.Phantom),
		renamed: text(odd.Renamed), wide: text(odd.Wide), revealed: text(odd.Revealed),
		treasury: get[jsonBlock](t, h, "eth_getBlockByNumber", "0x1", true).Transactions[0].From,
		factor:   big.NewInt(1000), haunted: map[string]bool{}, wraps: map[string]string{}, said: map[string]string{},
	}
}

// oddTransfer does what a transfer really moves, if that is not what it says.
func (o *oracle) oddTransfer(contract, from, to string, amount *big.Int) bool {
	switch contract {
	case o.odd.phantom:
		o.kinds["phantom"]++
		o.odd.haunted[to] = true
	case o.odd.taxed:
		if from == zeroAddr || to == zeroAddr {
			return false
		}
		o.kinds["taxed"]++
		tax := new(big.Int).Div(amount, big.NewInt(50))
		o.moveToken(contract, "", from, o.odd.treasury, tax)
		o.moveToken(contract, "", from, to, new(big.Int).Sub(amount, tax))
	default:
		return false
	}
	return true
}

// oddLog applies the events of odd tokens but for transfers.
func (o *oracle) oddLog(sig string, l jsonLog, data []byte) bool {
	amount := new(big.Int).SetBytes(data[:min(32, len(data))])
	switch {
	case sig == keccak("Deposit(address,uint256)") && l.Address == o.odd.wrapped:
		o.kinds["Deposit"]++
		o.odd.wraps[l.TransactionHash] += "d"
		o.moveToken(l.Address, "", zeroAddr, topicAddr(l.Topics[1]), amount)
	case sig == keccak("Withdrawal(address,uint256)") && l.Address == o.odd.wrapped:
		o.kinds["Withdrawal"]++
		if o.odd.wraps[l.TransactionHash] == "d" {
			o.kinds["wrapped, forwarded, unwrapped"]++
		}
		o.moveToken(l.Address, "", topicAddr(l.Topics[1]), zeroAddr, amount)
	case sig == keccak("Rebase(uint256)") && l.Address == o.odd.rebasing:
		o.kinds["Rebase"]++
		for key, v := range o.tokens {
			if strings.HasPrefix(key, o.odd.rebasing) {
				v.Div(v.Mul(v, amount), o.odd.factor)
			}
		}
		o.odd.factor = amount
	case sig == keccak("BatchMetadataUpdate(uint256,uint256)") && l.Address == o.odd.revealed:
		o.kinds["reveal"]++
	default:
		return false
	}
	return true
}

// compareOdd checks what the odd tokens answer after block n.
func (o *oracle) compareOdd(n uint64) {
	t, at := o.t, hexOf(max(n, 1)) // block 1 makes the contracts
	call := func(to, data string) string {
		a := ask2(t, o.h, to, data, at)
		if a.Error != nil {
			return a.Error.Message
		}
		return string(a.Result)
	}
	for holder := range o.odd.haunted {
		if got := call(o.odd.phantom, callData("balanceOf(address)", addressWord(holder))); strings.Trim(got, `"0x`) != "" {
			t.Errorf("after block %d %s has %s of what does not exist", n, holder, got)
		}
	}
	if got := call(o.odd.wide, callData("decimals()")); got != `"0x`+strings.Repeat("0", 61)+`12c"` {
		t.Errorf("decimals %s, want 300", got)
	}
	supply := wide(t, get[string](t, o.h, "eth_call", map[string]string{"to": o.odd.wrapped, "data": callData("totalSupply()")}, at))
	if got := wide(t, get[string](t, o.h, "eth_getBalance", o.odd.wrapped, at)); got.Cmp(supply) != 0 {
		t.Errorf("after block %d %s AVAX are behind %s wrapped ones", n, got, supply)
	}
	uris := ""
	for id := range int64(20) {
		if a := ask2(t, o.h, o.odd.revealed, callData("tokenURI(uint256)", big.NewInt(id)), at); a.Error == nil {
			uris = string(bytesOf(t, strings.Trim(string(a.Result), `"`))[64:88]) // its first letters
		}
	}
	for what, said := range map[string]string{
		"other name": call(o.odd.renamed, callData("name()")), "other decimals": call(o.odd.renamed, callData("decimals()")), "other URI": uris,
	} {
		if was := o.odd.said[what]; was != "" && was != said {
			o.kinds[what]++
		}
		o.odd.said[what] = said
	}
}
