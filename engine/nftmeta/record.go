package nftmeta

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"quorate/engine/chain"
	"quorate/engine/index"
)

// Status says what came of a token's URI, in the words of the SDKs.
type Status string

// What can come of a URI.
const (
	Indexed         Status = "INDEXED"
	Unindexed       Status = "UNINDEXED" // not looked at
	InvalidURI      Status = "INVALID_TOKEN_URI"
	InvalidScheme   Status = "INVALID_TOKEN_URI_SCHEME"
	Unreachable     Status = "UNREACHABLE_TOKEN_URI"
	Throttled       Status = "THROTTLED_TOKEN_URI"
	TooLarge        Status = "METADATA_CONTENT_TOO_LARGE"
	InvalidMetadata Status = "INVALID_METADATA"
	InvalidJSON     Status = "INVALID_METADATA_JSON"
)

// passes reports whether what failed may work soon, without a change by its owner.
func (s Status) passes() bool { return s == Unreachable || s == Throttled }

// key names a token.
type key struct {
	chain chain.ID
	index.NFT
}

// The first byte of keys: records, what clients have asked for, and the level, which is
// one row.
const (
	keyRecord = 'd'
	keyAsked  = 'a'
	keyLevel  = 'l'
)

const keyLen = 1 + 32 + 20 + 32

func (k *key) bytes(kind byte) []byte {
	word := k.ID.Bytes32()
	return slices.Concat([]byte{kind}, k.chain[:], k.Token[:], word[:])
}

func readKey(b []byte) (k key, ok bool) {
	if len(b) != keyLen {
		return k, false
	}
	copy(k.chain[:], b[1:])
	copy(k.Token[:], b[33:])
	k.ID.SetBytes32(b[53:])
	return k, true
}

// record is what is committed of a token. Times are Unix seconds.
type record struct {
	Version  int       `json:"v"`
	Status   Status    `json:"s"`
	URI      uint64    `json:"u"`           // what it is of
	At       int64     `json:"at"`          // when the document was fetched
	Tried    int64     `json:"t"`           // when it was looked for last
	Due      int64     `json:"due"`         // when to look again
	Failures int       `json:"f,omitempty"` // since it was fetched
	Asked    int64     `json:"a,omitempty"` // when a client asked for it last
	Doc      *Document `json:"d,omitempty"`
}

const recordVersion = 1

func decodeRecord(raw []byte) (*record, error) {
	r := new(record)
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("nftmeta: a record: %w", err)
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("nftmeta: a record of version %d", r.Version)
	}
	return r, nil
}

// head is what passes and sweeps need of a record. They read many, and documents are long.
type head struct {
	uri                   uint64
	at, tried, due, asked int64
	doc                   bool // there is a document
}

// decodeHead reads a record up to its document, as [record.encode] writes it.
func decodeHead(raw []byte) (h *head, err error) {
	h = new(head)
	raw, _, h.doc = bytes.Cut(raw, []byte(`,"d":{`))
	version := int64(0)
	for _, f := range []struct {
		name string
		to   *int64
	}{{`"v":`, &version}, {`"at":`, &h.at}, {`"t":`, &h.tried}, {`"due":`, &h.due}, {`"a":`, &h.asked}} {
		text := number(raw, f.name)
		if text == "" && f.to == &h.asked {
			continue // clients never asked for it
		}
		if *f.to, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, fmt.Errorf("nftmeta: a record: %w", err)
		}
	}
	if version != recordVersion {
		return nil, fmt.Errorf("nftmeta: a record of version %d", version)
	}
	if h.uri, err = strconv.ParseUint(number(raw, `"u":`), 10, 64); err != nil {
		return nil, fmt.Errorf("nftmeta: a record: %w", err)
	}
	return h, nil
}

// number returns the number behind a name, empty without one.
func number(raw []byte, name string) string {
	_, rest, _ := bytes.Cut(raw, []byte(name))
	if i := bytes.IndexAny(rest, ",}"); i >= 0 {
		rest = rest[:i]
	}
	return string(rest)
}

// MaxRecord bounds what is committed of a token in bytes: its [Store] need not take more.
const MaxRecord = 64 << 10

// encode returns a record as it is committed, without what there is no room for: first
// embedded data, then lists. It reports false if the rest of the document is too large.
func (r *record) encode() (raw []byte, fits bool) {
	raw = []byte(encode(r))
	if r.Doc == nil || len(raw) <= MaxRecord {
		return raw, len(raw) <= MaxRecord
	}
	doc := *r.Doc // clients may be reading it
	r.Doc = &doc
	for _, member := range []*string{&doc.AnimationURI, &doc.ImageURI, &doc.Properties, &doc.Attributes} {
		if len(*member) <= maxLink {
			continue
		}
		*member = ""
		if raw = []byte(encode(r)); len(raw) <= MaxRecord {
			return raw, doc != Document{}
		}
	}
	return raw, false
}

// digest stands for a URI.
func digest(uri string) uint64 {
	sum := sha256.Sum256([]byte(uri))
	return binary.BigEndian.Uint64(sum[:])
}

// isDue reports whether a token is to be fetched. h is nil if it never was.
func (h *head) isDue(uri uint64, asked bool, now time.Time) bool {
	switch at := now.Unix(); {
	case h == nil:
		return true
	case h.tried <= at && at < h.tried+int64(minAge/time.Second): // clocks may go back
		return false
	default:
		return asked || h.uri != uri || at >= h.due
	}
}

// next returns the record after a fetch. A document stays if it is of the same URI and
// cannot be had just now.
func (r *record) next(c *Config, uri uint64, d *Document, s Status, wait time.Duration, now time.Time) *record {
	n := &record{Version: recordVersion, Status: s, URI: uri, Tried: now.Unix()}
	same := r != nil && r.URI == uri
	if r != nil {
		n.Asked = r.Asked
	}
	if d != nil {
		n.Status, n.Doc, n.At = Indexed, d, now.Unix()
		n.Due = now.Add(spread(c.Refresh)).Unix()
		return n
	}
	if same {
		n.Failures = r.Failures
	}
	n.Failures++
	if same && r.Doc != nil && s.passes() {
		n.Status, n.Doc, n.At = r.Status, r.Doc, r.At
	}
	pause := min(max(c.Retry<<min(n.Failures-1, 16), wait), max(c.Retry, maxRetry))
	if !s.passes() {
		pause = max(c.Retry, min(c.Refresh, maxRetry))
	}
	n.Due = now.Add(spread(pause)).Unix()
	return n
}

// spread returns about a time, so that what was fetched at once is not for ever.
func spread(d time.Duration) time.Duration { return d - d/10 + rand.N(d/5+1) }
