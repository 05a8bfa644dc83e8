// Package hooks answers about webhooks: those that clients have made, and the secret that
// signs what they deliver.
package hooks

import (
	"context"
	"errors"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/engine/webhook"
	"quorate/httpapi/door"
	"quorate/httpapi/evm"
	"quorate/httpapi/primary"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
)

// Webhooks keeps clients' webhooks and delivers, as *webhook.Hooks does. A client has
// its own alone.
type Webhooks interface {
	Create(ctx context.Context, n webhook.Hook) (webhook.Hook, error)
	List(client string) ([]webhook.Hook, error)
	Get(client, id string) (webhook.Hook, error)
	Update(ctx context.Context, client, id string, edit func(n *webhook.Hook) error) (webhook.Hook, error)
	Delete(ctx context.Context, client, id string) (webhook.Hook, error)
	// Secret returns what messages are signed with, Rotate makes another.
	Secret(client string) (string, error)
	Rotate(ctx context.Context, client string) (string, error)
}

const (
	hooksPattern = "/v1/webhooks"
	hookPattern  = hooksPattern + "/{webhookId}"

	// hookTime bounds the wait for a change's commit.
	hookTime = 10 * time.Second
)

// Room answers about webhooks. The zero value only has routes.
type Room struct {
	// Webhooks delivers to clients' servers; nil serves none.
	Webhooks Webhooks
	// EVM are the chains that webhooks may be of; nil serves none.
	EVM evm.Chains
	// Primary finds the primary networks that they may be of.
	Primary primary.Finder

	desk *reply.Desk
}

// Use readies the room for requests.
func (m *Room) Use(desk *reply.Desk) { m.desk = desk }

var paramStatus = door.Choice("status", "only those of this state", "", []string{"active", "inactive"}, func(q *door.Query, word string) { q.Own.(*Query).status = word })

// Routes are all that is served of webhooks.
func (m *Room) Routes() []door.Route {
	list := []door.Route{
		{
			Method: fasthttp.MethodPost, Pattern: hooksPattern, Units: door.UnitsMedium,
			Doc:    "makes a webhook, which delivers what happens to addresses",
			Answer: shape.Webhook{}, Body: shape.WebhookRequest{}, Status: fasthttp.StatusCreated, Refused: []int{fasthttp.StatusNotFound}, Make: m.on((*call).create),
		},
		{
			Method: fasthttp.MethodGet, Pattern: hooksPattern, Units: door.UnitsMedium,
			Doc: "lists the client's webhooks",
			ID:  121, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramStatus}, Size: reply.PagesOf100,
			Answer: shape.Webhooks{}, Make: m.on((*call).list),
		},
		{
			Method: fasthttp.MethodGet, Pattern: hookPattern, Units: door.UnitsFree,
			Doc:    "returns a webhook",
			Answer: shape.Webhook{}, Make: m.on((*call).one),
		},
		{
			Method: fasthttp.MethodPatch, Pattern: hookPattern, Units: door.UnitsMedium,
			Doc:    "changes a webhook",
			Answer: shape.Webhook{}, Body: shape.WebhookChange{}, Make: m.on((*call).update),
		},
		{
			Method: fasthttp.MethodDelete, Pattern: hookPattern, Units: door.UnitsMedium,
			Doc:    "deletes a webhook, and returns what it was",
			Answer: shape.Webhook{}, Make: m.on((*call).remove),
		},
		{
			Method: fasthttp.MethodGet, Pattern: hookPattern + "/addresses", Units: door.UnitsMedium,
			Doc: "lists the addresses of a webhook",
			ID:  122, Query: []door.Param{door.ParamPageToken, door.ParamPageSize}, Size: reply.PagesOf100,
			Answer: shape.WebhookAddresses{}, Make: m.on((*call).addresses),
		},
		{
			Method: fasthttp.MethodPatch, Pattern: hookPattern + "/addresses", Units: door.UnitsMedium,
			Doc:    "adds addresses to a webhook",
			Answer: shape.Webhook{}, Body: shape.AddressesChange{}, Make: m.on((*call).addAddresses),
		},
		{
			Method: fasthttp.MethodDelete, Pattern: hookPattern + "/addresses", Units: door.UnitsMedium,
			Doc:    "takes addresses from a webhook",
			Answer: shape.Webhook{}, Body: shape.AddressesChange{}, Make: m.on((*call).dropAddresses),
		},
		{
			Method: fasthttp.MethodPost, Pattern: "/v1/webhooks:generateOrRotateSharedSecret", Units: door.UnitsMedium,
			Doc:    "makes another secret for the signatures of messages",
			Answer: shape.SharedSecret{}, Status: fasthttp.StatusCreated, Make: m.on((*call).rotate),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v1/webhooks:getSharedSecret", Units: door.UnitsFree,
			Doc:    "returns the secret of the signatures of messages",
			Answer: shape.SharedSecret{}, Make: m.on((*call).secret),
		},
	}
	for i := range list {
		list[i].Off, list[i].Key = m.Webhooks == nil || m.EVM == nil, door.KeyAlways
		list[i].Owned, list[i].Home = true, true
	}
	return list
}

