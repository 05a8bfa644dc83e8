package primary

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/atomic"
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/chain/proposer"
)

// example is a container that some node accepted, or that avalanchego's packages made.
type example struct {
	name  string
	kind  Kind
	raw   []byte
	outer string // ID of the container
}

// examples returns recorded containers of a real network and what e2e/vectors made.
func examples(t testing.TB) (all []example) {
	t.Helper()
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for kind, path := range map[Kind]string{PChain: "../chain/platform", XChain: "../chain/avm"} {
		recording := chaintest.Load[struct {
			Chain      string
			Containers []chaintest.Container
		}](t, read(path+"/testdata/recorded.json"))
		for _, c := range recording.Containers {
			all = append(all, example{c.ID, kind, c.Bytes, c.ID})
		}
	}
	var made struct {
		Blocks, Vertices []chaintest.Encoded
	}
	for kind, path := range map[Kind]string{PChain: "../chain/platform", XChain: "../chain/avm"} {
		made.Vertices = nil
		if err := json.Unmarshal(read(path+"/testdata/avalanchego.json"), &made); err != nil {
			t.Fatal(err)
		}
		for _, e := range made.Blocks {
			all = append(all, example{e.Name, kind, e.Bytes, e.ID})
		}
		for _, e := range made.Vertices {
			all = append(all, example{e.Name, XVertices, e.Bytes, e.ID})
		}
	}
	for _, kind := range []Kind{PChain, XChain, CChain, XVertices} {
		n := 0
		for _, e := range all {
			if e.kind == kind {
				n++
			}
		}
		if n == 0 && kind != CChain {
			t.Fatalf("no example of %s", kind)
		}
	}
	return append(all, coreExample(t, false), coreExample(t, true))
}

