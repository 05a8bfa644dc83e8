package rpc

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/engine/health"
)

const (
	// maxTags bounds the tags of one request.
	maxTags = 1024
	// maxTagsTold bounds the unknown tags that an answer names.
	maxTagsTold = 8
	// headerUnknownTag names tags of the request that no check has. Their report
	// looks as healthy as one that hides nothing, and a tag is easily misspelt.
	headerUnknownTag = "Quorate-Unknown-Tag"
)

type tagParams struct {
	Tags []string `json:"tags" doc:"optional"`
}

func (p *tagParams) check() error {
	if len(p.Tags) > maxTags {
		return fmt.Errorf("there are %d tags, more than %d", len(p.Tags), maxTags)
	}
	return nil
}

func healthMethods() []method {
	const report = "checks: {name: result}, healthy: boolean"
	return []method{
		define("health", "health", report, "returns the last results of all checks, or of the global ones and those of the tags",
			tagged(Health.Health)),
		define("health", "liveness", report, "answers, without any check",
			tagged(func(h Health, _ []string) health.Report { return h.Liveness() })),
		define("health", "readiness", report, "returns the last results of the checks of the start",
			tagged(Health.Readiness)),
	}
}

// tagged makes a method of a report.
func tagged(report func(Health, []string) health.Report) func(*Service, context.Context, *tagParams) (any, error) {
	return func(s *Service, _ context.Context, p *tagParams) (any, error) {
		if err := p.check(); err != nil {
			return nil, err
		}
		return report(s.cfg.Health, p.Tags), nil
	}
}

// health answers at /ext/health and below: reports to GET and HEAD, and JSON-RPC
// to POST, which the sub-paths do not have.
func (s *Service) health(ctx *fasthttp.RequestCtx, k kind) {
	switch {
	case ctx.IsGet() || ctx.IsHead():
		s.healthReport(ctx, k)
	case k == healthAll:
		s.call(ctx, "health")
	default:
		ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, HEAD")
		answerText(ctx, fasthttp.StatusMethodNotAllowed, "health is read with GET, received "+excerpt(string(ctx.Method()))+"\n")
	}
}

func (s *Service) healthReport(ctx *fasthttp.RequestCtx, k kind) {
	p := tagParams{queryTags(ctx)}
	if err := p.check(); err != nil {
		answerText(ctx, fasthttp.StatusBadRequest, err.Error()+"\n")
		return
	}
	var report health.Report
	switch k {
	case healthReadiness:
		report = s.cfg.Health.Readiness(p.Tags)
	case healthLiveness:
		report = s.cfg.Health.Liveness()
	default:
		report = s.cfg.Health.Health(p.Tags)
	}
	header := &ctx.Response.Header
	header.SetContentType(contentJSON)
	// Neither a proxy nor a browser may show an old report.
	header.Set(fasthttp.HeaderCacheControl, "no-store")
	tellUnknownTags(ctx, &report)
	if !report.Healthy {
		ctx.Response.SetStatusCode(fasthttp.StatusServiceUnavailable)
	}
	ctx.Response.SwapBody(append(report.AppendJSON(ctx.Response.SwapBody(nil)[:0]), '\n'))
}

// queryTags returns the values of all parameters called tag. A pair with a broken
// escape is left out, as a node does it.
func queryTags(ctx *fasthttp.RequestCtx) []string {
	query := ctx.URI().QueryString()
	if len(query) == 0 {
		return nil
	}
	values, _ := url.ParseQuery(string(query)) // what can be read is given along with the error
	return values["tag"]
}

// tellUnknownTags names the tags in a header. They are texts that a client chose.
func tellUnknownTags(ctx *fasthttp.RequestCtx, report *health.Report) {
	if len(report.UnknownTags) == 0 {
		return
	}
	var b strings.Builder
	for i, tag := range report.UnknownTags {
		if i == maxTagsTold {
			b.WriteString(", ...")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if tag == "" {
			b.WriteString(`""`)
		}
		b.WriteString(url.QueryEscape(clip(tag, 128)))
	}
	ctx.Response.Header.Set(headerUnknownTag, b.String())
}
