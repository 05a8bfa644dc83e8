package hostile

import (
	"context"
	"encoding/binary"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"quorate/devnet/validator"
	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// answerFrame returns an uncompressed frame, which peers take as well.
func answerFrame(dst []byte, chainID chain.ID, id uint32, sig []byte) []byte {
	return wire.AppendFrame(dst, (&wire.AppResponse{
		ChainID: chainID, RequestID: id, Bytes: wire.AppendSignatureResponse(nil, sig),
	}).Append(nil))
}

// wrongID answers a request that was not made. IDs come from a counter, so
// what differs in the top bit is far from anything in use.
func wrongID(req *validator.Request, honest func() validator.Reply) validator.Reply {
	return lie(func(req *validator.Request, sig []byte) validator.Reply {
		return validator.Reply{Outcome: validator.Written, Raw: answerFrame(nil, req.ChainID, req.ID^1<<31, sig)}
	})(req, honest)
}

// midFrame stops in the middle of a frame.
func midFrame(req *validator.Request, honest func() validator.Reply) validator.Reply {
	return lie(func(req *validator.Request, sig []byte) validator.Reply {
		frame := answerFrame(nil, req.ChainID, req.ID, sig)
		return validator.Reply{Outcome: validator.Written, Raw: frame[:len(frame)/2], After: validator.Stall}
	})(req, honest)
}

// oversized states one byte more than a frame may have, and sends a few of them.
func oversized(req *validator.Request, honest func() validator.Reply) validator.Reply {
	return lie(func(*validator.Request, []byte) validator.Reply {
		raw := make([]byte, 1024)
		binary.BigEndian.PutUint32(raw, wire.MaxMessageSize+1)
		return validator.Reply{Outcome: validator.Written, Raw: raw, After: validator.Stall}
	})(req, honest)
}

// flood sends answers that nobody asked for, in batches at a steady rate. What
// does not fit into the queue of a peer that reads slowly is left out.
func flood(rate int) validator.Unasked {
	return func(ctx context.Context, chainID chain.ID, peer validator.Peer) {
		every := floodTick
		n := rate * int(floodTick/time.Millisecond) / 1000
		if n == 0 {
			n, every = 1, time.Second/time.Duration(rate)
		}
		sig := infinity()
		var batch []byte
		for i := range n {
			batch = answerFrame(batch, chainID, uint32(2*i+1), sig[:]) // small
		}
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				peer.Send(batch)
			}
		}
	}
}

const (
	bombSize = 64 << 20
	// zstdField is the number of the compressed content in a message.
	zstdField = 2
)

// bombs returns frames that state their true size and frames that do not, by turns.
func bombs() validator.Behaviour {
	stated, unstated := bombFrame(true), bombFrame(false)
	return lie(func(req *validator.Request, _ []byte) validator.Reply {
		raw := stated
		if req.ID/2%2 == 0 {
			raw = unstated
		}
		return validator.Reply{Outcome: validator.Written, Raw: raw}
	})
}

// bombFrame returns a message compressed with zstd (RFC 8878): a header and RLE
// blocks of zeros, four bytes for each 128 KiB. It has a window of 1 MiB, which
// alone gives no reason to refuse it.
func bombFrame(stated bool) []byte {
	const (
		window     = 10 << 3 // 2^(10+10) bytes
		size4      = 2 << 6  // the content's size follows in four bytes
		blockSize  = 128 << 10
		rle        = 1 << 1
		lastBlock  = 1
		blockCount = bombSize / blockSize
	)
	b := []byte{0x28, 0xb5, 0x2f, 0xfd}
	if stated {
		b = append(b, size4, window)
		b = binary.LittleEndian.AppendUint32(b, bombSize)
	} else {
		b = append(b, 0, window)
	}
	for i := range blockCount {
		header := uint32(blockSize<<3 | rle)
		if i == blockCount-1 {
			header |= lastBlock
		}
		b = append(b, byte(header), byte(header>>8), byte(header>>16), 0)
	}
	msg := protowire.AppendTag(nil, zstdField, protowire.BytesType)
	return wire.AppendFrame(nil, protowire.AppendBytes(msg, b))
}
