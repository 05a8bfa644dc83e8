package exports

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/archive/vfs"
	"quorate/engine/operation"
	"quorate/httpapi/door"
)

// FilePerUnit is how many bytes of a file a unit is good for: it only has to be copied.
const FilePerUnit = 256 << 10

// slowest is the rate in bytes a second below which a download is cut off: a client that
// does not read would hold its place. It can go on with a range.
const slowest = 32 << 10

// sendFile answers with a file, or the range of it that was asked for. It closes the
// file, if not at once then when it is sent. A long file costs more than its route.
func (x *Room) sendFile(ctx *fasthttp.RequestCtx, p *door.Params, op *operation.Operation, file vfs.File) error {
	size, err := file.Size()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	h := &ctx.Response.Header
	kind := "application/gzip"
	if op.Request.Compression == operation.Zstd {
		kind = "application/zstd"
	}
	tag := `"` + op.ID + `"` // a file never changes
	h.SetContentType(kind)
	h.Set(fasthttp.HeaderETag, tag)
	h.Set(fasthttp.HeaderAcceptRanges, "bytes")
	h.Set(fasthttp.HeaderCacheControl, "private, no-transform")
	h.Set(fasthttp.HeaderContentDisposition, `attachment; filename="`+op.FileName()+`"`)
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	from, length, status := rangeOf(&ctx.Request.Header, tag, size)
	switch status {
	case fasthttp.StatusRequestedRangeNotSatisfiable:
		h.Set(fasthttp.HeaderContentRange, "bytes */"+strconv.FormatInt(size, 10))
		door.Fail(ctx, &door.Failure{Status: status, Message: "the file has " + strconv.FormatInt(size, 10) + " bytes"})
		return file.Close()
	case fasthttp.StatusPartialContent:
		h.Set(fasthttp.HeaderContentRange, "bytes "+strconv.FormatInt(from, 10)+"-"+strconv.FormatInt(from+length-1, 10)+"/"+strconv.FormatInt(size, 10))
	}
	ctx.Response.SetStatusCode(status)
	d := &download{
		SectionReader: io.NewSectionReader(file, from, length), file: file, conn: ctx.Conn(), room: x,
		most: x.WriteTimeout + time.Duration(length/slowest)*time.Second, closed: make(chan struct{}),
	}
	ctx.Response.SetBodyStream(d, int(length))
	x.Owe(ctx, p, max(0, int(length/FilePerUnit)-p.Paid))
	return nil
}

// rangeOf returns the part of a file that a request asks for, and the status of the
// answer. Of a request with several ranges, or one that is malformed, it is all of it.
func rangeOf(h *fasthttp.RequestHeader, tag string, size int64) (from, length int64, status int) {
	want := h.Peek(fasthttp.HeaderRange)
	if cond := h.Peek(fasthttp.HeaderIfRange); len(cond) > 0 && string(cond) != tag {
		want = nil
	}
	spec, ok := bytes.CutPrefix(want, []byte("bytes="))
	if !ok || bytes.IndexByte(spec, ',') >= 0 {
		return 0, size, fasthttp.StatusOK
	}
	first, last, ok := bytes.Cut(bytes.TrimSpace(spec), []byte("-"))
	a, aGood := door.ParseUint(first)
	b, bGood := door.ParseUint(last)
	switch {
	case !ok, len(first) > 0 && !aGood, len(last) > 0 && !bGood, len(first)+len(last) == 0, aGood && bGood && a > b:
		return 0, size, fasthttp.StatusOK
	case !aGood: // the last b bytes
		from = max(0, size-int64(b))
		if b == 0 || size == 0 {
			return 0, 0, fasthttp.StatusRequestedRangeNotSatisfiable
		}
		return from, size - from, fasthttp.StatusPartialContent
	case int64(a) >= size:
		return 0, 0, fasthttp.StatusRequestedRangeNotSatisfiable
	case !bGood || int64(b) >= size:
		b = uint64(size - 1)
	}
	return int64(a), int64(b-a) + 1, fasthttp.StatusPartialContent
}

// errStopping ends a download: the client sees that it is cut off, and goes on with a range.
var errStopping = errors.New("the server is stopping")

// download is a file on its way to a client. Its connection owns it.
type download struct {
	*io.SectionReader
	file   vfs.File
	conn   net.Conn // nil in tests without a network
	room   *Room
	most   time.Duration // for all of it
	begin  sync.Once
	end    sync.Once
	closed chan struct{}
}

// Read implements [io.Reader].
func (d *download) Read(b []byte) (int, error) {
	select {
	case <-d.room.Stopped:
		return 0, errStopping
	default:
	}
	d.begin.Do(func() {
		if d.conn == nil {
			return
		}
		// The deadline of other answers is short. An error means that the client is gone.
		_ = d.conn.SetWriteDeadline(time.Now().Add(d.most))
		go d.watch()
	})
	return d.SectionReader.Read(b)
}

// watch ends a write that the client does not take when the server stops.
func (d *download) watch() {
	select {
	case <-d.room.Stopped:
		_ = d.conn.SetWriteDeadline(d.room.LastWrites())
	case <-d.closed:
	}
}

// Close implements [io.Closer].
func (d *download) Close() (err error) {
	d.end.Do(func() {
		close(d.closed)
		err = d.file.Close()
	})
	return err
}
