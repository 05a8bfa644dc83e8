package engine

import (
	"context"
	"slices"
	"strconv"

	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/follow"
	"quorate/engine/index"
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
	cfg.Store, cfg.Chain, cfg.Logger, cfg.Metrics = kept.Webhooks(), e.hooked, e.cfg.Log("webhook"), e.cfg.Metrics
	hooks, err := webhook.New(cfg)
	if err != nil {
		return err
	}
	layer := actor.NewLayer(ctx, e.log)
	end.later("the webhooks", baseStop, layer.StopWithin)
	e.webhooks.Store(hooks)
	return layer.Go("webhooks", hooks.Run)
}

// hooked shows a followed chain to webhooks.
func (e *Engine) hooked(id chain.ID) (webhook.Chain, bool) {
	hub, ok := e.Hub(id)
	if !ok {
		return webhook.Chain{}, false
	}
	list := e.EVMs()
	i := slices.IndexFunc(list, func(c *follow.EVM) bool { return c.ID() == id })
	if i < 0 {
		return webhook.Chain{}, false
	}
	c := list[i]
	return webhook.Chain{
		Number: strconv.FormatUint(c.Number(), 10), Hub: hub,
		View: func() (*index.View, error) { return c.Index().At(nil) },
	}, true
}
