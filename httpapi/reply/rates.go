package reply

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/limit"
)

// The headers that tell a client what is left of its rate: those of the IETF's
// draft, as most services send them. Reset is in seconds. Policy is the rate by itself:
// 6000;w=60;burst=12000 are 6,000 units in 60 seconds, of which 12,000 may be saved.
const (
	HeaderRatePolicy    = "RateLimit-Policy"
	HeaderRateLimit     = "RateLimit-Limit"
	HeaderRateRemaining = "RateLimit-Remaining"
	HeaderRateReset     = "RateLimit-Reset"
)

// The same as they are sent.
var (
	rateLimitKey, rateRemainingKey, rateResetKey = canonical(HeaderRateLimit), canonical(HeaderRateRemaining), canonical(HeaderRateReset)
	ratePolicyKey                                = canonical(HeaderRatePolicy)
)

// canonical returns the form of a header's name in which it is sent.
func canonical(name string) []byte {
	return fasthttp.AppendNormalizedHeaderKey(nil, name)
}

// More takes what a request that was admitted costs beyond its first price, and returns why it
// is refused, nil if it is not. Requests that the server makes itself are paid for by its pages.
func (d *Desk) More(ctx *fasthttp.RequestCtx, p *door.Params, units int) *door.Failure {
	if units <= 0 || p.Forwarded || Own(ctx) {
		return nil
	}
	now := d.Limits.More(p.Client, p.Paid, units)
	p.Paid += units
	return Decided(ctx, &now)
}

// Decided tells the client what is left of its rate, and returns why a request is refused, nil
// if it is not.
func Decided(ctx *fasthttp.RequestCtx, d *limit.Decision) *door.Failure {
	if d.Limited {
		setPolicy(ctx, d)
		setNumber(ctx, rateLimitKey, d.Limit)
		setNumber(ctx, rateRemainingKey, d.Remaining)
		setNumber(ctx, rateResetKey, int64((d.Reset+time.Second-1)/time.Second))
	}
	if !d.Allow {
		return &door.Failure{Status: d.Status, Message: d.Message, RetryAfter: d.RetryAfter}
	}
	return nil
}

// Owe changes the price of a request by so many units once it is answered.
func (d *Desk) Owe(ctx *fasthttp.RequestCtx, p *door.Params, units int) {
	if d.Limits == nil || units == 0 || p.Forwarded || Own(ctx) {
		return
	}
	d.Limits.Owe(p.Client, units)
	p.Paid += units
	now := d.Limits.State(p.Client)
	_ = Decided(ctx, &now) // it allows
}

// setPolicy sets the header with the rate, without an allocation.
func setPolicy(ctx *fasthttp.RequestCtx, d *limit.Decision) {
	var room [64]byte
	b := append(strconv.AppendInt(room[:0], d.PerMinute, 10), ";w=60;burst="...)
	ctx.Response.Header.SetCanonical(ratePolicyKey, strconv.AppendInt(b, d.Limit, 10))
}

// setNumber sets a header, whose name is in canonical form, without an allocation.
func setNumber(ctx *fasthttp.RequestCtx, key []byte, n int64) {
	var digits [20]byte
	ctx.Response.Header.SetCanonical(key, strconv.AppendInt(digits[:0], n, 10))
}
