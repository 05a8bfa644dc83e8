package proposer

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/staking"
)

// goldenJSON holds what avalanchego's own packages made: e2e/vectors.
//
//go:embed testdata/avalanchego.json
var goldenJSON []byte

type goldens struct {
	Headers []struct {
		Name, Chain, ID, Parent, Proposer string
		Bytes, Block                      chaintest.Hex
		Valid                             bool
		Time                              *int64
		PChainHeight                      uint64
		Epoch                             json.RawMessage
	}
}

func recode(b []byte) ([]byte, error) {
	h, err := Parse(b)
	if err != nil {
		return nil, err
	}
	return h.Bytes()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	kinds, valid := make(map[Kind]int), 0
	for _, e := range chaintest.Load[goldens](t, goldenJSON).Headers {
		h, err := Parse(e.Bytes)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		chaintest.RoundTrip(t, &chaintest.Encoded{Name: e.Name, Bytes: e.Bytes}, recode)
		if h.ID.String() != e.ID || h.Parent.String() != e.Parent || h.Proposer().String() != e.Proposer || !bytes.Equal(h.Block, e.Block) {
			t.Errorf("%s: got %+v", e.Name, h)
		}
		if option := e.Time == nil; option != (h.Kind == Option) {
			t.Errorf("%s: got kind %d", e.Name, h.Kind)
		} else if !option {
			if h.Time != *e.Time || h.PChainHeight != e.PChainHeight {
				t.Errorf("%s: got time %d and height %d", e.Name, h.Time, h.PChainHeight)
			}
			chaintest.SameJSON(t, e.Name, chaintest.Object{
				"pChainHeight": h.Epoch.PChainHeight, "number": h.Epoch.Number, "startTime": h.Epoch.StartTime,
			}, e.Epoch)
		}
		id, err := chain.ParseID(e.Chain)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Verify(id); (err == nil) != e.Valid || err != nil && !errors.Is(err, ErrSignature) {
			t.Errorf("%s: got %v, valid is %v", e.Name, err, e.Valid)
		}
		kinds[h.Kind]++
		if e.Valid {
			valid++
		}
	}
	if len(kinds) != 3 || valid == 0 {
		t.Errorf("examples by kind %v, %d valid", kinds, valid)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, e := range chaintest.Load[goldens](t, goldenJSON).Headers {
		for n := range e.Bytes {
			if _, err := Parse(e.Bytes[:n]); err == nil {
				t.Fatalf("%s: accepted when cut at byte %d", e.Name, n)
			}
		}
		if _, err := Parse(append(bytes.Clone(e.Bytes), 0)); err == nil {
			t.Fatalf("%s: accepted with a byte too many", e.Name)
		}
	}
	long, err := (&Header{Certificate: make([]byte, staking.MaxCertificateLen+1)}).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(long); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("a long certificate: got %v", err)
	}
	if err := (&Header{Kind: Granite}).Verify(chain.ID{}); !errors.Is(err, ErrSignature) {
		t.Errorf("no epoch: got %v", err)
	}
	if err := (&Header{Certificate: []byte{1}}).Verify(chain.ID{}); !errors.Is(err, ErrSignature) {
		t.Errorf("no certificate: got %v", err)
	}
}

func TestBombs(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	for _, e := range chaintest.Load[goldens](t, goldenJSON).Headers[:3] {
		chaintest.Bomb(t, &chaintest.Encoded{Name: e.Name, Bytes: e.Bytes}, recode)
	}
}

// A container is a block with a header or, from before, without one.
func TestOpen(t *testing.T) {
	t.Parallel()
	commit := &platform.Block{Kind: platform.ApricotCommit, Height: 7}
	inner, err := commit.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	h, b, err := Open(inner, platform.ParseBlock)
	if err != nil || h != nil || b.Height != 7 {
		t.Errorf("without a header: got %+v, %+v, %v", h, b, err)
	}
	outer, err := (&Header{Kind: Granite, Time: 5, Block: inner}).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	h, b, err = Open(outer, platform.ParseBlock)
	if err != nil || h == nil || h.Time != 5 || b.Height != 7 || b.ID == h.ID {
		t.Errorf("with a header: got %+v, %+v, %v", h, b, err)
	}
	if h, b, err := Open([]byte("neither"), platform.ParseBlock); err == nil || h != nil || b != nil {
		t.Errorf("neither: got %+v, %+v", h, b)
	}

	// What holds a block of an unknown kind is still a header, and the error is about the
	// block, not about what the header would mean as a block.
	strange := append([]byte{0, 0, 0, 0, 0, 99}, inner[6:]...)
	raw, err := (&Header{Kind: Granite, Time: 5, Block: strange}).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	h, b, err = Open(raw, platform.ParseBlock)
	if !errors.Is(err, codec.ErrType) || !strings.Contains(err.Error(), "99") || h == nil || h.Time != 5 || b != nil {
		t.Errorf("unknown block: got %+v, %+v, %v", h, b, err)
	}

	// An abort at a height that reads as the length of four bytes is an option too,
	// but what the option holds is no block.
	abort := &platform.Block{Kind: platform.ApricotAbort, Height: 4 << 32}
	raw, err = abort.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if h, err := Parse(raw); err != nil || h.Kind != Option {
		t.Fatalf("got %+v, %v", h, err)
	}
	h, b, err = Open(raw, platform.ParseBlock)
	if err != nil || h != nil || b.Height != abort.Height {
		t.Errorf("both: got %+v, %+v, %v", h, b, err)
	}
}

// What is signed, byte by byte.
func TestSignedHash(t *testing.T) {
	t.Parallel()
	h := &Header{ID: chain.ID{3}, Parent: chain.ID{2}}
	want := binary.BigEndian.AppendUint16(nil, 0)
	for _, id := range []chain.ID{{1}, {2}, {3}} {
		want = append(want, id[:]...)
	}
	if got := h.SignedHash(chain.ID{1}); got != sha256.Sum256(want) {
		t.Errorf("got %x", got)
	}
	if s := (&Header{}).Proposer().String(); !strings.HasSuffix(s, "111116DBWJs") {
		t.Errorf("nobody is %s", s)
	}
}

func FuzzParse(f *testing.F) {
	for _, e := range chaintest.Load[goldens](f, goldenJSON).Headers {
		f.Add([]byte(e.Bytes))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Parse(b)
		if err != nil {
			return
		}
		if got, err := h.Bytes(); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%x round-trips to %x, %v", b, got, err)
		}
		_ = h.Verify(chain.ID{})
		_, _, _ = Open(b, platform.ParseBlock)
	})
}
