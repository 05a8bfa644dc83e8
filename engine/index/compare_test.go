package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// The texts below are what is compared.

func (t *oracleTx) String() string {
	if t.text != "" {
		return t.text
	}
	s := txText(t.b.Number, t.b.Hash, t.b.TimeMilli, t.tx)
	for _, m := range t.mine {
		s += "\n  " + m.String()
	}
	t.text = s
	return s
}

func txText(number uint64, block evm.Hash, ms uint64, tx *evm.Tx) string {
	t := wording(make([]byte, 0, 512+len(tx.Input)))
	t.numbers(number).bytes(block[:]).numbers(ms).bytes(tx.Hash[:]).numbers(uint64(tx.Index), uint64(tx.Type), tx.Nonce)
	t.bytes(tx.From[:]).bytes(tx.To[:]).bytes(tx.Contract[:]).numbers(tx.GasLimit, tx.GasUsed)
	t.rest(tx.Creation, tx.Failed, tx.Value.Dec(), tx.GasPrice.Dec())
	if tx.MaxFee != nil {
		t.rest(tx.MaxFee, tx.MaxPriorityFee)
	}
	t = append(t, tx.Input...) // as it is: in hex it would be most of the work of comparing
	for _, c := range tx.Calls {
		t.numbers(uint64(c.Type), uint64(c.Depth), c.Gas, c.GasUsed).bytes(c.From[:]).bytes(c.To[:]).rest(c.Value.Dec(), c.Reverted)
	}
	return string(t)
}

// wording is a text that grows, a space behind each of its parts.
type wording []byte

func (t *wording) numbers(all ...uint64) *wording {
	for _, n := range all {
		*t = append(strconv.AppendUint(*t, n, 10), ' ')
	}
	return t
}

func (t *wording) bytes(b []byte) *wording {
	*t = append(hex.AppendEncode(*t, b), ' ')
	return t
}

func (t *wording) rest(all ...any) *wording {
	*t = append(fmt.Append(*t, all...), ' ')
	return t
}

func (m oracleMove) String() string {
	return fmt.Sprintf("%d.%d %d %x %x %x %s %s", m.log, m.item, m.kind, m.token[:], m.from[:], m.to[:], m.id, m.amount)
}

func gotText(tx *Tx) string {
	s := txText(tx.Block.Number, tx.Block.Hash, tx.Block.TimeMilli, &tx.Tx)
	for i := range tx.Transfers {
		s += "\n  " + moveText(&tx.Transfers[i])
	}
	return s
}

func moveText(t *Transfer) string {
	kind := map[TransferKind]int{ERC20: 20, ERC721: 721, ERC1155: 1155}[t.Kind]
	return fmt.Sprintf("%d.%d %d %x %x %x %s %s", t.LogIndex, t.Item, kind, t.Token[:], t.From[:], t.To[:], t.ID.Dec(), t.Value.Dec())
}

// all reads every page of a list with pages of the given size.
func all[T any](t *testing.T, p Page, read func(Page) ([]T, []byte, error)) []T {
	t.Helper()
	var out []T
	for pages := 0; ; pages++ {
		got, next, err := read(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > p.Limit {
			t.Fatalf("%d rows in a page of %d", len(got), p.Limit)
		}
		out = append(out, got...)
		if next == nil {
			return out
		}
		if len(got) < p.Limit && len(got) > 0 {
			t.Fatalf("page %d is not full but there are further ones", pages)
		}
		p.After = bytes.Clone(next)
	}
}

// mustEqual compares two listings.
func mustEqual[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			line := func(list []T) string {
				if i < len(list) {
					return fmt.Sprint(list[i])
				}
				return "nothing"
			}
			t.Fatalf("%s: %d rows, want %d; row %d is\n%s\nwant\n%s", what, len(got), len(want), i, line(got), line(want))
		}
	}
}

func texts[T any](list []T, text func(*T) string) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = text(&list[i])
	}
	return out
}

// headText is what lists show of all transactions.
func headText(number uint64, block evm.Hash, ms uint64, tx *evm.Tx) string {
	head := *tx
	head.MaxFee, head.MaxPriorityFee, head.Calls = nil, nil, nil
	head.Input = head.Input[:min(4, len(head.Input))]
	return txText(number, block, ms, &head)
}

func (t *oracleTx) head() string {
	if t.short == "" {
		t.short = headText(t.b.Number, t.b.Hash, t.b.TimeMilli, t.tx)
	}
	return t.short
}

func gotHead(tx *Tx) string {
	if to := receiver(&tx.Tx); tx.Checked && (tx.SenderText != tx.From.Capitals() || tx.OthersText != to.Capitals()) {
		return fmt.Sprintf("capitals %x, %x of %s, %s", tx.SenderText, tx.OthersText, tx.From, to)
	}
	return headText(tx.Block.Number, tx.Block.Hash, tx.Block.TimeMilli, &tx.Tx)
}