// coreExample is a block of the C-Chain with two atomic transactions, with or without
// a header around it.
func coreExample(t testing.TB, headed bool) example {
	t.Helper()
	extra, err := atomic.Bytes([]atomic.Tx{
		{Kind: atomic.Import, NetworkID: 1, Accounts: []atomic.Account{{Amount: 5}}},
		{Kind: atomic.Export, NetworkID: 1, Accounts: []atomic.Account{{Amount: 6, Nonce: 7}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := consensus.Header{
		Uncles: consensus.EmptyUncles, TxRoot: consensus.EmptyRoot, ReceiptsRoot: consensus.EmptyRoot, Number: 9, Time: 77,
		HasExtData: true, ExtDataHash: consensus.ExtDataHash(extra), Parent: evm.Hash{1},
	}
	block := consensus.Block{Header: h.Append(nil), ExtData: extra}
	raw := block.Append(nil)
	e := example{name: "C", kind: CChain, raw: raw, outer: chain.ID(evm.Keccak(block.Header)).String()}
	if headed {
		p := proposer.Header{Kind: proposer.Plain, Parent: chain.ID{3}, Time: 78, PChainHeight: 4, Block: raw}
		if e.raw, err = p.Bytes(); err != nil {
			t.Fatal(err)
		}
		read, err := proposer.Parse(e.raw)
		if err != nil {
			t.Fatal(err)
		}
		e.name, e.outer = "C with a header", read.ID.String()
	}
	return e
}

func TestParse(t *testing.T) {
	t.Parallel()
	headers := map[Kind]int{}
	for _, e := range examples(t) {
		b, err := Parse(e.kind, e.raw)
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		if b.Outer.String() != e.outer || b.Chain != e.kind || !bytes.Equal(b.Raw, e.raw) {
			t.Errorf("%s: %s of %s, want %s", e.name, b.Outer, b.Chain, e.outer)
		}
		set := 0
		for _, there := range []bool{b.Platform != nil, b.AVM != nil, b.Vertex != nil, b.EVM != nil} {
			if there {
				set++
			}
		}
		if set != 1 || (b.Header != nil) != (b.ID() != b.Outer) {
			t.Errorf("%s: %d forms, header %v", e.name, set, b.Header)
		}
		if b.Header != nil {
			headers[e.kind]++
		}
		if m := b.Memory(); m < 2*len(e.raw) {
			t.Errorf("%s: %d bytes in memory", e.name, m)
		}
		if e.kind == XVertices {
			b.Place, b.Before = 7, chain.ID{8}
		}
		link := b.Link()
		if link.Orphan || link.Parent.IsZero() && link.Height > 1 {
			t.Errorf("%s: %+v", e.name, link)
		}
		archived(t, e, b)
	}
	if headers[PChain] < 14 || headers[XChain] < 8 || headers[CChain] != 1 || headers[XVertices] != 0 {
		t.Errorf("headers: %v", headers)
	}
}

// archived checks that a block is read from the archive as it was written.
func archived(t *testing.T, e example, b *Block) {
	t.Helper()
	height, before := b.Link().Height, b.Link().Parent
	for _, accepted := range []uint64{0, 1_700_000_000} {
		b.Accepted = accepted
		data := AppendArchived([]byte("before"), b)[len("before"):]
		got, err := ParseArchived(e.kind, height, before, data)
		if err != nil || got.Outer != b.Outer || got.Link() != b.Link() || got.Accepted != accepted || got.Bare {
			t.Fatalf("%s: %+v, %v", e.name, got, err)
		}
		if _, err := ParseArchived(e.kind, height+1, before, data); (err == nil) != (e.kind == XVertices) {
			t.Errorf("%s: at another height: %v", e.name, err)
		}
	}
	if b.Header == nil {
		return
	}
	inner, err := Parse(e.kind, b.Header.Block)
	if err != nil || inner.ID() != b.ID() || inner.Header != nil {
		t.Fatalf("%s: inside: %v", e.name, err)
	}
	inner.Bare = true
	got, err := ParseArchived(e.kind, height, before, AppendArchived(nil, inner))
	if err != nil || !got.Bare || got.Outer != b.ID() {
		t.Errorf("%s: inside: %v", e.name, err)
	}
	b.Bare = true
	if _, err := ParseArchived(e.kind, height, before, AppendArchived(nil, b)); err == nil {
		t.Errorf("%s: a header of a node that has none", e.name)
	}
}

func TestParseCore(t *testing.T) {
	t.Parallel()
	e := coreExample(t, true)
	b, err := Parse(CChain, e.raw)
	if err != nil {
		t.Fatal(err)
	}
	c := b.EVM
	if c.Number != 9 || c.Parent != (evm.Hash{1}) || c.TimeMilli != 77_000 || c.Size != len(b.Header.Block) || len(c.Atomic) != 2 {
		t.Errorf("%+v", c)
	}
	if c.Atomic[0].Kind != atomic.Import || c.Atomic[1].Accounts[0].Nonce != 7 || c.Atomic[0].ID == c.Atomic[1].ID {
		t.Errorf("%+v", c.Atomic)
	}
	// A hash covers ExtData: others are refused, whoever wraps them.
	spoilt := bytes.Clone(coreExample(t, false).raw)
	spoilt[len(spoilt)-1] ^= 1
	if _, err := Parse(CChain, spoilt); err == nil {
		t.Error("ExtData that the header does not cover")
	}
}

// Containers of one chain are not taken for those of another, and nothing is read of
// parts.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, e := range examples(t) {
		for _, kind := range []Kind{0, PChain, XChain, CChain, XVertices, XVertices + 1} {
			if _, err := Parse(kind, e.raw); err == nil && kind != e.kind {
				t.Errorf("%s: read as of %s", e.name, kind)
			}
		}
		for _, n := range []int{0, 1, 2, 6, len(e.raw) / 2, len(e.raw) - 1} {
			if _, err := Parse(e.kind, e.raw[:n:n]); err == nil {
				t.Errorf("%s: read when cut at byte %d", e.name, n)
			}
		}
		if _, err := Parse(e.kind, append(bytes.Clone(e.raw), 0)); err == nil {
			t.Errorf("%s: a byte too many", e.name)
		}
	}
	for _, data := range []string{"", "\x04", "\x02", "\x02\x00\x00\x00\x00\x00\x00\x00\x00"} {
		if b, err := ParseArchived(PChain, 0, chain.ID{}, []byte(data)); err == nil {
			t.Errorf("%x: %+v", data, b)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, e := range examples(f) {
		f.Add(uint8(e.kind), e.raw)
	}
	f.Fuzz(func(t *testing.T, kind uint8, raw []byte) {
		b, err := Parse(Kind(kind), raw)
		if err != nil {
			return
		}
		link := b.Link()
		got, err := ParseArchived(b.Chain, link.Height, link.Parent, AppendArchived(nil, b))
		if err != nil || got.Outer != b.Outer || got.Link() != link {
			t.Fatalf("%+v is read as %+v, %v", link, got, err)
		}
		if m := b.Memory(); m < len(raw) || m > 32*len(raw)+1<<12 {
			t.Fatalf("%d bytes in memory for %d", m, len(raw))
		}
	})
}
