package warp

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

func FuzzParse(f *testing.F) {
	for _, c := range golden(f).Unsigned {
		f.Add([]byte(c.Bytes))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		u, err := Parse(b)
		if err != nil {
			return
		}
		back, err := New(u.NetworkID, u.SourceChainID, u.Payload)
		if err != nil || !bytes.Equal(back.Bytes(), b) || back.ID() != u.ID() {
			t.Fatalf("%x does not round-trip: %v", b, err)
		}
	})
}

func FuzzParseSigned(f *testing.F) {
	for _, c := range golden(f).Signed {
		f.Add([]byte(c.Bytes))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSigned(b)
		if err != nil {
			return
		}
		if got := AppendSigned(nil, s.Bytes(), s.Signers, &s.Signature); !bytes.Equal(got, b) {
			t.Fatalf("%x round-trips to %x", b, got)
		}
		if SignedLen(s.Bytes(), s.Signers) != len(b) {
			t.Fatalf("%x: wrong length", b)
		}
		if set, ok := BitsFromSigners(s.Signers, 8*MaxSigners); !ok || !bytes.Equal(set.Signers(), s.Signers) {
			t.Fatalf("signers %x do not round-trip", s.Signers)
		}
	})
}

func FuzzParseAddressedCall(f *testing.F) {
	for _, c := range golden(f).AddressedCalls {
		f.Add([]byte(c.Bytes))
	}
	f.Add([]byte(golden(f).Hash.Bytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseAddressedCall(b)
		if err == nil && !bytes.Equal(c.Append(nil), b) {
			t.Fatalf("%x does not round-trip", b)
		}
		if id, registered, err := ParseL1ValidatorRegistration(c.Payload); err == nil {
			u, err := L1ValidatorRegistration(1, id, registered)
			if err != nil || !bytes.HasSuffix(u.Bytes(), c.Payload) {
				t.Fatalf("registration %x does not round-trip: %v", c.Payload, err)
			}
		}
	})
}

// justificationType describes the protobuf message as avalanchego's
// proto/platformvm does, for a reader that shares no code with ours.
func justificationType(f *testing.F) protoreflect.MessageDescriptor {
	f.Helper()
	field := func(name string, num int32, kind descriptorpb.FieldDescriptorProto_Type, of string, oneof *int32) *descriptorpb.FieldDescriptorProto {
		d := &descriptorpb.FieldDescriptorProto{
			Name: &name, Number: &num, Type: &kind, OneofIndex: oneof,
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		if of != "" {
			d.TypeName = &of
		}
		return d
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("test.proto"), Package: proto.String("test"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Index"), Field: []*descriptorpb.FieldDescriptorProto{
				field("subnet_id", 1, descriptorpb.FieldDescriptorProto_TYPE_BYTES, "", nil),
				field("index", 2, descriptorpb.FieldDescriptorProto_TYPE_UINT32, "", nil),
			}},
			{
				Name: proto.String("Justification"), OneofDecl: []*descriptorpb.OneofDescriptorProto{{Name: proto.String("preimage")}},
				Field: []*descriptorpb.FieldDescriptorProto{
					field("initial", 1, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".test.Index", proto.Int32(0)),
					field("registration", 2, descriptorpb.FieldDescriptorProto_TYPE_BYTES, "", proto.Int32(0)),
				},
			},
		},
	}, nil)
	if err != nil {
		f.Fatal(err)
	}
	return file.Messages().ByName("Justification")
}

// FuzzRegistrationJustification: what we accept, a full protobuf reader reads too, and alike.
func FuzzRegistrationJustification(f *testing.F) {
	for _, c := range golden(f).Justifications {
		f.Add([]byte(c.Bytes))
	}
	desc := justificationType(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := RegistrationJustification(b)
		if err != nil {
			return
		}
		m := dynamicpb.NewMessage(desc)
		if err := proto.Unmarshal(b, m); err != nil {
			t.Fatalf("%x: we read what protobuf refuses: %v", b, err)
		}
		preimage := m.Get(desc.Fields().ByNumber(2)).Bytes()
		if initial := desc.Fields().ByNumber(1); m.Has(initial) {
			inner := m.Get(initial).Message()
			fields := initial.Message().Fields()
			index := uint32(inner.Get(fields.ByNumber(2)).Uint()) // the field has 32 bits
			preimage = binary.BigEndian.AppendUint32(bytes.Clone(inner.Get(fields.ByNumber(1)).Bytes()), index)
		}
		if want := sha256.Sum256(preimage); id != want {
			t.Fatalf("%x: got %x, want %x", b, id, want)
		}
	})
}

func FuzzUnwrapABI(f *testing.F) {
	for _, c := range golden(f).Logs {
		f.Add([]byte(c.Data))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, ok := UnwrapABI(wrapABI(b)); !ok || !bytes.Equal(got, b) {
			t.Fatalf("%x does not round-trip: %x, %v", b, got, ok)
		}
		inner, ok := UnwrapABI(b)
		if !ok {
			return
		}
		again := wrapABI(inner)
		if n := 64 + len(inner); len(again) != len(b) || !bytes.Equal(again[:n], b[:n]) {
			t.Fatalf("%x gives %x", b, inner)
		}
	})
}

func FuzzBitsFromSigners(f *testing.F) {
	for _, n := range []uint16{1, 5, 64, 65, 1000} {
		for _, c := range golden(f).Bits {
			f.Add([]byte(c.Bytes), n)
		}
	}
	f.Fuzz(func(t *testing.T, signers []byte, n uint16) {
		number := new(big.Int).SetBytes(signers)
		want := bytes.Equal(number.Bytes(), signers) && number.BitLen() <= int(n)
		b, ok := BitsFromSigners(signers, int(n))
		if ok != want {
			t.Fatalf("%x of %d: got %v, want %v", signers, n, ok, want)
		}
		if !ok {
			return
		}
		if !bytes.Equal(b.Signers(), signers) {
			t.Fatalf("%x of %d round-trips to %x", signers, n, b.Signers())
		}
		count := 0
		b.Each(func(i int) {
			count++
			if number.Bit(i) != 1 || !b.Has(i) {
				t.Fatalf("%x: index %d is not in the number", signers, i)
			}
		})
		if count != b.Count() {
			t.Fatalf("%x: %d indices, count %d", signers, count, b.Count())
		}
	})
}