// part is what the list of an address shows.
func (t *oracleTx) part(a evm.Address) string {
	s := t.head() + fmt.Sprint(t.b.Traced)
	for _, m := range t.mine {
		if m.from == a || m.to == a {
			s += "\n  " + m.String()
		}
	}
	return s + callsOf(t.tx.Calls, a)
}

func gotPart(tx *Tx, a evm.Address) string {
	s := gotHead(tx) + fmt.Sprint(tx.Traced)
	for i := range tx.Transfers {
		if t := &tx.Transfers[i]; t.From == a || t.To == a {
			s += "\n  " + moveText(t)
		}
	}
	return s + callsOf(tx.Calls, a)
}

func callsOf(calls []evm.Call, a evm.Address) (s string) {
	for _, c := range calls {
		if c.From == a || c.To == a && (c.To != evm.Address{} || c.Type != evm.CallCreate && c.Type != evm.CallCreate2) {
			s += fmt.Sprintf("\n  %d %d %x %x %s %d %d %v", c.Type, c.Depth, c.From[:], c.To[:], c.Value.Dec(), c.Gas, c.GasUsed, c.Reverted)
		}
	}
	return s
}

// rowsOf collects what a list yields.
func rowsOf[T any](read func(take func(*T) bool) ([]byte, error), text func(*T) string) ([]string, []byte, error) {
	var out []string
	next, err := read(func(row *T) bool {
		out = append(out, text(row))
		return true
	})
	return out, next, err
}

func wanted[T fmt.Stringer](list []T, descending bool) []string {
	return wantedAs(list, descending, T.String)
}

func wantedAs[T any](list []T, descending bool, text func(T) string) []string {
	out := []string{}
	for _, t := range list {
		out = append(out, text(t))
	}
	if descending {
		slices.Reverse(out)
	}
	return out
}

// compare checks everything that a view says against the oracle.
func compare(t *testing.T, v *View, o *oracle, limit int) {
	t.Helper()
	for _, asc := range []bool{false, true} {
		p := Page{Limit: limit, Ascending: asc, To: ^uint64(0)}
		compareTxs(t, v, o, p)
		compareMoves(t, v, o, p)
		compareBlocks(t, v, o, p)
	}
	compareHoldings(t, v, o, limit)
	compareItems(t, v, o, limit)
	compareHolders(t, v, o.blocks, holdingsAfter(o.blocks), limit, rand.New(rand.NewPCG(v.Tip().Number, 4)))
	for hash, want := range o.byHash {
		tx, found, err := v.Tx(hash)
		if err != nil || !found || gotText(tx) != want.String() {
			t.Fatalf("transaction %s: %v, %v", hash, found, err)
		}
		msgs, err := v.WarpMessages(hash)
		if err != nil || !slices.EqualFunc(msgs, want.warp, bytes.Equal) {
			t.Fatalf("warp messages of %s: %x, want %x, %v", hash, msgs, want.warp, err)
		}
		for _, msg := range msgs {
			if got, err := v.WarpMessage(sha256.Sum256(msg)); err != nil || !bytes.Equal(got, msg) {
				t.Fatalf("the warp message %x by its ID: %x, %v", msg, got, err)
			}
		}
		if msg, err := v.WarpMessage(chain.ID(hash)); err != nil || msg != nil {
			t.Fatalf("a message has the ID of transaction %s: %x, %v", hash, msg, err)
		}
	}
	for _, b := range o.blocks {
		n, found, err := v.BlockNumber(b.Hash)
		h, found2, err2 := v.Block(b.Number)
		if err != nil || err2 != nil || !found || !found2 || n != b.Number || h.Hash != b.Hash || h.Parent != b.Parent ||
			h.GasUsed != b.GasUsed || h.TxCount != uint32(len(b.Txs)) || h.Miner != b.Miner || h.Traced != b.Traced {
			t.Fatalf("block %d: %d, %+v, %v, %v", b.Number, n, h, err, err2)
		}
	}
}

func compareTxs(t *testing.T, v *View, o *oracle, p Page) {
	t.Helper()
	list := func(what string, p Page, want []*oracleTx, read func(Page, TxFunc) ([]byte, error),
		text func(*Tx) string, wantText func(*oracleTx) string) {
		t.Helper()
		got := all(t, p, func(p Page) ([]string, []byte, error) {
			return rowsOf(func(take func(*Tx) bool) ([]byte, error) { return read(p, take) }, text)
		})
		mustEqual(t, what, got, wantedAs(want, !p.Ascending, wantText))
	}
	heads := func(what string, want []*oracleTx, read func(Page, TxFunc) ([]byte, error)) {
		t.Helper()
		list(what, p, want, read, gotHead, (*oracleTx).head)
	}
	heads("latest", o.txs, func(p Page, take TxFunc) ([]byte, error) { return v.LatestTxs(p, nil, take) })
	for _, failed := range []bool{true, false} {
		var some []*oracleTx
		for _, tx := range o.txs {
			if tx.tx.Failed == failed {
				some = append(some, tx)
			}
		}
		heads(fmt.Sprint("failed ", failed), some, func(p Page, take TxFunc) ([]byte, error) { return v.LatestTxs(p, &failed, take) })
	}
	for n, list := range o.byBlock {
		heads(fmt.Sprint("block ", n), list, func(p Page, take TxFunc) ([]byte, error) { return v.BlockTxs(n, p, take) })
	}
	for a, of := range o.byAddr {
		part := func(what string, p Page, want []*oracleTx) {
			t.Helper()
			list(what+a.String(), p, want, func(p Page, take TxFunc) ([]byte, error) { return v.AddressTxs(a, p, take) },
				func(tx *Tx) string { return gotPart(tx, a) }, func(tx *oracleTx) string { return tx.part(a) })
		}
		part("address ", p, of)
		var some []*oracleTx
		q := p
		q.From, q.To = uint64(len(o.blocks)/4), uint64(len(o.blocks)*3/4)
		for _, tx := range of {
			if tx.b.Number >= q.From && tx.b.Number < q.To {
				some = append(some, tx)
			}
		}
		part("range of address ", q, some)
	}
}

