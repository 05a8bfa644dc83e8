package evmrpc

import (
	"encoding/binary"
	"math/big"
	"strings"
	"sync"
	"testing"

	"quorate/devnet/form"
	"quorate/engine/chain/evm"
)

// oracle works out the state of a chain from what its node says of blocks,
// slowly and by itself.
type oracle struct {
	t        *testing.T
	h        *Handler
	wei      map[string]*big.Int
	tokens   map[string]*big.Int // contract, holder, ID of ERC-1155
	owners   map[string]string   // contract, ID
	nonces   map[string]uint64
	made     map[string]uint64 // contract -> height
	kinds    map[string]int
	logIndex uint64
	odd      oddOracle
	late     lateOracle
}

func (o *oracle) balance(a string) *big.Int {
	if o.wei[a] == nil {
		o.wei[a] = wide(o.t, get[string](o.t, o.h, "eth_getBalance", a, "0x0"))
	}
	return o.wei[a]
}

func (o *oracle) pay(from, to string, wei *big.Int) {
	if o.balance(from).Sub(o.balance(from), wei).Sign() < 0 {
		o.t.Fatalf("%s pays what it does not have", from)
	}
	o.balance(to).Add(o.balance(to), wei)
}

func (o *oracle) calls(c jsonCall, height uint64) {
	if c.Error != "" {
		o.kinds["failed "+c.Type]++
		if c.Type == "CREATE" && len(c.Calls) == 0 && c.To != "" {
			o.t.Errorf("a creation that failed has an address")
		}
		return // and all that it called
	}
	o.kinds[c.Type]++
	switch c.Type {
	case "CALL", "CREATE", "CREATE2":
		o.pay(c.From, c.To, wide(o.t, c.Value))
	case "DELEGATECALL", "STATICCALL":
		if c.Value != "" {
			o.t.Errorf("%s with a value", c.Type)
		}
	}
	if strings.HasPrefix(c.Type, "CREATE") {
		o.made[c.To] = height
	}
	for _, sub := range c.Calls {
		if sub.From != c.To && c.Type != "DELEGATECALL" {
			o.t.Errorf("%s calls from within %s", sub.From, c.To)
		}
		o.calls(sub, height)
	}
}

const zeroAddr = "0x0000000000000000000000000000000000000000"

func topicAddr(topic string) string { return "0x" + topic[26:] }

func (o *oracle) moveToken(contract, id, from, to string, amount *big.Int) {
	change := func(who string, by *big.Int) {
		if who == zeroAddr {
			return
		}
		key := contract + who + id
		if o.tokens[key] == nil {
			o.tokens[key] = new(big.Int)
		}
		if o.tokens[key].Add(o.tokens[key], by).Sign() < 0 {
			o.t.Fatalf("%s has less than nothing of %s", who, contract)
		}
	}
	change(from, new(big.Int).Neg(amount))
	change(to, amount)
}

func (o *oracle) log(l jsonLog) {
	data := bytesOf(o.t, l.Data)
	word := func(i int) *big.Int { return new(big.Int).SetBytes(data[32*i : 32*i+32]) }
	switch sig := l.Topics[0]; {
	case sig == keccak("Transfer(address,address,uint256)") && len(l.Topics) == 3:
		o.kinds["ERC-20"]++
		if !o.oddTransfer(l.Address, topicAddr(l.Topics[1]), topicAddr(l.Topics[2]), word(0)) {
			o.moveToken(l.Address, "", topicAddr(l.Topics[1]), topicAddr(l.Topics[2]), word(0))
		}
	case sig == keccak("Transfer(address,address,uint256)"):
		o.kinds["ERC-721"]++
		key, from, to := l.Address+l.Topics[3], topicAddr(l.Topics[1]), topicAddr(l.Topics[2])
		if was := o.owners[key]; was != from && (was != "" || from != zeroAddr) {
			o.t.Fatalf("%s moves from %s, is of %s", key, from, was)
		}
		o.owners[key] = to
		o.moveToken(l.Address, "", from, to, big.NewInt(1))
	case sig == keccak("TransferSingle(address,address,address,uint256,uint256)"):
		o.kinds["ERC-1155"]++
		o.moveToken(l.Address, word(0).String(), topicAddr(l.Topics[2]), topicAddr(l.Topics[3]), word(1))
	case sig == keccak("TransferBatch(address,address,address,uint256[],uint256[])"):
		o.kinds["ERC-1155 batch"]++
		ids, amounts := int(word(0).Int64()/32), int(word(1).Int64()/32)
		n := int(word(ids).Int64())
		if n == 0 || int(word(amounts).Int64()) != n || len(data) != 32*(4+2*n) {
			o.t.Fatalf("batch of %d", n)
		}
		for i := 1; i <= n; i++ {
			o.moveToken(l.Address, word(ids+i).String(), topicAddr(l.Topics[2]), topicAddr(l.Topics[3]), word(amounts+i))
		}
	case o.oddLog(sig, l, data):
	case sig == keccak("SendWarpMessage(address,bytes32,bytes)"):
		o.kinds["warp"]++
		n := word(1).Int64()
		u := data[64 : 64+n]
		want := testMessage(uint64(5 + o.kinds["warp"] - 1))
		if string(u) != string(want.Bytes()) || l.Topics[2] != hashText(evm.Hash(want.ID())) {
			o.t.Errorf("warp message %x", u)
		}
	}
}

