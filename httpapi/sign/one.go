package sign

import (
	"context"
	"errors"
	"time"

	"quorate/aggregator"
	"quorate/engine/chain/warp"
	"quorate/httpapi/door"
	"quorate/httpapi/limit"
)

const (
	// AtOnce bounds the messages of one request that are signed at the same time.
	AtOnce = 8
	// patience is for how long a message is tried to be signed that may yet be; what comes
	// behind it waits.
	patience = 20 * time.Second
	// Retry is the least wait between two tries.
	Retry = 250 * time.Millisecond
)

var errNotWarp = errors.New("this is no warp message of a network that is followed")

// Message has a message signed for a client at the price of a request for it. It waits for the
// client to have the units, and for validators who may yet sign.
func (m *Room) Message(ctx context.Context, client limit.Client, message []byte, quorum int) ([]byte, error) {
	u, err := warp.Parse(message)
	if err != nil {
		return nil, errNotWarp
	}
	network, ok := m.Networks.ByID(u.NetworkID)
	if !ok {
		return nil, errNotWarp
	}
	for wait, ok := m.Limits.Charge(client, door.UnitsMedium); !ok; wait, ok = m.Limits.Charge(client, door.UnitsMedium) {
		if err := sleep(ctx, max(wait, Retry)); err != nil {
			return nil, err
		}
	}
	for begun := time.Now(); ; {
		req := &aggregator.Request{Message: message, Quorum: quorum, Client: client.String()}
		res, err := network.Aggregate(ctx, req)
		m.Limits.Owe(client, req.Asked/validatorsPerUnit-known(req, err)*(door.UnitsMedium-door.UnitsFree))
		if err == nil {
			return res.Signed, nil
		}
		var e *aggregator.Error
		if !errors.As(err, &e) || kindStatus(e.Kind) < 500 || time.Since(begun) > patience || ctx.Err() != nil {
			return nil, err
		}
		if err := sleep(ctx, min(max(e.RetryAfter, Retry), 2*time.Second)); err != nil {
			return nil, err
		}
	}
}

// sleep waits, or returns why ctx has ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
