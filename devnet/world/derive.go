package world

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// rootKey turns the seed into the key that everything else is derived from.
func rootKey(seed uint64) [32]byte {
	pre := binary.BigEndian.AppendUint64([]byte("quorate simulated network 1:"), seed)
	return sha256.Sum256(pre)
}

// derive returns 32 random-looking bytes for a purpose and an index.
func (w *World) derive(purpose string, index uint64) [32]byte {
	mac := hmac.New(sha256.New, w.root[:])
	mac.Write([]byte(purpose))
	var tail [9]byte // a zero byte ends the purpose
	binary.BigEndian.PutUint64(tail[1:], index)
	mac.Write(tail[:])
	return [32]byte(mac.Sum(nil))
}

// bytes is derive as a slice.
func (w *World) bytes(purpose string, index uint64) []byte {
	b := w.derive(purpose, index)
	return b[:]
}