func hashText(h evm.Hash) string { return h.String() }

var keccaks sync.Map // signature -> hash

// keccak is worked out once for each signature: the oracle compares each log with all of them.
func keccak(s string) string {
	h, ok := keccaks.Load(s)
	if !ok {
		h, _ = keccaks.LoadOrStore(s, evm.Keccak([]byte(s)).String())
	}
	return h.(string)
}

func bloomOf(t *testing.T, logs []jsonLog) *big.Int {
	sum := new(big.Int)
	for _, l := range logs {
		for _, item := range append([]string{l.Address}, l.Topics...) {
			h := evm.Keccak(bytesOf(t, item))
			for i := 0; i < 6; i += 2 {
				sum.SetBit(sum, int(binary.BigEndian.Uint16(h[i:])&2047), 1)
			}
		}
	}
	return sum
}

// atomics reads blockExtraData.
func (o *oracle) atomics(data []byte) {
	if len(data) == 0 {
		return
	}
	take := func(n int) []byte { head := data[:n]; data = data[n:]; return head }
	u32 := func() uint32 { return binary.BigEndian.Uint32(take(4)) }
	u64 := func() uint64 { return binary.BigEndian.Uint64(take(8)) }
	if string(take(2)) != "\x00\x00" {
		o.t.Fatal("codec version")
	}
	for range u32() {
		typ := u32()
		if u32() != 12345 {
			o.t.Fatal("network")
		}
		take(64)
		var to string
		var amount uint64
		for range u32() {
			if typ == 1 {
				to, amount = "0x"+hexText(take(20)), u64()
				take(32)
				if nonce := u64(); nonce != o.nonces[to] {
					o.t.Errorf("export with nonce %d, want %d", nonce, o.nonces[to])
				}
				o.nonces[to]++
				continue
			}
			take(36 + 32)
			if u32() != 5 {
				o.t.Fatal("input type")
			}
			u64()
			take(4 * int(u32()))
		}
		for range u32() {
			if typ == 0 {
				to, amount = "0x"+hexText(take(20)), u64()
				take(32)
				continue
			}
			take(32)
			if u32() != 7 {
				o.t.Fatal("output type")
			}
			take(8 + 8 + 4)
			take(20 * int(u32()))
		}
		for range u32() {
			if u32() != 9 {
				o.t.Fatal("credential type")
			}
			take(65 * int(u32()))
		}
		wei := new(big.Int).Mul(new(big.Int).SetUint64(amount), big.NewInt(1e9))
		if typ == 1 {
			o.kinds["export"]++
			o.balance(to).Sub(o.balance(to), wei)
		} else {
			o.kinds["import"]++
			o.balance(to).Add(o.balance(to), wei)
		}
	}
	if len(data) != 0 {
		o.t.Errorf("%d bytes left of the atomic transactions", len(data))
	}
}

func hexText(b []byte) string { return strings.TrimPrefix(hexBytes(b), "0x") }

