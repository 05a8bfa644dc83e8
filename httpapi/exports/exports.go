// Package exports answers about exports of transactions to files: endpoint 3 and what follows
// on it.
package exports

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/archive/vfs"
	"quorate/engine/chain"
	"quorate/engine/operation"
	"quorate/httpapi/door"
	"quorate/httpapi/openapi"
	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

// Operations accepts exports and knows how far they are, as *operation.Exports does.
type Operations interface {
	Create(ctx context.Context, req operation.Request) (operation.Operation, error)
	Get(id string) (operation.Operation, bool, error)
	// Open opens the file of an operation that has one; the caller closes it.
	Open(id string) (vfs.File, error)
}

const (
	operationPattern = "/v1/operations/{operationId}"
	// FilePath is what follows the path of an operation to its file.
	FilePath = "/file"
	// acceptTime bounds the wait for an export's commit.
	acceptTime = 10 * time.Second
)

// Room answers what is asked of exports.
type Room struct {
	// Operations writes exports; nil serves none.
	Operations Operations
	// Chain finds a chain by any of its names; nil serves none.
	Chain func(name string) (number string, id chain.ID, ok bool)
	// PublicURL is the address of this server as clients know it: that of files is told
	// with it. It is good for DownloadTime, and signed with the first of Keys; those of all
	// are taken.
	PublicURL    string
	DownloadTime time.Duration
	Keys         [][]byte
	// WriteTimeout bounds the sending of an answer, of a file beside what its length takes.
	WriteTimeout time.Duration
	// Owe changes the price of a request once its answer is known.
	Owe func(ctx *fasthttp.RequestCtx, p *door.Params, units int)
	// Work is the context of all requests. Stopped is closed when the server stops; what
	// writes then ends at LastWrites.
	Work       context.Context
	Stopped    <-chan struct{}
	LastWrites func() time.Time
	Log        *slog.Logger
}

// Routes are those of endpoint 3.
func (x *Room) Routes() []door.Route {
	off := x.Operations == nil || x.Chain == nil
	return []door.Route{
		{
			Method: fasthttp.MethodPost, Pattern: "/v1/operations/transactions:export", Units: door.UnitsLarge,
			Doc: "starts an export of the transactions of addresses",
			Off: off, Owned: true, Home: true, Answer: shape.Operation{}, Body: shape.ExportRequest{}, Status: fasthttp.StatusCreated, Make: door.Plain(x.exportTransactions),
		},
		{
			Method: fasthttp.MethodGet, Pattern: operationPattern, Units: door.UnitsFree,
			Doc: "returns how far an export is, and where its file is",
			Off: off, Owned: true, Home: true, Answer: shape.Operation{}, Make: door.Plain(x.getOperation),
		},
		{
			Method: fasthttp.MethodGet, Pattern: operationPattern + FilePath, Units: door.UnitsMedium, Key: door.KeyNever,
			Doc:   "returns the file of an export, at the address in its downloadUrl",
			Query: downloadParams,
			Off:   off, Owned: true, Home: true, Answer: shape.Binary, Make: door.Plain(x.downloadExport),
		},
	}
}

// exportTransactions is endpoint 3.
func (x *Room) exportTransactions(ctx *fasthttp.RequestCtx, p door.Params) {
	op, f := x.acceptExport(ctx, &p)
	if f != nil {
		door.Fail(ctx, f)
		return
	}
	x.answerOperation(ctx, fasthttp.StatusCreated, &op)
}

func (x *Room) acceptExport(ctx *fasthttp.RequestCtx, p *door.Params) (op operation.Operation, f *door.Failure) {
	if f := door.CheckJSON(ctx); f != nil {
		return op, f
	}
	var rest door.Ignored
	var forbidden string // a chain that the client's key is not good for
	req, err := ParseExport(ctx.Request.Body(), func(name string) (chain.ID, bool) {
		number, id, ok := x.Chain(name)
		if !ok {
			return chain.ID{}, false
		}
		if !p.Client.Permits(number) {
			forbidden = number
		}
		return id, true
	}, &rest)
	rest.Tell(ctx)
	if err != nil {
		return op, door.AsFailure(err)
	}
	if forbidden != "" {
		return op, &door.Failure{Status: fasthttp.StatusForbidden, Message: "the API key does not permit chain " + forbidden}
	}
	req.Client = p.Client.String()
	wait, cancel := context.WithTimeout(x.Work, acceptTime)
	defer cancel()
	if op, err = x.Operations.Create(wait, req); err != nil {
		return op, x.operationFailure(err)
	}
	return op, nil
}

// operationFailure maps a refusal to an answer. What the client's own number of exports
// is the cause of is a 429, all else that passes a 503: both SDKs then ask again.
func (x *Room) operationFailure(err error) *door.Failure {
	var e *operation.Error
	if !errors.As(err, &e) {
		x.Log.Error("an export was not accepted", "err", err)
		return door.Unavailable("the export cannot be accepted now")
	}
	switch e.Kind {
	case operation.Unknown:
		return door.BadRequest(e.Msg)
	case operation.Quota:
		return &door.Failure{Status: fasthttp.StatusTooManyRequests, Message: e.Msg, RetryAfter: door.QuotaRetry}
	case operation.NotIndexed, operation.Busy, operation.NoRoom, operation.Stopping:
	}
	return door.Unavailable(e.Msg)
}

