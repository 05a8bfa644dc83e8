package index

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// partTexts are the parts of a kind of an address, oldest first, out of the oracle.
func (o *oracle) partTexts(a evm.Address, kind Part) (list []string) {
	for _, t := range o.byAddr[a] {
		hash := t.tx.Hash.String()
		for _, m := range t.mine {
			if wanted := map[Part]int{PartERC20: 20, PartERC1155: 1155}[kind]; m.kind == wanted && (m.from == a || m.to == a) {
				list = append(list, hash+" "+m.String())
			}
		}
		if kind == PartMade && t.tx.Creation && t.tx.From == a && !t.tx.Failed {
			list = append(list, hash+" itself")
		}
		for _, c := range t.tx.Calls {
			creates := c.Type == evm.CallCreate || c.Type == evm.CallCreate2
			made := creates && c.From == a && !c.Reverted && c.To != evm.Address{}
			if kind == PartCalls && callsOf([]evm.Call{c}, a) != "" || kind == PartMade && made {
				list = append(list, hash+callsOf([]evm.Call{c}, a))
			}
		}
	}
	return list
}

// readParts reads all pages of parts, the last ones short of their limit by a row
// that has no room.
func readParts(t *testing.T, v *View, a evm.Address, kind Part, p Page) (list []string) {
	t.Helper()
	for range 100_000 {
		n := 0
		next, err := v.AddressParts(a, kind, p, func(tx *Tx, i int) bool {
			n++
			hash := tx.Hash.String()
			switch {
			case i < 0:
				list = append(list, hash+" itself")
			case kind == PartERC20 || kind == PartERC1155:
				list = append(list, hash+" "+moveText(&tx.Transfers[i]))
			default:
				list = append(list, hash+callsOf(tx.Calls[i:i+1], a))
			}
			return n%5 != 4 // now and then the page is full before its limit
		})
		if err != nil || n > p.Limit {
			t.Fatalf("%d rows, %v", n, err)
		}
		if next == nil {
			return list
		}
		p.After = bytes.Clone(next)
	}
	t.Fatal("no end of pages")
	return nil
}

// TestAddressParts: whatever the pages, the parts of an address are those of its
// transactions.
func TestAddressParts(t *testing.T) {
	t.Parallel()
	chain := indextest.New(indextest.Config{Seed: 31, Txs: 9, Full: true})
	blocks := chain.Blocks(30)
	last := blocks[len(blocks)-1]
	who := chain.Accounts()[0]
	large := evm.Tx{Index: uint32(len(last.Txs)), Hash: evm.Hash{7}, From: who, To: evm.Address{8}, Input: make([]byte, 500)}
	for i := range 40 { // more than fits a row of an address
		large.Calls = append(large.Calls, evm.Call{Type: evm.CallPlain, From: who, To: evm.Address{1, byte(i)}},
			evm.Call{Type: evm.CallPlain, From: evm.Address{1, byte(i)}, To: evm.Address{3}})
	}
	last.Txs = append(last.Txs, large)
	c := openChain(t, Options{})
	commit(t, c, blocks, 7)
	v := at(t, c, nil)
	o := recompute(blocks, last.Number)
	seen := map[Part]int{}
	for _, a := range append(chain.Accounts()[:4:4], indextest.Factory, evm.Address{}, who) {
		for _, kind := range []Part{PartERC20, PartERC1155, PartCalls, PartMade} {
			want := o.partTexts(a, kind)
			seen[kind] += len(want)
			for _, limit := range []int{1, 3, 100} {
				got := readParts(t, v, a, kind, Page{Limit: limit, Ascending: true, To: math.MaxUint64})
				mustEqual(t, fmt.Sprintf("parts %d of %s by %d", kind, a, limit), got, want)
				got = readParts(t, v, a, kind, Page{Limit: limit, To: math.MaxUint64})
				slices.Reverse(got)
				mustEqual(t, fmt.Sprintf("parts %d of %s by %d backward", kind, a, limit), got, want)
			}
		}
	}
	for kind, n := range seen {
		if n < 10 {
			t.Errorf("only %d parts of kind %d were seen", n, kind)
		}
	}
	if _, err := v.AddressParts(who, PartCalls, Page{Limit: 1, After: make([]byte, addressTxSuffix)}, nil); err != ErrPosition {
		t.Errorf("a position of another list: %v", err)
	}
}

// TestSignedTxs: transfers and calls of others do not count.
func TestSignedTxs(t *testing.T) {
	t.Parallel()
	chain := indextest.New(indextest.Config{Seed: 32, Txs: 9, Full: true})
	blocks := chain.Blocks(20)
	c := openChain(t, Options{})
	commit(t, c, blocks, 7)
	v := at(t, c, nil)
	o := recompute(blocks, 19)
	others := 0
	for _, a := range chain.Accounts() {
		var want []string
		for _, tx := range o.byAddr[a] {
			if tx.tx.From == a || !tx.tx.Creation && tx.tx.To == a || tx.tx.Creation && tx.tx.Contract == a {
				want = append(want, tx.head())
			} else {
				others++
			}
		}
		got := all(t, Page{Limit: 3, Ascending: true, To: math.MaxUint64}, func(p Page) ([]string, []byte, error) {
			return rowsOf(func(take func(*Tx) bool) ([]byte, error) { return v.SignedTxs(a, p, take) }, gotHead)
		})
		mustEqual(t, "transactions signed by or sent to "+a.String(), got, want)
	}
	if others == 0 {
		t.Error("each address has sent or received all of its transactions")
	}
}

// TestMaker finds what made each contract, whatever was sent there before.
func TestMaker(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 33, Txs: 9, Full: true}).Blocks(30)
	c := openChain(t, Options{})
	if err := c.Commit(context.Background(), blocks); err != nil {
		t.Fatal(err)
	}
	v := at(t, c, nil)
	type maker struct {
		hash evm.Hash
		by   evm.Address
	}
	want := map[evm.Address]maker{}
	note := func(a evm.Address, m maker) {
		if _, ok := want[a]; !ok {
			want[a] = m
		}
	}
	calls := 0
	for _, b := range blocks {
		for _, tx := range b.Txs {
			if tx.Creation && !tx.Failed {
				note(tx.Contract, maker{tx.Hash, tx.From})
			}
			for _, call := range tx.Calls {
				if (call.Type == evm.CallCreate || call.Type == evm.CallCreate2) && !call.Reverted {
					note(call.To, maker{tx.Hash, call.From})
					calls++
				}
			}
		}
	}
	if calls == 0 || len(want) == calls {
		t.Fatalf("%d contracts, %d of them made by calls", len(want), calls)
	}
	for a, m := range want {
		tx, call, found, err := v.Maker(a)
		if err != nil || !found || tx.Hash != m.hash {
			t.Fatalf("%s: %v, %v", a, found, err)
		}
		if by := tx.From; call >= 0 && tx.Calls[call].From != m.by || call < 0 && by != m.by {
			t.Errorf("%s is not made by %s", a, m.by)
		}
	}
	if _, _, found, err := v.Maker(evm.Address{5, 5, 5}); found || err != nil {
		t.Errorf("nobody made nothing: %v, %v", found, err)
	}
}
