package primary

import (
	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/primary"
	"quorate/engine/primary/xchain"
	"quorate/engine/webhook"
	"quorate/httpapi/view"
)

// WebhookParts writes what messages of webhooks have of the primary network in the form
// of the answers, which the SDKs can read.
type WebhookParts struct{}

var _ webhook.Writer = WebhookParts{}

// partsOf returns a call that writes about rows.
func partsOf(r *webhook.Rows) *call {
	c := &call{name: r.Name, kind: r.On}
	c.rows = blockRows{r.Exchange, r.View}
	if r.Platform != nil {
		c.rows = r.Platform
	}
	c.Q.Ascending = true
	c.W.Dialect = view.SDK
	c.W.Primary = view.Primary{
		Network: r.Name, Prefix: address.Prefix(r.Network.ID), AVAX: r.Network.AVAX, Chain: r.ID, Asset: c.asset,
		Genesis: func(*chain.ID) *view.Genesis { return &view.Genesis{} }, // it may be any size
	}
	return c
}

// written returns what was written, or why it could not be.
func (c *call) written(err error) ([]byte, error) {
	if err == nil {
		err = c.Err
	}
	return c.W.B, err
}

// Tx implements [webhook.Writer].
func (WebhookParts) Tx(r *webhook.Rows, row *primary.TxRow) (*webhook.Tx, error) {
	c := partsOf(r)
	tx, err := parseTx(r.On, row.Raw)
	if err != nil {
		return nil, err
	}
	t, err := c.known(row, &tx)
	if err != nil {
		return nil, err
	}
	return &webhook.Tx{Consumed: t.Consumed, Emitted: t.Emitted, Write: func() ([]byte, error) {
		c.W.B = nil
		if tx.platform != nil {
			c.W.PlatformTx(t, tx.platform)
		} else {
			c.W.ExchangeTx(t, tx.avm)
		}
		return c.written(nil)
	}}, nil
}

// Reward implements [webhook.Writer].
func (WebhookParts) Reward(r *webhook.Rows, p *primary.Reward) ([]byte, error) {
	c := partsOf(r)
	c.W.HistoricalReward(p)
	return c.written(nil)
}

// Balances implements [webhook.Writer].
func (WebhookParts) Balances(r *webhook.Rows, list []webhook.Sum) ([]byte, error) {
	c := partsOf(r)
	c.W.Raw("{")
	for _, name := range webhook.BalanceNames(r.On) {
		var of []view.Balance
		for i := range list {
			if s := &list[i]; s.Name == name {
				of = append(of, view.Balance{Asset: s.Asset, Amount: s.Amount, Count: s.Count})
			}
		}
		c.W.Balances(name, of, r.On)
	}
	c.W.Raw("}")
	return c.written(nil)
}

// blockRows are the rows of the X-Chain's blocks.
type blockRows struct {
	*xchain.View
	blocks *primary.View
}

var _ AssetView = blockRows{}

// First implements [View].
func (r blockRows) First() uint64 { return r.blocks.First() }

// Block implements [View].
func (r blockRows) Block(id chain.ID) (*primary.BlockInfo, bool, error) { return r.blocks.Block(id) }

// BlockAt implements [View].
func (r blockRows) BlockAt(height uint64) (*primary.BlockInfo, bool, error) {
	return r.blocks.BlockAt(height)
}

// Blocks implements [View].
func (r blockRows) Blocks(f *primary.BlockFilter, p primary.Page, take func(*primary.BlockInfo) bool) (primary.Position, error) {
	return r.blocks.Blocks(f, p, take)
}
