package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
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
	// operationFile is what follows the path of an operation to its file.
	operationFile = "/file"
	// acceptTime bounds the wait for an export's commit.
	acceptTime = 10 * time.Second
	// quotaRetry is when asking again makes sense for a client with too many exports.
	quotaRetry = 30 * time.Second
)

// operationRoutes are those of endpoint 3.
func operationRoutes(s *Server) []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodPost, Pattern: "/v1/operations/transactions:export", Units: door.UnitsLarge,
			Doc: "starts an export of the transactions of addresses",
			Off: s.cfg.Operations == nil || s.cfg.Chains == nil, Owned: true, Answer: shape.Operation{}, Body: shape.ExportRequest{}, Status: fasthttp.StatusCreated, Make: door.Plain(s.exportTransactions),
		},
		{
			Method: fasthttp.MethodGet, Pattern: operationPattern, Units: door.UnitsFree,
			Doc: "returns how far an export is, and where its file is",
			Off: s.cfg.Operations == nil || s.cfg.Chains == nil, Owned: true, Answer: shape.Operation{}, Make: door.Plain(s.getOperation),
		},
		{
			Method: fasthttp.MethodGet, Pattern: operationPattern + operationFile, Units: door.UnitsMedium, Key: door.KeyNever,
			Doc:   "returns the file of an export, at the address in its downloadUrl",
			Query: downloadParams,
			Off:   s.cfg.Operations == nil || s.cfg.Chains == nil, Owned: true, Answer: shape.Binary, Make: door.Plain(s.downloadExport),
		},
	}
}

// exportTransactions is endpoint 3.
func (s *Server) exportTransactions(ctx *fasthttp.RequestCtx, p door.Params) {
	op, f := s.acceptExport(ctx, &p)
	if f != nil {
		door.Fail(ctx, f)
		return
	}
	s.answerOperation(ctx, fasthttp.StatusCreated, &op)
}

func (s *Server) acceptExport(ctx *fasthttp.RequestCtx, p *door.Params) (op operation.Operation, f *door.Failure) {
	if f := door.CheckJSON(ctx); f != nil {
		return op, f
	}
	var rest door.Ignored
	var forbidden string // a chain that the client's key is not good for
	req, err := parseExport(ctx.Request.Body(), func(name string) (chain.ID, bool) {
		c, ok := s.cfg.Chains.Chain(name)
		if !ok {
			return chain.ID{}, false
		}
		if number := c.Info().ChainID; !p.Client.Permits(number) {
			forbidden = number
		}
		return c.ID(), true
	}, &rest)
	rest.Tell(ctx)
	if err != nil {
		return op, door.AsFailure(err)
	}
	if forbidden != "" {
		return op, &door.Failure{Status: fasthttp.StatusForbidden, Message: "the API key does not permit chain " + forbidden}
	}
	req.Client = p.Client.String()
	wait, cancel := context.WithTimeout(s.work, acceptTime)
	defer cancel()
	if op, err = s.cfg.Operations.Create(wait, req); err != nil {
		return op, s.operationFailure(err)
	}
	return op, nil
}

// operationFailure maps a refusal to an answer. What the client's own number of exports
// is the cause of is a 429, all else that passes a 503: both SDKs then ask again.
func (s *Server) operationFailure(err error) *door.Failure {
	var e *operation.Error
	if !errors.As(err, &e) {
		s.log.Error("an export was not accepted", "err", err)
		return &door.Failure{Status: fasthttp.StatusServiceUnavailable, Message: "the export cannot be accepted now", RetryAfter: door.DefaultRetry}
	}
	switch e.Kind {
	case operation.Unknown:
		return door.BadRequest(e.Msg)
	case operation.Quota:
		return &door.Failure{Status: fasthttp.StatusTooManyRequests, Message: e.Msg, RetryAfter: quotaRetry}
	case operation.NotIndexed, operation.Busy, operation.NoRoom, operation.Stopping:
	}
	return &door.Failure{Status: fasthttp.StatusServiceUnavailable, Message: e.Msg, RetryAfter: door.DefaultRetry}
}

// findOperation returns the operation of a path.
func (s *Server) findOperation(p *door.Params) (op operation.Operation, f *door.Failure) {
	op, found, err := s.cfg.Operations.Get(string(p.Get("operationId")))
	switch {
	case err != nil:
		return op, s.operationFailure(err)
	case !found:
		return op, &door.Failure{Status: fasthttp.StatusNotFound, Message: "operation " + door.Excerpt(p.Get("operationId")) + " does not exist, or is no longer kept"}
	}
	return op, nil
}

// getOperation answers how far an operation is.
func (s *Server) getOperation(ctx *fasthttp.RequestCtx, p door.Params) {
	op, f := s.findOperation(&p)
	if f != nil {
		door.Fail(ctx, f)
		return
	}
	s.answerOperation(ctx, fasthttp.StatusOK, &op)
}

// answerOperation writes an operation. What is not known is left out: the SDKs refuse
// empty codes.
func (s *Server) answerOperation(ctx *fasthttp.RequestCtx, status int, op *operation.Operation) {
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
			text("downloadUrl", s.downloadURL(op.ID, time.Now()))
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

// downloadURL returns an address of a file that nobody can guess, and that ends.
func (s *Server) downloadURL(id string, now time.Time) string {
	expires := strconv.FormatInt(now.Add(s.cfg.DownloadTime).Unix(), 10)
	return s.cfg.PublicURL + "/v1/operations/" + id + operationFile + "?expires=" + expires + "&signature=" + s.sign(id, expires)
}

// sign returns the signature of an address of a file.
func (s *Server) sign(id, expires string) string {
	h := hmac.New(sha256.New, s.cfg.TokenKey)
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
func (s *Server) mayDownload(ctx *fasthttp.RequestCtx, id string) *door.Failure {
	var q door.Query
	if f := q.Parse(ctx.URI().QueryString(), downloadParams, door.PageSize{}); f != nil {
		return f
	}
	args := ctx.QueryArgs()
	expires, signature := args.Peek("expires"), args.Peek("signature")
	if !hmac.Equal(signature, []byte(s.sign(id, string(expires)))) {
		return &door.Failure{Status: fasthttp.StatusForbidden, Message: "this is no address of a file: use the downloadUrl of the operation"}
	}
	end, err := strconv.ParseInt(string(expires), 10, 64)
	if err != nil || time.Now().Unix() >= end {
		return &door.Failure{Status: fasthttp.StatusForbidden, Message: "the address of the file has expired: ask the operation for a new one"}
	}
	return nil
}

// downloadExport sends the file of an operation, or a range of it.
func (s *Server) downloadExport(ctx *fasthttp.RequestCtx, p door.Params) {
	id := string(p.Get("operationId"))
	if f := s.mayDownload(ctx, id); f != nil {
		door.Fail(ctx, f)
		return
	}
	op, f := s.findOperation(&p)
	if f != nil {
		door.Fail(ctx, f)
		return
	}
	file, err := s.cfg.Operations.Open(id)
	if errors.Is(err, fs.ErrNotExist) {
		door.Fail(ctx, &door.Failure{Status: fasthttp.StatusNotFound, Message: "the file of this operation is not there, or no longer"})
		return
	}
	if err == nil {
		err = s.sendFile(ctx, &p, &op, file)
	}
	if err != nil {
		s.log.Error("the file of an export cannot be read", "id", id, "err", err)
		door.Fail(ctx, &door.Failure{Status: fasthttp.StatusInternalServerError, Message: "internal error"})
	}
}