// findOperation returns the operation of a path.
func (x *Room) findOperation(p *door.Params) (op operation.Operation, f *door.Failure) {
	op, found, err := x.Operations.Get(string(p.Get("operationId")))
	switch {
	case err != nil:
		return op, x.operationFailure(err)
	case !found:
		return op, door.NotFound("operation " + door.Excerpt(p.Get("operationId")) + " does not exist, or is no longer kept")
	}
	return op, nil
}

// getOperation answers how far an operation is.
func (x *Room) getOperation(ctx *fasthttp.RequestCtx, p door.Params) {
	op, f := x.findOperation(&p)
	if f != nil {
		door.Fail(ctx, f)
		return
	}
	x.answerOperation(ctx, fasthttp.StatusOK, &op)
}

// answerOperation writes an operation. What is not known is left out: the SDKs refuse
// empty codes.
func (x *Room) answerOperation(ctx *fasthttp.RequestCtx, status int, op *operation.Operation) {
	ctx.Response.SetStatusCode(status)
	ctx.Response.Header.SetContentType(door.ContentJSON)
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	w := view.Writer{B: ctx.Response.SwapBody(nil)[:0]}
	w.Raw("{")
	text := func(name, value string) {
		if value != "" {
			w.Member(name)
			w.B = view.AppendString(w.B, value)
		}
	}
	text("operationId", op.ID)
	text("operationType", typeEVM)
	text("operationStatus", string(op.Status))
	text("message", op.Message)
	if op.Over() {
		w.Member("metadata")
		w.Raw("{")
		text("code", string(op.Code))
		if op.HasFile() {
			text("downloadUrl", x.DownloadURL(op.ID, time.Now()))
		}
		if op.Next > 0 {
			text("nextDate", operation.FormatTime(op.Next))
		}
		w.Raw("}")
	} else {
		w.Member("progress")
		w.B = strconv.AppendFloat(w.B, op.Progress, 'f', 3, 64)
	}
	text("rowCount", strconv.FormatInt(op.Rows, 10))
	w.Member("createdAtTimestamp")
	w.B = strconv.AppendInt(w.B, op.Created.Unix(), 10)
	w.Member("updatedAtTimestamp")
	w.B = strconv.AppendInt(w.B, op.Updated.Unix(), 10)
	w.Raw("}")
	ctx.Response.SwapBody(w.B)
}

// DownloadURL returns an address of a file that nobody can guess, and that ends.
func (x *Room) DownloadURL(id string, now time.Time) string {
	expires := strconv.FormatInt(now.Add(x.DownloadTime).Unix(), 10)
	return x.PublicURL + "/v1/operations/" + id + FilePath + "?expires=" + expires + "&signature=" + sign(x.Keys[0], id, expires)
}

// sign returns the signature of an address of a file.
func sign(key []byte, id, expires string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("quorate export file\x00" + id + "\x00" + expires)) // never fails
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// downloadParams are those of the address of a file.
var downloadParams = []door.Param{
	{
		Name: "expires", Doc: "the end of the address, in Unix time", Schema: &openapi.Schema{Type: "string", MinLength: 1},
		Set: func(*door.Query, []byte) string { return "" },
	},
	{
		Name: "signature", Doc: "that of the server", Schema: &openapi.Schema{Type: "string", MinLength: 1},
		Set: func(*door.Query, []byte) string { return "" },
	},
}

// mayDownload says why an address of a file is not good, nil if it is.
func (x *Room) mayDownload(ctx *fasthttp.RequestCtx, id string) *door.Failure {
	var q door.Query
	if f := q.Parse(ctx.URI().QueryString(), downloadParams, door.PageSize{}); f != nil {
		return f
	}
	args := ctx.QueryArgs()
	expires, signature := args.Peek("expires"), args.Peek("signature")
	if !slices.ContainsFunc(x.Keys, func(key []byte) bool { return hmac.Equal(signature, []byte(sign(key, id, string(expires)))) }) {
		return &door.Failure{Status: fasthttp.StatusForbidden, Message: "this is no address of a file: use the downloadUrl of the operation"}
	}
	end, err := strconv.ParseInt(string(expires), 10, 64)
	if err != nil || time.Now().Unix() >= end {
		return &door.Failure{Status: fasthttp.StatusForbidden, Message: "the address of the file has expired: ask the operation for a new one"}
	}
	return nil
}

// downloadExport sends the file of an operation, or a range of it.
func (x *Room) downloadExport(ctx *fasthttp.RequestCtx, p door.Params) {
	id := string(p.Get("operationId"))
	if f := x.mayDownload(ctx, id); f != nil {
		door.Fail(ctx, f)
		return
	}
	op, f := x.findOperation(&p)
	if f != nil {
		door.Fail(ctx, f)
		return
	}
	file, err := x.Operations.Open(id)
	if errors.Is(err, fs.ErrNotExist) {
		door.Fail(ctx, door.NotFound("the file of this operation is not there, or no longer"))
		return
	}
	if err == nil {
		err = x.sendFile(ctx, &p, &op, file)
	}
	if err != nil {
		x.Log.Error("the file of an export cannot be read", "id", id, "err", err)
		door.Fail(ctx, door.Internal())
	}
}