func compareMoves(t *testing.T, v *View, o *oracle, p Page) {
	t.Helper()
	byToken, byAddr := map[evm.Address][]oracleMove{}, map[evm.Address][]oracleMove{}
	for _, m := range o.moves {
		byToken[m.token] = append(byToken[m.token], m)
		if m.kind == 721 {
			byAddr[m.from] = append(byAddr[m.from], m)
			if m.to != m.from {
				byAddr[m.to] = append(byAddr[m.to], m)
			}
		}
	}
	text := func(m *AddressedTransfer) string {
		want, ok := o.byHash[m.Tx.Hash]
		if !ok || want.tx.Index != m.Tx.Index || want.b.Hash != m.Tx.Block.Hash {
			t.Fatalf("transfer of another transaction %s", m.Tx.Hash)
		}
		return moveText(&m.Transfer)
	}
	for token, list := range byToken {
		mustEqual(t, "token "+token.String(),
			all(t, p, func(p Page) ([]string, []byte, error) {
				return rowsOf(func(take func(*AddressedTransfer) bool) ([]byte, error) { return v.TokenTransfers(token, p, take) }, text)
			}), wanted(list, !p.Ascending))
	}
	for a, list := range byAddr {
		mustEqual(t, "NFT transfers of "+a.String(), all(t, p, func(p Page) ([]string, []byte, error) {
			return rowsOf(func(take func(*AddressedTransfer) bool) ([]byte, error) {
				return v.AddressTransfers(a, ERC721, p, take)
			}, text)
		}), wanted(list, !p.Ascending))
	}
}

func compareHoldings(t *testing.T, v *View, o *oracle, limit int) {
	t.Helper()
	p := Page{Limit: limit}
	who := maps.Clone(o.byAddr)
	who[indextest.Router] = nil // it wraps for others, also where it is no part of a transfer
	for a := range who {
		want := []string{}
		for token, n := range o.coins[a] {
			if n.Sign() > 0 {
				want = append(want, fmt.Sprintf("%x %s %v", token[:], n, o.doubtful[string(a[:])+string(token[:])]))
			}
		}
		slices.Sort(want)
		text := func(b *TokenBalance) string { return fmt.Sprintf("%x %s %v", b.Token[:], b.Amount.Dec(), b.Doubtful) }
		mustEqual(t, "coins of "+a.String(), texts(all(t, p, func(p Page) ([]TokenBalance, []byte, error) {
			return v.TokenBalances(a, nil, p)
		}), text), want)
		named := append(slices.Collect(maps.Keys(o.coins[a])), indextest.Odd)
		mustEqual(t, "named coins of "+a.String(), texts(all(t, p, func(p Page) ([]TokenBalance, []byte, error) {
			return v.TokenBalances(a, named, p)
		}), text), want)
		compareNFTs(t, v, o, a, p)
		wei, known, err := v.NativeBalance(a)
		if err != nil {
			t.Fatal(err)
		}
		if n := o.native[a]; known != (n != nil) || known && wei.ToBig().Cmp(n) != 0 {
			t.Fatalf("native balance of %s at %d: %s, %v, want %s", a, v.Tip().Number, wei.Dec(), known, n)
		}
	}
}

func compareNFTs(t *testing.T, v *View, o *oracle, a evm.Address, p Page) {
	t.Helper()
	for _, contract := range []*evm.Address{nil, &indextest.Arts[0]} {
		var want []string
		for key, owner := range o.owners {
			if owner == a && a != (evm.Address{}) && (contract == nil || key[:20] == string(contract[:])) {
				id, _ := new(big.Int).SetString(key[20:], 10)
				want = append(want, fmt.Sprintf("%x %064x", key[:20], id))
			}
		}
		slices.Sort(want)
		got := texts(all(t, p, func(p Page) ([]ItemBalance, []byte, error) { return v.NFTs(a, contract, p) }), func(n *ItemBalance) string {
			return fmt.Sprintf("%x %064x", n.Token[:], n.ID.ToBig())
		})
		mustEqual(t, "NFTs of "+a.String(), got, want)
	}
}