func hexBytes(b []byte) string {
	return string(form.AppendHex(nil, b)[1 : len(form.AppendHex(nil, b))-1])
}

// TestOracle: balances, owners, nonces and contracts at many heights follow from
// the blocks, receipts and traces.
func TestOracle(t *testing.T) {
	t.Parallel()
	walkAll(t, newReader(t)).complete()
}

// walkAll works out a chain from its first block to its last.
func walkAll(t *testing.T, h *Handler) *oracle {
	t.Helper()
	o := &oracle{
		t: t, h: h, wei: map[string]*big.Int{}, tokens: map[string]*big.Int{}, owners: map[string]string{},
		nonces: map[string]uint64{}, made: map[string]uint64{}, kinds: map[string]int{},
	}
	o.odd = newOddOracle(t, h)
	parent, lastTime := strings.Repeat("0", 64), uint64(0)
	tip := number(t, get[string](t, h, "eth_blockNumber"))
	for n := uint64(0); n <= tip; n++ {
		b := get[jsonBlock](t, h, "eth_getBlockByNumber", hexOf(n), true)
		if b.ParentHash != "0x"+parent && n > 0 || number(t, b.Number) != n {
			t.Fatalf("block %d has number %s and parent %s", n, b.Number, b.ParentHash)
		}
		if got := hashText(headerHash(t, &b, true)); got != b.Hash {
			t.Fatalf("block %d: hash %s, its header's is %s", n, b.Hash, got)
		}
		at := number(t, b.TimestampMilliseconds)
		if at < lastTime || at/1000 != number(t, b.Timestamp) {
			t.Errorf("block %d at %d after %d", n, at, lastTime)
		}
		if len(b.Transactions) == 0 {
			o.kinds["empty"]++
		}
		if at-lastTime < 500 {
			o.kinds["burst"]++
		}
		parent, lastTime = b.Hash[2:], at
		if n > 0 {
			o.block(n, &b)
		}
		if n%25 == 0 || n == tip {
			o.compare(n)
		}
	}
	return o
}

func (o *oracle) block(n uint64, b *jsonBlock) {
	t, h := o.t, o.h
	receipts := get[[]jsonReceipt](t, h, "eth_getBlockReceipts", hexOf(n))
	traces := get[[]traced[jsonCall]](t, h, "debug_traceBlockByNumber", hexOf(n), map[string]any{"tracer": "callTracer"})
	diffs := get[[]traced[jsonDiff]](t, h, "debug_traceBlockByHash", b.Hash, map[string]any{"tracer": "prestateTracer", "tracerConfig": map[string]bool{"diffMode": true}})
	if len(receipts) != len(b.Transactions) || len(traces) != len(receipts) || len(diffs) != len(receipts) {
		t.Fatalf("block %d: %d transactions, %d receipts, %d traces, %d diffs", n, len(b.Transactions), len(receipts), len(traces), len(diffs))
	}
	if o.late.before(o, n, b, receipts); b.SettledHeight == "" {
		roots(t, b, receipts)
	}
	o.logIndex = 0
	gas, all := uint64(0), new(big.Int)
	for i := range receipts {
		x, r := &b.Transactions[i], &receipts[i]
		o.pair(n, uint64(i), b, x, r)
		gas += number(t, r.GasUsed)
		if number(t, r.CumulativeGasUsed) != gas {
			t.Errorf("block %d: cumulative gas %s, want %d", n, r.CumulativeGasUsed, gas)
		}
		bloom := bloomOf(t, r.Logs)
		all.Or(all, bloom)
		if bloom.Cmp(new(big.Int).SetBytes(bytesOf(t, r.LogsBloom))) != 0 {
			t.Errorf("block %d: bloom of transaction %d", n, i)
		}
		o.trace(n, x, r, &traces[i].Result)
		o.diff(n, &diffs[i].Result)
	}
	if b.SettledHeight != "" {
		o.late.after(o, b, receipts)
	} else if number(t, b.GasUsed) != gas || gas > number(t, b.GasLimit) {
		t.Errorf("block %d: gas used %s, limit %s, want %d", n, b.GasUsed, b.GasLimit, gas)
	}
	if b.SettledHeight == "" && all.Cmp(new(big.Int).SetBytes(bytesOf(t, b.LogsBloom))) != 0 {
		t.Errorf("block %d: bloom", n)
	}
	o.atomics(bytesOf(t, b.BlockExtraData))
}