// call is a request about webhooks.
type call struct {
	room   *Room
	ctx    *fasthttp.RequestCtx
	route  *door.Route
	client string
	p      *door.Params
	q      door.Query
	own    Query
}

// Query holds the parameters that only routes of webhooks know.
type Query struct {
	status string // of the hooks that are listed, "" for all
}

// on makes the handler of a route. run returns the body.
func (m *Room) on(run func(c *call) (any, error)) door.Maker {
	return func(r *door.Route) door.Handler {
		return func(ctx *fasthttp.RequestCtx, p door.Params) {
			c := &call{room: m, ctx: ctx, route: r, client: p.Client.String(), p: &p}
			raw, f := c.serve(run)
			if f != nil {
				door.Fail(ctx, f)
				return
			}
			ctx.Response.SetStatusCode(r.Success())
			ctx.Response.Header.SetContentType(door.ContentJSON)
			ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
			ctx.Response.SetBodyRaw(raw)
		}
	}
}

// serve checks the request and returns the body.
func (c *call) serve(run func(c *call) (any, error)) ([]byte, *door.Failure) {
	c.q.Own = &c.own
	f := c.q.Parse(c.ctx.URI().QueryString(), c.route.Query, c.route.Size)
	c.q.Ignored.Tell(c.ctx)
	if f == nil && c.route.Body != nil {
		f = door.CheckJSON(c.ctx)
	}
	if f != nil {
		return nil, f
	}
	body, err := run(c)
	if err != nil {
		return nil, c.room.failure(err)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, c.room.failure(err)
	}
	return raw, nil
}

// failure maps a refusal to an answer.
func (m *Room) failure(err error) *door.Failure {
	var f *door.Failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, webhook.ErrURL):
		return door.BadRequest("url: " + err.Error())
	case errors.Is(err, webhook.ErrWatched):
		return door.BadRequest(err.Error())
	case errors.Is(err, webhook.ErrNotFound):
		return door.NotFound(err.Error())
	case errors.Is(err, webhook.ErrQuota):
		return &door.Failure{Status: fasthttp.StatusTooManyRequests, Message: err.Error(), RetryAfter: door.QuotaRetry}
	case errors.Is(err, webhook.ErrFull), errors.Is(err, webhook.ErrStopping), errors.Is(err, webhook.ErrChain):
		return door.Unavailable(err.Error())
	}
	m.desk.Log.Error("a webhook could not be changed", "err", err)
	return door.Unavailable("the webhook cannot be changed now: the database does not take it")
}

// wait returns a context for a commit.
func (c *call) wait() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.room.desk.Work, hookTime)
}

// read reads the body.
func (c *call) read(to any) error {
	if err := json.Unmarshal(c.ctx.Request.Body(), to); err != nil {
		return door.BadRequest("the body is not as it must be: " + door.Excerpt([]byte(err.Error())))
	}
	return nil
}
