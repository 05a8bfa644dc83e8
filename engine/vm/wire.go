package vm

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Methods of the two services, as gRPC paths.
const (
	runtimeService   = "vm.runtime.Runtime"
	methodInitialize = "Initialize"
	methodVersion    = "/vm.VM/Version"
	methodShutdown   = "/vm.VM/Shutdown"
)

// maxMessage bounds a message, and apart from it a header block, in bytes.
const maxMessage = 4 << 10

var errMessage = errors.New("malformed message")

// message is one of the few protobuf messages spoken here. They are so small
// that they are written out by hand: generated types would enter their names
// into the process-wide registry.
type message interface {
	append(dst []byte) []byte
	parse(src []byte) error
}

// empty is google.protobuf.Empty.
type empty struct{}

func (*empty) append(dst []byte) []byte { return dst }

func (*empty) parse(src []byte) error { return eachField(src, nil, nil) }

// initializeRequest is vm.runtime.InitializeRequest:
//
//	uint32 protocol_version = 1; string addr = 2;
type initializeRequest struct {
	protocol uint32
	addr     string
}

func (m *initializeRequest) append(dst []byte) []byte {
	if m.protocol != 0 {
		dst = protowire.AppendVarint(protowire.AppendTag(dst, 1, protowire.VarintType), uint64(m.protocol))
	}
	if m.addr != "" {
		dst = protowire.AppendString(protowire.AppendTag(dst, 2, protowire.BytesType), m.addr)
	}
	return dst
}

func (m *initializeRequest) parse(src []byte) error {
	*m = initializeRequest{}
	err := eachField(src, func(n protowire.Number, v uint64) error {
		if n == 1 {
			if v > math.MaxUint32 {
				return fmt.Errorf("%w: protocol version %d", errMessage, v)
			}
			m.protocol = uint32(v)
		}
		return nil
	}, func(n protowire.Number, v []byte) error {
		if n == 2 {
			return text(&m.addr, v)
		}
		return nil
	})
	return err
}

// versionResponse is vm.VersionResponse:
//
//	string version = 1;
type versionResponse struct{ version string }

func (m *versionResponse) append(dst []byte) []byte {
	if m.version != "" {
		dst = protowire.AppendString(protowire.AppendTag(dst, 1, protowire.BytesType), m.version)
	}
	return dst
}

func (m *versionResponse) parse(src []byte) error {
	*m = versionResponse{}
	return eachField(src, nil, func(n protowire.Number, v []byte) error {
		if n == 1 {
			return text(&m.version, v)
		}
		return nil
	})
}

func text(dst *string, v []byte) error {
	if !utf8.Valid(v) {
		return fmt.Errorf("%w: text is not UTF-8", errMessage)
	}
	*dst = string(v)
	return nil
}

// eachField passes each field of src to the function for its type, if any.
// Fields of other types are checked and skipped, as protobuf has it.
func eachField(src []byte, varint func(protowire.Number, uint64) error, bytes func(protowire.Number, []byte) error) error {
	for len(src) > 0 {
		number, kind, n := protowire.ConsumeTag(src)
		if n < 0 {
			return fmt.Errorf("%w: %w", errMessage, protowire.ParseError(n))
		}
		if !number.IsValid() {
			return fmt.Errorf("%w: field number %d", errMessage, number)
		}
		src = src[n:]
		var err error
		switch {
		case kind == protowire.VarintType && varint != nil:
			var v uint64
			if v, n = protowire.ConsumeVarint(src); n >= 0 {
				err = varint(number, v)
			}
		case kind == protowire.BytesType && bytes != nil:
			var v []byte
			if v, n = protowire.ConsumeBytes(src); n >= 0 {
				err = bytes(number, v)
			}
		default:
			n = protowire.ConsumeFieldValue(number, kind, src)
		}
		if n < 0 {
			err = fmt.Errorf("%w: %w", errMessage, protowire.ParseError(n))
		}
		if err != nil {
			return err
		}
		src = src[n:]
	}
	return nil
}

// codec lets gRPC carry messages. It goes by the name of the standard codec,
// whose bytes it speaks.
type codec struct{}

var _ encoding.CodecV2 = codec{}

// Name is part of gRPC's content type.
func (codec) Name() string { return "proto" }

// Marshal takes a message.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(message)
	if !ok {
		return nil, fmt.Errorf("cannot encode a %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(m.append(nil))}, nil
}

// Unmarshal takes a message to fill.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(message)
	if !ok {
		return fmt.Errorf("cannot decode a %T", v)
	}
	return m.parse(data.Materialize())
}
