// Package wire holds the bytes of the Avalanche peer protocol: frames, the
// messages a signature collector and a validator exchange, zstd wrapping, the
// ACP-118 signature request, signed IP claims and the bloom filter of known
// peers. It opens no sockets and reads no clock.
//
// A connection carries frames:
//
//	frame   = length (4 B, big-endian, at most 2 MiB) | message
//	message = protobuf p2p.Message: one oneof member, or
//	          field 2 holding zstd(message) of a member that is not field 2
//
// Every message type appends its serialized p2p.Message, the oneof member's
// tag included, to a slice of the caller. [Codec.Parse] reads one back into a
// [Message] that can be used again, so that an answer costs no allocation.
package wire
