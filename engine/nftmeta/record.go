package nftmeta

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goccy/go-json"

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

// keyRecord is the first byte of keys. 'a' and 'l' were of rows that nothing reads any more.
const keyRecord = 'd'

const keyLen = 1 + 32 + 20 + 32

func (k *key) bytes() []byte {
	word := k.ID.Bytes32()
	return slices.Concat([]byte{keyRecord}, k.chain[:], k.Token[:], word[:])
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
	Tried    int64     `json:"t"`           // when the last fetch began
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

// MaxRecord bounds what is committed of a token in bytes: its [Store] need not take more.
const MaxRecord = 64 << 10

// encode returns a record as it is committed, without what there is no room for: first
// embedded data, then lists, then the document.
func (r *record) encode() []byte {
	raw := []byte(encode(r))
	if r.Doc == nil || len(raw) <= MaxRecord {
		return raw
	}
	doc := *r.Doc // clients may be reading it
	r.Doc = &doc
	for _, member := range []*string{&doc.AnimationURI, &doc.ImageURI, &doc.Properties, &doc.Attributes} {
		if len(*member) <= maxLink {
			continue
		}
		*member = ""
		if raw = []byte(encode(r)); len(raw) <= MaxRecord && doc != (Document{}) {
			return raw
		}
	}
	r.Status, r.At, r.Doc = TooLarge, 0, nil
	return []byte(encode(r))
}

// token returns what clients see of a record.
func (r *record) token() *Token {
	t := &Token{Status: r.Status, UpdatedAt: r.At}
	if r.Doc != nil {
		t.Document = *r.Doc
	}
	return t
}

// digest stands for a URI.
func digest(uri string) uint64 {
	sum := sha256.Sum256([]byte(uri))
	return binary.BigEndian.Uint64(sum[:])
}

// isAsked reports whether a client has asked for a token that was not fetched since.
func (r *record) isAsked() bool { return r != nil && r.Asked > 0 && r.Asked >= r.Tried }

// isDue reports whether a token is to be fetched. r is nil if it never was.
func (r *record) isDue(uri uint64, now time.Time) bool {
	switch at := now.Unix(); {
	case r == nil:
		return true
	case r.Tried <= at && at < r.Tried+int64(minAge/time.Second): // clocks may go back
		return false
	default:
		return r.isAsked() || r.URI != uri || at >= r.Due
	}
}

// age orders records by what is lost with them: failures, then documents and what clients asked
// for, the oldest first.
func (r *record) age() int64 {
	if r == nil { // it cannot be read
		return 0
	}
	return max(r.At, r.Asked)
}

// next returns the record after a fetch. A document stays if it is of the same URI and
// cannot be had just now.
func (r *record) next(c *Config, uri uint64, d *Document, s Status, wait time.Duration, began, now time.Time) *record {
	n := &record{Version: recordVersion, Status: s, URI: uri, Tried: began.Unix()}
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
	pause := min(max(firstRetry<<min(n.Failures-1, 16), wait), max(firstRetry, maxRetry))
	if !s.passes() {
		pause = max(firstRetry, min(c.Refresh, maxRetry))
	}
	n.Due = now.Add(spread(pause)).Unix()
	return n
}

// spread returns about a time, so that what was fetched at once is not for ever.
func spread(d time.Duration) time.Duration { return d - d/10 + rand.N(d/5+1) }
