package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/kept"
	"quorate/httpapi/reply"
	"quorate/httpapi/service"
	"quorate/httpapi/ui"
)

const (
	// pageAge is for how long a page is kept: what shows the head of a chain is as old
	// as that, and as many open pages as there may be cost one rendering a second.
	pageAge = time.Second
	// pageBytes bounds the pages that are kept, pageSlots their number.
	pageBytes = 8 << 20
	pageSlots = 1 << 10
)

// keptPages keeps complete pages for a moment.
type keptPages struct {
	kept *kept.Cache[keptPage]
	seed maphash.Seed
}

type keptPage struct {
	pageKey
	encoding string
	body     []byte
	until    time.Time
}

// pageKey says what a page depends on.
type pageKey struct {
	text string
	hash uint64
}

// keptUnits is the price of a page that is kept.
const keptUnits = 1

// price returns the price of a request for a page and the page itself if it is kept: it
// was paid for by whoever had it rendered, and costs its further viewers little.
func (p *pages) price(ctx *fasthttp.RequestCtx, e *door.Endpoint, q door.Params) (int, *keptPage) {
	if p.site == nil || !e.Kept || e.Pattern == rootPath && !wantsHTML(ctx) {
		return e.Units, nil
	}
	in := p.input(ctx, &q)
	k := p.kept.key(ctx, &in)
	if found := p.kept.find(&k); found != nil {
		return min(keptUnits, e.Units), found
	}
	return e.Units, nil
}

func newKeptPages() *keptPages {
	return &keptPages{kept: kept.New[keptPage](pageBytes, pageSlots), seed: maphash.MakeSeed()}
}

func (k *keptPages) key(ctx *fasthttp.RequestCtx, in *ui.Input) pageKey {
	who := "clients"
	if in.Operator {
		who = "operators"
	}
	text := strings.Join([]string{who, reply.Encoding(ctx.Request.Header.Peek(fasthttp.HeaderAcceptEncoding)), in.Base, string(ctx.RequestURI())}, " ")
	return pageKey{text, maphash.String(k.seed, text)}
}

func (k *keptPages) find(key *pageKey) *keptPage {
	found := k.kept.Get(key.hash)
	if found == nil || found.text != key.text || time.Now().After(found.until) {
		return nil
	}
	return found
}

func (k *keptPages) keep(key *pageKey, ctx *fasthttp.RequestCtx) {
	body := bytes.Clone(ctx.Response.Body())
	k.kept.Put(key.hash, &keptPage{*key, string(ctx.Response.Header.ContentEncoding()), body, time.Now().Add(pageAge)},
		len(body)+len(key.text)+reply.Overhead)
}

// asset is a file of pages, packed once.
type asset struct {
	*ui.Asset
	etag       string
	gzip, zstd []byte
}

// packedAssets returns the assets by the names under which they are served. All servers
// have the same.
var packedAssets = sync.OnceValues(func() (map[string]*asset, error) {
	files, err := ui.Assets()
	if err != nil {
		return nil, fmt.Errorf("assets of pages: %w", err)
	}
	packers, err := reply.NewPackers(0)
	if err != nil {
		return nil, fmt.Errorf("assets of pages: %w", err)
	}
	byName := make(map[string]*asset, len(files))
	for _, f := range files {
		sum := sha256.Sum256(f.Body)
		byName[f.Name] = &asset{
			Asset: f, etag: `W/"` + hex.EncodeToString(sum[:12]) + `"`, // weak, since the packed forms have the same
			zstd: packers.Zstd(f.Body),
		}
		if byName[f.Name].gzip, err = squeeze(f.Body); err != nil {
			return nil, fmt.Errorf("asset %s: %w", f.Name, err)
		}
	}
	return byName, nil
})

// squeeze packs what is packed once and sent often.
func squeeze(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(body)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// assetCaching lets a file be kept for a year: another content has another name.
const assetCaching = "public, max-age=31536000, immutable"

// asset answers with a file of pages.
func (p *pages) asset(ctx *fasthttp.RequestCtx, q door.Params) {
	a := p.assets[string(q.Get("name"))]
	if a == nil {
		p.s.noRoute(ctx, ctx.URI().PathOriginal(), false)
		return
	}
	h := &ctx.Response.Header
	h.Set(fasthttp.HeaderCacheControl, assetCaching)
	h.Set(fasthttp.HeaderETag, a.etag)
	h.Set(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	if service.HoldsTag(ctx.Request.Header.Peek(fasthttp.HeaderIfNoneMatch), a.etag) {
		ctx.Response.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentType(a.Type)
	body, packed := a.Body, a.gzip
	name := reply.Encoding(ctx.Request.Header.Peek(fasthttp.HeaderAcceptEncoding))
	if name == "zstd" {
		packed = a.zstd
	}
	if name != "" && len(packed) < len(body) {
		h.Set(fasthttp.HeaderContentEncoding, name)
		body = packed
	}
	ctx.Response.SetBodyRaw(body)
}
