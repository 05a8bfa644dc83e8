package evmchain

import (
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
)

// zeroWord never changes.
var zeroWord [wordLen]byte

// encode is the RLP of a byte string, a number, what is RLP already, or a list of such.
func encode(v any) []byte {
	w := rlp.NewEncoderBuffer(nil)
	write(&w, v)
	return finish(&w)
}

// finish returns what was written.
func finish(w *rlp.EncoderBuffer) []byte {
	b := w.ToBytes()
	_ = w.Flush() // gives the buffer back, and has nothing to write to
	return b
}

func write(w *rlp.EncoderBuffer, v any) {
	switch v := v.(type) {
	case []byte:
		w.WriteBytes(v)
	case uint64:
		w.WriteUint64(v)
	case *uint256.Int:
		w.WriteUint256(v)
	case rlp.RawValue:
		_, _ = w.Write(v) // into memory
	case []any:
		list := w.List()
		for _, item := range v {
			write(w, item)
		}
		w.ListEnd(list)
	case nil:
		w.WriteBytes(nil)
	}
}
