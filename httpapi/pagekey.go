package httpapi

import (
	"cmp"
	"strings"

	"github.com/valyala/fasthttp"
)

// keyCookie has the API key of a browser: it opens pages and their streams of events
// without headers of its own.
const keyCookie = "quorate_key"

// setKey has the browser keep a key until it ends, or forget it if the key is empty. No
// script can read it. Other sites cannot have the browser send it with requests of
// their own, and a page that they lead to only shows data.
func (p *pages) setKey(ctx *fasthttp.RequestCtx, key string) {
	c := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(c)
	c.SetKey(keyCookie)
	c.SetValue(key)
	if key == "" {
		c.SetExpire(fasthttp.CookieExpireDelete)
	}
	c.SetPath(cmp.Or(p.s.pathPrefix(ctx), "/"))
	c.SetHTTPOnly(true)
	c.SetSameSite(fasthttp.CookieSameSiteLaxMode)
	c.SetSecure(strings.HasPrefix(p.s.address(ctx), "https:"))
	ctx.Response.Header.SetCookie(c)
}
