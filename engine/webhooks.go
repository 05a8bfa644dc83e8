package engine

import (
	"strconv"

	"quorate/engine/chain"
	"quorate/engine/follow"
	"quorate/engine/health"
	"quorate/engine/index"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/engine/primary/xchain"
	"quorate/engine/webhook"
)

// Webhooks returns what delivers to clients' servers; nil without an index.
func (e *Engine) Webhooks() *webhook.Hooks { return e.webhooks }

// newWebhooks makes what delivers, and registers its check.
func (e *Engine) newWebhooks() (err error) {
	cfg := e.cfg.Webhooks
	cfg.Chain, cfg.Network = e.hooked, e.hookedNetwork
	cfg.Logger, cfg.Metrics = e.cfg.Log("webhook"), e.cfg.Metrics
	if e.webhooks, err = webhook.New(cfg); err != nil {
		return err
	}
	return e.checker.Register(health.Check{Name: "webhooks", Run: e.webhooks.Check})
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
