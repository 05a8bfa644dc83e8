package hooks

import (
	"errors"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/webhook"
	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/shape"
	"quorate/httpapi/token"
)

// show returns a webhook as clients see it.
func (c *call) show(h webhook.Hook, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return c.room.shown(&h), nil
}

func (m *Room) shown(h *webhook.Hook) shape.Webhook {
	w := shape.Webhook{
		ID: h.ID, URL: h.URL, Status: string(h.Status), StatusReason: h.Reason, CreatedAt: h.Created.Unix(),
		Name: h.Name, Description: h.Description, EventType: string(h.Kind()), Network: h.Network,
	}
	if h.Kind() != webhook.AddressActivity {
		w.ChainID, w.Metadata = h.On.String(), m.primaryMetadata(h)
		return w
	}
	w.ChainID = h.Chain.String()
	for _, c := range m.EVM.Chains() {
		if c.ID() == h.Chain {
			w.ChainID = c.Info.ChainID
		}
	}
	w.Metadata.Addresses = addressTexts(h.Addresses)
	w.IncludeInternalTxs, w.IncludeLogs = &h.Internal, new(bool)
	return w
}

// addressTexts returns addresses as text.
func addressTexts(list []evm.Address) []shape.Address {
	out := make([]shape.Address, len(list))
	for i := range list {
		out[i] = shape.Address(list[i].String())
	}
	return out
}

// create makes a webhook.
func (c *call) create() (any, error) {
	var r shape.WebhookRequest
	if err := c.read(&r); err != nil {
		return nil, err
	}
	n := webhook.Hook{Client: c.client, Type: webhook.Type(r.EventType), URL: r.URL, Name: r.Name, Description: r.Description}
	switch {
	case n.Type != webhook.AddressActivity && n.Type.Subs() == nil:
		return nil, door.BadRequest("eventType must be " + strings.Join(hookTypes, ", ") + ", not " + door.Excerpt([]byte(r.EventType)))
	case r.IncludeLogs:
		return nil, door.BadRequest("includeLogs is not possible: logs are not kept; transfers are part of what is delivered")
	case len(r.Metadata.EventSignatures) > 0:
		return nil, door.BadRequest("metadata.eventSignatures is not possible: logs are not kept")
	case r.URL == "":
		return nil, door.BadRequest("url is required")
	}
	if err := errors.Join(checkText("name", r.Name), checkText("description", r.Description)); err != nil {
		return nil, err
	}
	read := c.selectPrimary
	if n.Type == webhook.AddressActivity {
		read = c.selectAccounts
	}
	if err := read(&r, &n); err != nil {
		return nil, err
	}
	ctx, cancel := c.wait()
	defer cancel()
	return c.show(c.room.Webhooks.Create(ctx, n))
}

// hookTypes are the types of webhooks.
var hookTypes = []string{string(webhook.AddressActivity), string(webhook.PrimaryActivity), string(webhook.ValidatorActivity)}

// selectAccounts reads what a webhook on a chain of the EVM is about.
func (c *call) selectAccounts(r *shape.WebhookRequest, n *webhook.Hook) (err error) {
	if r.ChainID == "" {
		return door.BadRequest("chainId is required")
	}
	on, ok := c.room.EVM.Chain(r.ChainID)
	if !ok {
		return evmapi.NoChain([]byte(r.ChainID))
	}
	if number := on.Info.ChainID; !c.p.Client.Permits(number) {
		return &door.Failure{Status: fasthttp.StatusForbidden, Message: "the API key does not permit chain " + number}
	}
	n.Chain, n.Internal = on.ID(), r.IncludeInternalTxs
	n.Addresses, err = addAddresses(nil, r.Metadata.Addresses)
	return err
}

// checkText bounds what clients call their webhooks.
func checkText(name, s string) error {
	if len(s) > 1024 {
		return door.BadRequest(name + " is longer than 1,024 bytes")
	}
	return nil
}

