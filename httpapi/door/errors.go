package door

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/view"
)

// ContentJSON is the content type of nearly all bodies.
const ContentJSON = "application/json"

// DefaultRetry is when asking again makes sense if the aggregator does not say.
const DefaultRetry = 5 * time.Second

// QuotaRetry is when asking again makes sense for a client that has too much of something.
const QuotaRetry = 30 * time.Second

// Failure is an answer other than success.
type Failure struct {
	Status int
	// Message is a clear sentence. Input in it went through [Excerpt].
	Message string
	// RetryAfter, if not 0, is when asking again makes sense.
	RetryAfter time.Duration
}

// BadRequest is a failure of a request that is wrong in itself.
func BadRequest(message string) *Failure {
	return &Failure{Status: fasthttp.StatusBadRequest, Message: message}
}

// NotFound is a failure of a request for what is not there.
func NotFound(message string) *Failure {
	return &Failure{Status: fasthttp.StatusNotFound, Message: message}
}

// Internal is a failure that the log knows more of.
func Internal() *Failure {
	return &Failure{Status: fasthttp.StatusInternalServerError, Message: "internal error"}
}

// Unavailable is a failure that passes.
func Unavailable(message string) *Failure {
	return &Failure{Status: fasthttp.StatusServiceUnavailable, Message: message, RetryAfter: DefaultRetry}
}

// Error makes a failure usable as an error.
func (f *Failure) Error() string { return f.Message }

// Refusal is a form of errors.
type Refusal struct {
	// Body is a value of the type of the body, of package shape.
	Body any
	// Append appends the body.
	Append func(dst []byte, status int, message string) []byte
}

// failed is the key of the failure that a request is answered with.
type failed struct{}

// Failed returns the failure that a request is answered with, nil if it is none.
func Failed(ctx *fasthttp.RequestCtx) *Failure {
	if f, ok := ctx.UserValue(failed{}).(*Failure); ok && f.Status == ctx.Response.StatusCode() {
		return f
	}
	return nil
}

// Fail answers with f in the common form; the server in front brings it into the form of
// its route, see [Route.Refusal]. It is the only place that writes errors.
func Fail(ctx *fasthttp.RequestCtx, f *Failure) {
	ctx.SetUserValue(failed{}, f)
	ctx.Response.ResetBody()
	ctx.Response.SetStatusCode(f.Status)
	ctx.Response.Header.SetContentType(ContentJSON)
	if f.RetryAfter > 0 {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, RetrySeconds(f.RetryAfter))
	}
	body := ctx.Response.SwapBody(nil)[:0]
	if own, _ := ctx.UserValue(ErrorForm{}).(func(dst []byte, message string) []byte); own != nil {
		body = own(body, f.Message)
	} else {
		body = AppendError(body, f.Status, f.Message)
	}
	ctx.Response.SwapBody(body)
}

// ErrorForm is the key of a request's value with what appends errors in the form that its
// clients know.
type ErrorForm struct{}

// AppendError appends the documented body of an error.
func AppendError(dst []byte, status int, message string) []byte {
	dst = append(dst, `{"message":`...)
	return AppendStatus(view.AppendString(dst, message), status)
}

// AppendStatus appends what follows on the message in the documented body of an error.
func AppendStatus(dst []byte, status int) []byte {
	dst = append(dst, `,"statusCode":`...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, `,"error":`...)
	dst = view.AppendString(dst, fasthttp.StatusMessage(status))
	return append(dst, '}')
}

// RetrySeconds rounds up to whole seconds, at least one.
func RetrySeconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}

// MaxExcerpt bounds what an error message repeats of a request, in bytes.
const MaxExcerpt = 100

// Excerpt returns the start of a request's text for an error message, quoted,
// with what cannot be printed escaped.
func Excerpt(b []byte) string {
	q := strconv.QuoteToASCII(string(b[:min(len(b), MaxExcerpt)]))
	if len(q) <= MaxExcerpt {
		return q
	}
	const end = `..."`
	return q[:MaxExcerpt-len(end)] + end
}

// Enumerated joins names for a message.
func Enumerated(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// CheckJSON refuses bodies that say of themselves that they are not JSON.
func CheckJSON(ctx *fasthttp.RequestCtx) *Failure {
	ct := ctx.Request.Header.ContentType()
	if string(ct) == ContentJSON {
		ct = nil // nearly all
	}
	media, _, _ := bytes.Cut(ct, []byte(";"))
	media = bytes.TrimSpace(media)
	if len(ct) > 0 && !bytes.EqualFold(media, []byte(ContentJSON)) {
		return BadRequest("content type must be " + ContentJSON + ", not " + Excerpt(ct))
	}
	if enc := ctx.Request.Header.ContentEncoding(); len(enc) > 0 && !bytes.EqualFold(enc, []byte("identity")) {
		return BadRequest("content encoding " + Excerpt(enc) + " is not supported in requests")
	}
	return nil
}

// AsFailure returns the failure that a parser returned.
func AsFailure(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return BadRequest("the body is not a valid request")
}
