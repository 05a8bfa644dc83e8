package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// SignatureHandler is the handler ID of ACP-118 signature requests, the
	// prefix of the bytes of their AppRequest. Answers carry no prefix.
	SignatureHandler = 2
	// SignatureLen is the length of a compressed BLS signature.
	SignatureLen = 96
)

var (
	// ErrHandler is returned for an application request of another handler.
	ErrHandler = errors.New("not a signature request")
	// ErrSignatureLength is returned for a signature that is not 96 bytes.
	ErrSignatureLength = errors.New("signature is not 96 bytes")
)

// AppendSignatureRequest appends the application bytes that ask for a
// signature of the unsigned warp message:
//
//	02 | protobuf {1: message, 2: justification}
func AppendSignatureRequest(dst, message, justification []byte) []byte {
	dst = binary.AppendUvarint(dst, SignatureHandler)
	dst = appendBytes(dst, 1, message)
	return appendBytes(dst, 2, justification)
}

// ParseSignatureRequest reads what [AppendSignatureRequest] wrote. The results alias b.
func ParseSignatureRequest(b []byte) (message, justification []byte, err error) {
	handler, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, nil, fmt.Errorf("%w: no handler ID", ErrMalformed)
	}
	if handler != SignatureHandler {
		return nil, nil, fmt.Errorf("%w: handler %d", ErrHandler, handler)
	}
	f := fields{rest: b[n:]}
	for f.next() {
		switch f.num {
		case 1:
			message = f.bytes()
		case 2:
			justification = f.bytes()
		}
	}
	return message, justification, f.err
}

// AppendSignatureResponse appends the application bytes of an answer.
func AppendSignatureResponse(dst, sig []byte) []byte { return appendBytes(dst, 1, sig) }

// ParseSignatureResponse reads an answer's signature, which aliases b. No
// signature and no error means that the validator does not sign.
func ParseSignatureResponse(b []byte) (sig []byte, err error) {
	f := fields{rest: b}
	for f.next() {
		if f.num == 1 {
			sig = f.bytes()
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	if len(sig) != 0 && len(sig) != SignatureLen {
		return nil, fmt.Errorf("%w but %d", ErrSignatureLength, len(sig))
	}
	return sig, nil
}