// addAddresses adds those that are not in a list yet.
func addAddresses(list []evm.Address, more []shape.Address) ([]evm.Address, error) {
	for _, text := range more {
		var a evm.Address
		if !door.ParseAddress([]byte(text), &a) {
			return nil, door.BadRequest("addresses has an item that " + door.NotAddress([]byte(text)))
		}
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	if len(more) == 0 || len(list) > webhook.MaxAddresses {
		return nil, door.BadRequest("addresses must have at least one, and a webhook has at most 100")
	}
	return list, nil
}

func (c *call) id() string { return string(c.p.Get("webhookId")) }

func (c *call) one() (any, error) {
	return c.show(c.room.Webhooks.Get(c.client, c.id()))
}

func (c *call) remove() (any, error) {
	ctx, cancel := c.wait()
	defer cancel()
	return c.show(c.room.Webhooks.Delete(ctx, c.client, c.id()))
}

// edit changes a webhook.
func (c *call) edit(change func(n *webhook.Hook) error) (any, error) {
	ctx, cancel := c.wait()
	defer cancel()
	return c.show(c.room.Webhooks.Update(ctx, c.client, c.id(), change))
}

func (c *call) update() (any, error) {
	var r shape.WebhookChange
	if err := c.read(&r); err != nil {
		return nil, err
	}
	if r.IncludeLogs != nil && *r.IncludeLogs {
		return nil, door.BadRequest("includeLogs is not possible: logs are not kept")
	}
	return c.edit(func(n *webhook.Hook) error {
		set(&n.Name, r.Name)
		set(&n.Description, r.Description)
		set(&n.URL, r.URL)
		if r.IncludeInternalTxs != nil {
			if err := ofAccounts(n, "includeInternalTxs"); err != nil {
				return err
			}
			n.Internal = *r.IncludeInternalTxs
		}
		if r.Status != nil {
			if n.Status = webhook.Status(*r.Status); n.Status != webhook.Active && n.Status != webhook.Inactive {
				return door.BadRequest("status must be active or inactive, not " + door.Excerpt([]byte(*r.Status)))
			}
		}
		return errors.Join(checkText("name", n.Name), checkText("description", n.Description))
	})
}

// set changes a value if there is another.
func set[T any](to, v *T) {
	if v != nil {
		*to = *v
	}
}

// ofAccounts refuses to change, or to list, what only webhooks of accounts have: as the
// SDKs say it is possible of those alone.
func ofAccounts(n *webhook.Hook, what string) error {
	if n.Kind() != webhook.AddressActivity {
		return door.BadRequest(what + ": only webhooks of " + string(webhook.AddressActivity) + " have them; this one is of " + string(n.Kind()) + ", and what it is about is in its metadata")
	}
	return nil
}

func (c *call) addAddresses() (any, error) {
	var r shape.AddressesChange
	if err := c.read(&r); err != nil {
		return nil, err
	}
	return c.edit(func(n *webhook.Hook) (err error) {
		if err := ofAccounts(n, "addresses"); err != nil {
			return err
		}
		n.Addresses, err = addAddresses(n.Addresses, r.Addresses)
		return err
	})
}

func (c *call) dropAddresses() (any, error) {
	var r shape.AddressesChange
	if err := c.read(&r); err != nil {
		return nil, err
	}
	return c.edit(func(n *webhook.Hook) error {
		if err := ofAccounts(n, "addresses"); err != nil {
			return err
		}
		gone, err := addAddresses(nil, r.Addresses)
		if err != nil {
			return err
		}
		if n.Addresses = slices.DeleteFunc(n.Addresses, func(a evm.Address) bool { return slices.Contains(gone, a) }); len(n.Addresses) == 0 {
			return door.BadRequest("a webhook has at least one address; delete it instead")
		}
		return nil
	})
}

// after returns what follows in a list on the item that the page token names.
func (c *call) after(names []string, of string) (from int, filters token.Filters, err error) {
	filters = token.HashFilters([]byte(c.client + "\x00" + of))
	if c.q.PageToken == nil {
		return 0, filters, nil
	}
	t, err := c.room.desk.Tokens.Parse(nil, c.q.PageToken, c.route.ID, filters)
	if err != nil {
		return 0, filters, door.BadRequest("pageToken is not valid: " + err.Error())
	}
	return slices.Index(names, string(t.Position)) + 1, filters, nil // 0 if that one is gone
}

// page cuts a list to a page.
func (c *call) page(names []string, of string) (from, to int, next string, err error) {
	from, filters, err := c.after(names, of)
	if err != nil {
		return 0, 0, "", err
	}
	if to = min(from+c.q.PageSize, len(names)); to < len(names) {
		next = string(c.room.desk.Tokens.Append(nil, &token.Token{Route: c.route.ID, Filters: filters, Position: []byte(names[to-1])}))
	}
	return from, to, next, nil
}

func (c *call) list() (any, error) {
	all, err := c.room.Webhooks.List(c.client)
	if err != nil {
		return nil, err
	}
	if c.own.status != "" {
		all = slices.DeleteFunc(all, func(h webhook.Hook) bool { return string(h.Status) != c.own.status })
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].ID
	}
	from, to, next, err := c.page(names, c.own.status)
	if err != nil {
		return nil, err
	}
	out := shape.Webhooks{Webhooks: []shape.Webhook{}}
	out.NextPageToken = next
	for i := from; i < to; i++ {
		out.Webhooks = append(out.Webhooks, c.room.shown(&all[i]))
	}
	return out, nil
}

func (c *call) addresses() (any, error) {
	h, err := c.room.Webhooks.Get(c.client, c.id())
	if err != nil {
		return nil, err
	}
	if err := ofAccounts(&h, "addresses"); err != nil {
		return nil, err
	}
	list := addressTexts(h.Addresses)
	slices.SortFunc(list, func(a, b shape.Address) int { return strings.Compare(string(a), string(b)) })
	names := make([]string, len(list))
	for i := range list {
		names[i] = string(list[i])
	}
	from, to, next, err := c.page(names, h.ID)
	if err != nil {
		return nil, err
	}
	out := shape.WebhookAddresses{Addresses: list[from:to], TotalAddresses: len(list)}
	out.NextPageToken = next
	return out, nil
}

func (c *call) secret() (any, error) {
	s, err := c.room.Webhooks.Secret(c.client)
	if errors.Is(err, webhook.ErrNotFound) {
		return nil, door.NotFound("there is no secret yet; POST /v1/webhooks:generateOrRotateSharedSecret makes one")
	}
	return shape.SharedSecret{Secret: s}, err
}

func (c *call) rotate() (any, error) {
	ctx, cancel := c.wait()
	defer cancel()
	s, err := c.room.Webhooks.Rotate(ctx, c.client)
	return shape.SharedSecret{Secret: s}, err
}
