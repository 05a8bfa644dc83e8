package httpapi

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/view"
)

// relayerPath is the drop-in for the relayer's own aggregator, with error
// bodies of its own.
const relayerPath = "/aggregate-signatures"

const contentJSON = "application/json"

// defaultRetry is when asking again makes sense if the aggregator does not say.
const defaultRetry = 5 * time.Second

// failure is an answer other than success.
type failure struct {
	status int
	// message is a clear sentence. Input in it went through excerpt.
	message string
	// retryAfter, if not 0, is when asking again makes sense.
	retryAfter time.Duration
}

func badRequest(message string) *failure {
	return &failure{status: fasthttp.StatusBadRequest, message: message}
}

// Error makes a failure usable as an error.
func (f *failure) Error() string { return f.message }

// fail answers with f in the form that clients of the path know. It is the only
// place that writes errors.
func fail(ctx *fasthttp.RequestCtx, f *failure) {
	ctx.Response.ResetBody()
	ctx.Response.SetStatusCode(f.status)
	ctx.Response.Header.SetContentType(contentJSON)
	if f.retryAfter > 0 {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, retrySeconds(f.retryAfter))
	}
	body := ctx.Response.SwapBody(nil)[:0]
	switch {
	case isRelayer(ctx):
		body = appendRelayerError(body, f.message)
	case isAvgTPS(ctx):
		body = appendListError(body, f.status, f.message)
	default:
		body = appendError(body, f.status, f.message)
	}
	ctx.Response.SwapBody(body)
}

// isRelayer looks at the path as it was sent: a request may have failed before
// its path was parsed.
func isRelayer(ctx *fasthttp.RequestCtx) bool {
	path, _, _ := bytes.Cut(ctx.Request.Header.RequestURI(), []byte("?"))
	return string(path) == relayerPath
}

// isAvgTPS reports whether the path as it was sent is that of endpoint 19 or
// below it, however it is encoded.
func isAvgTPS(ctx *fasthttp.RequestCtx) bool {
	path, _, _ := bytes.Cut(ctx.Request.Header.RequestURI(), []byte("?"))
	if _, rest, ok := bytes.Cut(path, []byte("://")); ok && path[0] != '/' {
		path = rest[max(0, bytes.IndexByte(rest, '/')):] // without the host
	}
	for _, want := range [...]string{"", "v1", "avg_tps"} {
		var seg []byte
		seg, path, _ = bytes.Cut(path, slash)
		if got, ok := unescape(seg); !ok || string(got) != want {
			return false
		}
	}
	return true
}

// appendError appends the documented body of an error.
func appendError(dst []byte, status int, message string) []byte {
	dst = append(dst, `{"message":`...)
	return appendStatus(view.AppendString(dst, message), status)
}

// appendListError appends the body of an error of endpoint 19, the only one whose
// message is a list.
func appendListError(dst []byte, status int, message string) []byte {
	dst = append(dst, `{"message":[`...)
	return appendStatus(append(view.AppendString(dst, message), ']'), status)
}

func appendStatus(dst []byte, status int) []byte {
	dst = append(dst, `,"statusCode":`...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, `,"error":`...)
	dst = view.AppendString(dst, fasthttp.StatusMessage(status))
	return append(dst, '}')
}

// appendRelayerError appends the drop-in's body of an error.
func appendRelayerError(dst []byte, message string) []byte {
	dst = append(dst, `{"error":`...)
	dst = view.AppendString(dst, message)
	return append(dst, '}')
}

// retrySeconds rounds up to whole seconds, at least one.
func retrySeconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}

// maxExcerpt bounds what an error message repeats of a request, in bytes.
const maxExcerpt = 100

// excerpt returns the start of a request's text for an error message, quoted,
// with what cannot be printed escaped.
func excerpt(b []byte) string {
	q := strconv.QuoteToASCII(string(b[:min(len(b), maxExcerpt)]))
	if len(q) <= maxExcerpt {
		return q
	}
	const end = `..."`
	return q[:maxExcerpt-len(end)] + end
}

// checkJSON refuses bodies that say of themselves that they are not JSON.
func checkJSON(ctx *fasthttp.RequestCtx) *failure {
	ct := ctx.Request.Header.ContentType()
	if string(ct) == contentJSON {
		ct = nil // nearly all
	}
	media, _, _ := bytes.Cut(ct, []byte(";"))
	media = bytes.TrimSpace(media)
	if len(ct) > 0 && !bytes.EqualFold(media, []byte(contentJSON)) {
		return badRequest("content type must be " + contentJSON + ", not " + excerpt(ct))
	}
	if enc := ctx.Request.Header.ContentEncoding(); len(enc) > 0 && !bytes.EqualFold(enc, []byte("identity")) {
		return badRequest("content encoding " + excerpt(enc) + " is not supported in requests")
	}
	return nil
}

// asFailure returns the failure that a parser returned.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return badRequest("the body is not a valid request")
}
