package engine

import (
	"context"
	"strconv"

	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/follow"
	"quorate/engine/health"
	"quorate/engine/index"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/engine/primary/xchain"
	"quorate/engine/store/results"
	"quorate/engine/webhook"
)

// Webhooks returns what delivers to clients' servers; nil while the databases are not
// open, and without an index.
func (e *Engine) Webhooks() *webhook.Hooks { return e.webhooks.Load() }

// startWebhooks starts what delivers. It ends before what it reads.
func (e *Engine) startWebhooks(ctx context.Context, kept *results.DB, end *ending) error {
	if e.cfg.NoIndex {
		return nil
	}
	cfg := e.cfg.Webhooks
	cfg.Store, cfg.Chain, cfg.Network = kept.Webhooks(), e.hooked, e.hookedNetwork
	cfg.Logger, cfg.Metrics = e.cfg.Log("webhook"), e.cfg.Metrics
	hooks, err := webhook.New(cfg)
	if err != nil {
		return err
	}
	layer := actor.NewLayer(ctx, e.log)
	end.later("the webhooks", baseStop, layer.StopWithin)
	e.webhooks.Store(hooks)
	return layer.Go("webhooks", hooks.Run)
}

// registerWebhooks registers the check of what delivers.
func (e *Engine) registerWebhooks() error {
	if e.cfg.NoIndex {
		return nil
	}
	return e.checker.Register(health.Check{Name: "webhooks", Run: func(ctx context.Context) (any, error) {
		if h := e.Webhooks(); h != nil {
			return h.Check(ctx)
		}
		return nil, nil
	}})
}

// hooked shows a followed chain to webhooks.
func (e *Engine) hooked(id chain.ID) (webhook.Chain, bool) {
	c, ok := e.evms.ByID(id)
	if !ok {
		return webhook.Chain{}, false
	}
	hub, _ := e.evms.Hub(id)
	return webhook.Chain{
		Number: strconv.FormatUint(c.Number(), 10), Hub: hub,
		View: func() (*index.View, error) { return c.Index().At(nil) },
	}, true
}

// hookedNetwork shows a primary network to webhooks.
func (e *Engine) hookedNetwork(name string) (webhook.Network, bool) {
	p, ok := e.PrimaryNetwork(name)
	if !ok {
		return webhook.Network{}, false
	}
	return webhook.Network{
		ID: p.ID(), AVAX: p.AVAX(),
		Chain: func(on primary.Kind) (id chain.ID, changed func() <-chan struct{}, ok bool) {
			f := p.Chain(on)
			if f == nil {
				return id, nil, false
			}
			switch rows := f.Rows().(type) {
			case *pchain.Chain:
				return f.ID(), rows.Changed, true
			case *primary.Chain:
				return f.ID(), rows.Changed, true
			}
			return id, nil, false
		},
		Platform: func() (*pchain.View, error) {
			rows, _ := p.rows(primary.PChain).(*pchain.Chain)
			if rows == nil {
				return nil, primary.ErrEmpty
			}
			return rows.View()
		},
		Exchange: func() (*xchain.View, error) {
			blocks, _ := p.rows(primary.XChain).(*primary.Chain)
			vertices, _ := p.rows(primary.XVertices).(*primary.Chain)
			if blocks == nil {
				return nil, primary.ErrEmpty
			}
			return xchain.Open(blocks, vertices)
		},
	}, true
}

// rows returns the rows of a chain, nil if it is not followed.
func (p PrimaryNetwork) rows(k primary.Kind) follow.PrimaryRows {
	if f := p.Chain(k); f != nil {
		return f.Rows()
	}
	return nil
}
