package emit

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/crypto"
)

// word is the unit of the contract ABI, in bytes.
const word = 32

var (
	// precompile is the address of the warp messenger.
	precompile = common.HexToAddress("0x0200000000000000000000000000000000000005")
	// sendSelector is the method ID of sendWarpMessage(bytes).
	sendSelector = crypto.Keccak256([]byte("sendWarpMessage(bytes)"))[:4]
	// sendTopic marks the log that carries the unsigned message.
	sendTopic = crypto.Keccak256Hash([]byte("SendWarpMessage(address,bytes32,bytes)"))
)

var errABI = errors.New("malformed ABI bytes")

// packSend encodes a call of sendWarpMessage.
func packSend(payload []byte) []byte {
	return append(append([]byte(nil), sendSelector...), packBytes(payload)...)
}

// packBytes encodes the single argument b of type bytes: offset, length, data padded to whole words.
func packBytes(b []byte) []byte {
	out := make([]byte, 2*word+(len(b)+word-1)/word*word)
	out[word-1] = word
	binary.BigEndian.PutUint64(out[2*word-8:], uint64(len(b)))
	copy(out[2*word:], b)
	return out
}

// unpackBytes is the strict inverse of packBytes.
func unpackBytes(data []byte) ([]byte, error) {
	if len(data) < 2*word || len(data)%word != 0 {
		return nil, fmt.Errorf("%w: %d bytes", errABI, len(data))
	}
	length := binary.BigEndian.Uint64(data[2*word-8:])
	if length > uint64(len(data)-2*word) {
		return nil, fmt.Errorf("%w: %d bytes announced, %d there", errABI, length, len(data)-2*word)
	}
	b := data[2*word : 2*word+length]
	if string(packBytes(b)) != string(data) {
		return nil, fmt.Errorf("%w: offset, length or padding", errABI)
	}
	return b, nil
}
