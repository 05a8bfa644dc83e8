package warp

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"testing"

	"quorate/engine/chain"
)

// goldenJSON holds bytes that avalanchego's own packages made: platformvm/warp,
// its payload and message packages, utils/set and the C-Chain's warp precompile.
//
//go:embed testdata/avalanchego-v1.14.2.json
var goldenJSON []byte

type hexBytes []byte

func (h *hexBytes) UnmarshalText(b []byte) (err error) {
	*h, err = hex.AppendDecode([]byte{}, b)
	return err
}

type goldens struct {
	Unsigned []struct {
		Network        uint32
		Source, ID     string
		Payload, Bytes hexBytes
	}
	Signed []struct{ Unsigned, Signers, Signature, Bytes hexBytes }
	Bits   []struct {
		Indices                []int
		Modulo, Without, Below int
		Bytes                  hexBytes
	}
	AddressedCalls []struct{ Source, Payload, Bytes hexBytes }
	Hash           struct {
		Hash  string
		Bytes hexBytes
	}
	SubnetToL1Conversion struct {
		Network    uint32
		Conversion string
		Bytes      hexBytes
	}
	Registrations []struct {
		Network        uint32
		Validation     string
		Registered     bool
		Payload, Bytes hexBytes
	}
	Weight         hexBytes
	Justifications []struct {
		Kind, Validation string
		Bytes            hexBytes
	}
	Logs []struct{ Data, Message hexBytes }
}

func golden(t testing.TB) *goldens {
	t.Helper()
	var g goldens
	d := json.NewDecoder(bytes.NewReader(goldenJSON))
	d.DisallowUnknownFields()
	if err := d.Decode(&g); err != nil {
		t.Fatal(err)
	}
	return &g
}

func mustID(t *testing.T, s string) chain.ID {
	t.Helper()
	id, err := chain.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\ngot  %x\nwant %x", what, got, want)
	}
}

func TestGoldenUnsigned(t *testing.T) {
	t.Parallel()
	for _, c := range golden(t).Unsigned {
		u, err := New(c.Network, mustID(t, c.Source), c.Payload)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "unsigned", u.Bytes(), c.Bytes)
		back, err := Parse(c.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "payload", back.Payload, c.Payload)
		if back.NetworkID != c.Network || back.SourceChainID != u.SourceChainID ||
			u.ID().String() != c.ID || back.ID() != u.ID() {
			t.Errorf("got %d, %s, ID %s; want %d, %s, %s",
				back.NetworkID, back.SourceChainID, back.ID(), c.Network, c.Source, c.ID)
		}
	}
}

func TestGoldenSigned(t *testing.T) {
	t.Parallel()
	for _, c := range golden(t).Signed {
		sig := [SignatureLen]byte(c.Signature)
		same(t, "signed", AppendSigned(nil, c.Unsigned, c.Signers, &sig), c.Bytes)
		if n := SignedLen(c.Unsigned, c.Signers); n != len(c.Bytes) {
			t.Errorf("length %d, want %d", n, len(c.Bytes))
		}
		s, err := ParseSigned(c.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "unsigned part", s.Bytes(), c.Unsigned)
		same(t, "signers", s.Signers, c.Signers)
		same(t, "signature", s.Signature[:], c.Signature)
	}
}

func TestGoldenBits(t *testing.T) {
	t.Parallel()
	for _, c := range golden(t).Bits {
		indices := c.Indices
		for i := range c.Below {
			if i%c.Modulo != c.Without {
				indices = append(indices, i)
			}
		}
		b := NewBits(1000)
		for _, i := range indices {
			b.Set(i)
		}
		same(t, "signers", b.Signers(), c.Bytes)
		back, ok := BitsFromSigners(c.Bytes, 1000)
		if !ok || !back.Equal(b) || back.Count() != len(indices) {
			t.Errorf("%v: read back as %v, %v", indices, back, ok)
		}
	}
}

func TestGoldenPayloads(t *testing.T) {
	t.Parallel()
	g := golden(t)
	for _, c := range g.AddressedCalls {
		same(t, "addressed call", AddressedCall{c.Source, c.Payload}.Append(nil), c.Bytes)
		call, err := ParseAddressedCall(c.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "source", call.SourceAddress, c.Source)
		same(t, "payload", call.Payload, c.Payload)
	}
	same(t, "hash", HashPayload(mustID(t, g.Hash.Hash)), g.Hash.Bytes)

	u, err := SubnetToL1Conversion(g.SubnetToL1Conversion.Network, mustID(t, g.SubnetToL1Conversion.Conversion))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "conversion", u.Bytes(), g.SubnetToL1Conversion.Bytes)

	for _, c := range g.Registrations {
		u, err := L1ValidatorRegistration(c.Network, mustID(t, c.Validation), c.Registered)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "registration", u.Bytes(), c.Bytes)
		call, err := ParseAddressedCall(u.Payload)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "registration payload", call.Payload, c.Payload)
		id, registered, err := ParseL1ValidatorRegistration(call.Payload)
		if err != nil || id.String() != c.Validation || registered != c.Registered {
			t.Errorf("got %s, %v, %v", id, registered, err)
		}
	}
	if _, _, err := ParseL1ValidatorRegistration(g.Weight); err == nil {
		t.Error("a weight message was read as a registration")
	}
}

func TestGoldenJustifications(t *testing.T) {
	t.Parallel()
	for _, c := range golden(t).Justifications {
		id, err := RegistrationJustification(c.Bytes)
		if err != nil || id.String() != c.Validation {
			t.Errorf("%s %x: got %s, %v; want %s", c.Kind, c.Bytes, id, err, c.Validation)
		}
	}
}

func TestGoldenLogs(t *testing.T) {
	t.Parallel()
	for _, c := range golden(t).Logs {
		inner, ok := UnwrapABI(c.Data)
		if !ok {
			t.Errorf("%x: not unwrapped", c.Data)
		}
		same(t, "message in the log", inner, c.Message)
		if _, ok := UnwrapABI(c.Message); ok {
			t.Errorf("%x: a bare message was unwrapped", c.Message)
		}
	}
}