func (o *oracle) pair(n, i uint64, b *jsonBlock, x *jsonTx, r *jsonReceipt) {
	t := o.t
	if r.TransactionHash != x.Hash || r.BlockHash != b.Hash || x.BlockHash != b.Hash || number(t, r.BlockNumber) != n ||
		number(t, r.TransactionIndex) != i || number(t, x.TransactionIndex) != i || r.From != x.From || r.Type != x.Type ||
		r.EffectiveGasPrice != x.GasPrice && b.SettledHeight == "" || (r.To == nil) != (x.To == nil) || r.To != nil && *r.To != *x.To {
		t.Fatalf("block %d: %+v does not fit %+v", n, *r, *x)
	}
	if got := hashText(txHash(t, x)); got != x.Hash {
		t.Errorf("block %d: transaction %s has the hash %s", n, x.Hash, got)
	}
	if got := sender(t, x); got != x.From {
		t.Errorf("block %d: transaction %s is from %s, signed by %s", n, x.Hash, x.From, got)
	}
	o.forms(x)
	if number(t, x.Nonce) != o.nonces[x.From] {
		t.Errorf("block %d: nonce %s of %s, want %d", n, x.Nonce, x.From, o.nonces[x.From])
	}
	if x.To == nil {
		want := strings.ToLower(evm.CreateAddress(evm.Address(bytesOf(t, x.From)), number(t, x.Nonce)).String())
		if r.ContractAddress == nil || *r.ContractAddress != want {
			t.Errorf("block %d: created %v, want %s", n, r.ContractAddress, want)
		}
	}
	if number(t, r.GasUsed) > number(t, x.Gas) || r.Status == "0x0" && len(r.Logs) > 0 {
		t.Errorf("block %d: receipt %+v", n, *r)
	}
	o.kinds["status "+r.Status]++
	o.kinds["type "+r.Type]++
	o.nonces[x.From]++
	for _, l := range r.Logs {
		if number(t, l.LogIndex) != o.logIndex || l.TransactionHash != x.Hash || l.BlockHash != b.Hash || l.Removed {
			t.Errorf("block %d: log %+v", n, l)
		}
		o.logIndex++
		o.log(l)
	}
}

// forms counts the forms of transactions.
func (o *oracle) forms(x *jsonTx) {
	if x.ChainID == "" {
		o.kinds["for any chain"]++
	}
	for _, a := range x.AccessList {
		o.kinds["access type "+x.Type]++
		if len(a.StorageKeys) == 0 {
			o.kinds["access without slots"]++
		}
	}
}

func (o *oracle) trace(n uint64, x *jsonTx, r *jsonReceipt, c *jsonCall) {
	if (c.Error == "") != (r.Status == "0x1") || c.From != x.From || c.Input != x.Input || c.Value != x.Value ||
		c.Gas != x.Gas || c.GasUsed != r.GasUsed || x.To != nil && c.To != *x.To {
		o.t.Errorf("block %d: trace %+v of %+v", n, *c, *x)
	}
	fee := new(big.Int).Mul(wide(o.t, r.GasUsed), wide(o.t, r.EffectiveGasPrice))
	o.pay(x.From, "0x0100000000000000000000000000000000000000", fee)
	o.calls(*c, n)
}

// diff: what the tracer says of balances after the transaction.
func (o *oracle) diff(n uint64, d *jsonDiff) {
	for a, post := range d.Post {
		if post.Balance != nil && wide(o.t, *post.Balance).Cmp(o.balance(a)) != 0 {
			o.t.Fatalf("block %d: the tracer says %s has %s, want %s", n, a, *post.Balance, hexOf(0))
		}
		if pre, ok := d.Pre[a]; post.Balance == nil && (!ok || wide(o.t, *pre.Balance).Cmp(o.balance(a)) != 0) && post.Code == "" {
			o.t.Errorf("block %d: the tracer says nothing of the balance of %s", n, a)
		}
	}
}
