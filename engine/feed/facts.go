package feed

import (
	"context"
	"errors"
	"fmt"

	"quorate/engine/chain"
)

// ReadFacts returns what servers with nodes have written of a network last, and its position;
// nil and 0 if nobody has written anything.
func ReadFacts(ctx context.Context, log Log, network uint32) (facts []byte, at uint64, err error) {
	subject := Subject(network, chain.ID{}, SubjectFacts)
	first, last, err := log.Ends(ctx, subject)
	if err != nil || last == 0 {
		return nil, 0, err
	}
	raw, at, err := log.Read(ctx, subject, last)
	if err != nil {
		return nil, 0, fmt.Errorf("facts of network %d, at %d to %d of the log: %w", network, first, last, err)
	}
	r, err := Decode(raw)
	if err == nil && (r.Kind != Facts || r.Network != network) {
		err = fmt.Errorf("%w: it holds no facts of network %d", ErrRefused, network)
	}
	if errors.Is(err, ErrRefused) && !errors.Is(err, ErrVersion) {
		err = nil // it is as good as none
	}
	return r.Data, at, err
}

// AppendFacts writes facts behind those at a position. [ErrMoved]: others have written some.
func AppendFacts(ctx context.Context, log Log, network uint32, writer string, after uint64, facts []byte) error {
	r := Record{Kind: Facts, Network: network, Writer: writer, Data: facts}
	if r.Size() > MaxRecord {
		return fmt.Errorf("%w: %d bytes of facts", ErrRefused, len(facts))
	}
	_, err := log.Append(ctx, Subject(network, chain.ID{}, SubjectFacts), after, r.Append(nil))
	return err
}
