package door

import (
	"bytes"
	"math"
	"strconv"

	"quorate/engine/chain/evm"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// MaxListed bounds the items of a comma-separated parameter.
const MaxListed = 100

// Query holds the parameters of a request that several topics know, defaults filled in.
type Query struct {
	PageToken []byte // nil: the first page
	PageSize  int
	// Since and until are Unix seconds; until is exclusive, MaxUint64 = none.
	Since, Until uint64
	Interval     rollup.Interval
	Ascending    bool
	Block        uint64
	Currency     string
	Network      string
	// Own holds the parameters that only the routes of one topic know: who parses
	// makes room for them. It may be a [Selecting].
	Own any

	Ignored Ignored // names that the route does not know
}

// Selecting are parameters of one topic of which some select what is listed.
type Selecting interface {
	// Canonical is [Query.Canonical] of those and of what q has for all topics.
	Canonical(q *Query, b []byte) []byte
}

// Reset returns the defaults. It keeps what holds the parameters of a topic.
func (q *Query) Reset(size PageSize) {
	*q = Query{Own: q.Own, PageSize: size.Def, Until: math.MaxUint64, Interval: rollup.Day,
		Currency: view.DefaultCurrency, Ignored: Ignored{q.Ignored.Names[:0]}}
}

// Canonical appends the parameters that select what is listed, all of them but
// pageToken and pageSize, so that equal requests have equal bytes.
func (q *Query) Canonical(b []byte) []byte {
	if own, ok := q.Own.(Selecting); ok {
		return own.Canonical(q, b)
	}
	return q.Common(b)
}

// What lists of all topics once began with, and had in between: tokens of older servers
// stay good.
const (
	commonStart  = "s0e18446744073709551615"
	commonMiddle = "f\x00n\x000k\x00"
)

// Common is Canonical without the parameters of a topic.
func (q *Query) Common(b []byte) []byte {
	b = append(append(b, commonStart...), 'd', Bit(q.Ascending))
	b = append(append(b, commonMiddle...), 'c')
	b = q.AppendTimes(append(b, q.Currency...))
	if q.Interval != rollup.Day {
		b = append(b, 'i', byte(q.Interval))
	}
	return b
}

// AppendTimes appends the times that bound a list, if they do.
func (q *Query) AppendTimes(b []byte) []byte {
	if q.Since == 0 && q.Until == math.MaxUint64 {
		return b
	}
	b = strconv.AppendUint(append(b, 't'), q.Since, 10)
	return strconv.AppendUint(append(b, 'u'), q.Until, 10)
}

func Bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// PageSize is the documented range of a route's pageSize.
type PageSize struct{ Min, Max, Def int }

// Parse reads a query string. Parameters that the route does not know are ignored,
// unless they look like mistyped ones; each of the others may be given once, and
// not empty.
func (q *Query) Parse(raw []byte, known []Param, size PageSize) *Failure {
	q.Reset(size)
	var seen uint32 // by index in known
	for len(raw) > 0 {
		var pair []byte
		pair, raw, _ = bytes.Cut(raw, ampersand)
		name, value, _ := bytes.Cut(pair, Equals)
		name, ok := Unescape(name)
		if !ok || len(name) == 0 {
			continue // no name of ours
		}
		if !HasParam(known, name) {
			if f := q.Ignored.Add("parameter", name, names(known)); f != nil {
				return f
			}
			continue
		}
		for i := range known {
			if known[i].Name != string(name) {
				continue
			}
			if seen&(1<<i) != 0 && !known[i].Repeats {
				return BadRequest(known[i].Name + " is given more than once")
			}
			seen |= 1 << i
			if f := q.set(&known[i], value, size); f != nil {
				return f
			}
		}
	}
	for i := range known {
		if known[i].Must && seen&(1<<i) == 0 {
			return BadRequest(known[i].Name + " is required: " + known[i].Doc)
		}
	}
	return nil
}

func HasParam(known []Param, name []byte) bool {
	for i := range known {
		if known[i].Name == string(name) {
			return true
		}
	}
	return false
}

func names(known []Param) []string {
	list := make([]string, len(known))
	for i := range known {
		list[i] = known[i].Name
	}
	return list
}

func (q *Query) set(p *Param, raw []byte, size PageSize) *Failure {
	if bytes.IndexByte(raw, '+') >= 0 { // what forms, and many clients, write for a space
		raw = bytes.ReplaceAll(raw, plus, space)
	}
	v, ok := Unescape(raw)
	if !ok {
		return BadRequest(p.Name + " is not validly percent-encoded")
	}
	if len(v) == 0 {
		if p.Must {
			return BadRequest(p.Name + " is required: " + p.Doc)
		}
		return BadRequest(p.Name + " is empty; leave it out instead")
	}
	if problem := p.Set(q, v); problem != "" {
		return BadRequest(p.Name + " " + problem)
	}
	if p.Name == ParamPageSize.Name && (q.PageSize < size.Min || q.PageSize > size.Max) {
		return BadRequest("pageSize must be an integer from " + strconv.Itoa(size.Min) + " to " + strconv.Itoa(size.Max) + ", not " + Excerpt(v))
	}
	return nil
}

var (
	ampersand, Equals, Comma = []byte("&"), []byte("="), []byte(",")
	plus, space              = []byte("+"), []byte(" ")
)

func SetUint(to *uint64, v []byte) string {
	n, ok := ParseUint(v)
	if !ok {
		return "must be a block number, a whole number in decimal" + Below63(v) + ", not " + Excerpt(v)
	}
	*to = n
	return ""
}

func setSeconds(to *uint64, v []byte) string {
	n, ok := ParseUint(v)
	if !ok {
		return "must be a time in Unix seconds, a whole number in decimal" + Below63(v) + ", not " + Excerpt(v)
	}
	if n >= leastMillis && n < 1000*leastMillis {
		return "must be a time in Unix seconds; " + Excerpt(v) + " looks like milliseconds"
	}
	*to = n
	return ""
}

// leastMillis is as milliseconds in 1973, and as seconds in the year 5138. A thousand times
// that and more is no time that anybody means: clients that want no end write such.
const leastMillis = 100_000_000_000

// Below63 names the bound that v, which [ParseUint] refused, is above; for anything
// but a number it is empty.
func Below63(v []byte) string {
	for _, c := range v {
		if c < '0' || c > '9' {
			return ""
		}
	}
	return " below 2^63"
}

// ParseUint reads decimal digits of a number below 2^63: without sign, point or
// exponent.
func ParseUint(v []byte) (n uint64, ok bool) {
	for _, c := range v {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxInt64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, len(v) > 0
}

// ParseAddress reads 0x and 40 hex digits of any case.
func ParseAddress(v []byte, a *evm.Address) bool { return ParseHex(v, a[:]) }

func NotAddress(v []byte) string {
	return "must be an address, 0x and 40 hex digits, not " + Excerpt(v)
}

// ParseHex reads 0x and as many hex digits as fill dst.
func ParseHex(v, dst []byte) bool {
	if len(v) != 2+2*len(dst) || v[0] != '0' || v[1]|0x20 != 'x' {
		return false
	}
	for i := range dst {
		hi, lo := HexDigit(v[2+2*i]), HexDigit(v[3+2*i])
		if hi|lo > 15 {
			return false
		}
		dst[i] = hi<<4 | lo
	}
	return true
}
