package consensus

import (
	"bytes"
	"errors"
	"testing"

	"quorate/engine/chain/evm"
)

// coreBlock puts a block together that a real node told as JSON.
func (a *answer) coreBlock(t testing.TB) (*Block, *Header) {
	t.Helper()
	e := a.blockOf(t)
	b := &Block{Header: e.Header, ExtData: e.ExtData}
	for i := range e.Txs {
		b.Txs = append(b.Txs, e.Txs[i].Raw)
	}
	return b, a.header()
}

// A block of a real node has the length that the node says, and is read as it was written.
func TestParseBlock(t *testing.T) {
	t.Parallel()
	for n, a := range recorded(t) {
		b, h := a.coreBlock(t)
		raw := b.Append(nil)
		if want := *u64(a.block["size"]); uint64(len(raw)) != want {
			t.Errorf("block %d: %d bytes, the node says %d", n, len(raw), want)
		}
		got, err := ParseBlock(raw)
		if err != nil {
			t.Fatalf("block %d: %v", n, err)
		}
		if err := got.Check(h); err != nil || evm.Keccak(got.Header) != hashOf(a.block["hash"]) || !bytes.Equal(got.Append(nil), raw) {
			t.Errorf("block %d: %v", n, err)
		}
		for i := range raw {
			if _, err := ParseBlock(raw[:i]); !errors.Is(err, ErrEncoding) {
				t.Fatalf("block %d, cut at byte %d: %v", n, i, err)
			}
		}
		if _, err := ParseBlock(append(raw, 0)); err == nil {
			t.Errorf("block %d: a byte too many", n)
		}
		got.Txs = append(got.Txs, []byte{2, 0xc0})
		var wrong *Mismatch
		if err := got.Check(h); !errors.As(err, &wrong) {
			t.Errorf("block %d with a further transaction: %v", n, err)
		}
	}
}

func TestParseBlockRefuses(t *testing.T) {
	t.Parallel()
	header := []byte{0xc0}
	for name, rest := range map[string][]byte{
		"an uncle":               {0xc0, 0xc1, 0xc0, 0x80, 0x80},
		"another version":        {0xc0, 0xc0, 0x01, 0x80},
		"an empty transaction":   {0xc1, 0x80, 0xc0, 0x80, 0x80},
		"a transaction of bytes": {0xc3, 0x82, 0x80, 0x00, 0xc0, 0x80, 0x80},
		"no ExtData":             {0xc0, 0xc0, 0x80},
		"more members":           {0xc0, 0xc0, 0x80, 0x80, 0x80},
	} {
		raw := append(appendHead(nil, 0xc0, len(header)+len(rest)), append(bytes.Clone(header), rest...)...)
		if b, err := ParseBlock(raw); !errors.Is(err, ErrEncoding) {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

func FuzzCoreBlock(f *testing.F) {
	for _, a := range recorded(f) {
		b, _ := a.coreBlock(f)
		f.Add(b.Append(nil))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := ParseBlock(raw)
		if err != nil {
			return
		}
		if got := b.Append(nil); !bytes.Equal(got, raw) {
			t.Fatalf("%x is written as %x", raw, got)
		}
		_ = b.Check(&Header{Uncles: EmptyUncles})
	})
}
