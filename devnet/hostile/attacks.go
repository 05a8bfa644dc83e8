package hostile

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"quorate/devnet/validator"
	"quorate/engine/chain"
	"quorate/p2p/wire"
)

const (
	// attackBatch is how many bytes an attacker puts into its queue at a time.
	attackBatch = 32 << 10
	// attackPause is waited when the queue is full: the other side does not read.
	attackPause = time.Millisecond
	// inventedPerList is how many addresses are in one list.
	inventedPerList = 64
)

// attack returns the conduct of an attacker.
func attack(kind Kind, m Means) (validator.Conduct, error) {
	c := validator.Conduct{Reply: validator.Silent}
	switch kind {
	case EmptyFrames:
		c.Unasked = repeat(func(chain.ID) []byte { return nil })
	case Pongs:
		c.Unasked = repeat(func(chain.ID) []byte { return wire.Pong{}.Append(nil) })
	case Pings:
		c.Unasked = repeat(func(chain.ID) []byte { return wire.Ping{}.Append(nil) })
	case UnknownIDs:
		sig := infinity()
		c.Unasked = repeat(func(id chain.ID) []byte { // IDs that are used are odd
			return (&wire.AppResponse{ChainID: id, RequestID: 2, Bytes: wire.AppendSignatureResponse(nil, sig[:])}).Append(nil)
		})
	case InventedPeers:
		claim, err := ownClaim(m)
		if err != nil {
			return validator.Conduct{}, err
		}
		c.Unasked = invent(claim)
	case Tarpit:
		c.Tarpit = true
	}
	return c, nil
}

// repeat sends the same message without end.
func repeat(message func(chainID chain.ID) []byte) validator.Unasked {
	return func(ctx context.Context, chainID chain.ID, peer validator.Peer) {
		frame := wire.AppendFrame(nil, message(chainID))
		var batch []byte
		for len(batch) < attackBatch {
			batch = append(batch, frame...)
		}
		flooding(ctx, peer, func() []byte { return batch })
	}
}

// flooding sends what next returns as fast as the other side reads.
func flooding(ctx context.Context, peer validator.Peer, next func() []byte) {
	for batch := next(); ctx.Err() == nil; {
		if peer.Send(batch) {
			batch = next()
			continue
		}
		select {
		case <-time.After(attackPause):
		case <-ctx.Done():
		}
	}
}

// ownClaim is a valid claim of the validator to an address of no use.
func ownClaim(m Means) (wire.ClaimedIP, error) {
	key, ok := m.Certificate.PrivateKey.(crypto.Signer)
	if !ok {
		return wire.ClaimedIP{}, errors.New("inventing peers takes the validator's certificate and key")
	}
	c := wire.ClaimedIP{
		Certificate: m.Certificate.Certificate[0],
		Addr:        netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1),
		Timestamp:   uint64(time.Now().Unix()), // after 1970
	}
	var err error
	if c.Signature, err = wire.SignClaim(key, c.Addr, c.Timestamp); err != nil {
		return c, fmt.Errorf("signing the address: %w", err)
	}
	return c, nil
}

// invent sends lists of addresses of nodes that do not exist.
func invent(own wire.ClaimedIP) validator.Unasked {
	return func(ctx context.Context, _ chain.ID, peer validator.Peer) {
		count := 0
		flooding(ctx, peer, func() []byte {
			var list wire.PeerList
			for range inventedPerList {
				count++
				c := own
				c.Certificate = fmt.Appendf(append([]byte(nil), own.Certificate...), "%d", count)
				list.Peers = append(list.Peers, c)
			}
			return wire.AppendFrame(nil, list.Append(nil))
		})
	}
}
