package door

import (
	"bytes"
	"math"
	"strconv"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// MaxListed bounds the items of a comma-separated parameter.
const MaxListed = 100

// Query holds the parameters of a request, defaults filled in.
type Query struct {
	PageToken  []byte // nil: the first page
	PageSize   int
	Start, End uint64 // heights; end is exclusive, MaxUint64 = none
	// Since and until are Unix seconds; until is exclusive, MaxUint64 = none.
	Since, Until uint64
	Interval     rollup.Interval
	Ascending    bool
	Status       txStatus
	AtBlock      bool // a blockNumber was given
	Block        uint64
	KeepSpam     bool
	Currency     string
	Contracts    []evm.Address // sorted by no rule, without duplicates
	Contract     *evm.Address
	Threshold    *uint256.Int // in base units
	Network      string
	Feature      string
	// Own holds the parameters that only the routes of one topic know: who parses
	// makes room for them.
	Own any

	Ignored Ignored // names that the route does not know

	one  evm.Address // room for contract
	most uint256.Int // room for threshold
}

type txStatus uint8

const (
	AnyStatus txStatus = iota
	OnlyFailed
	onlySuccess
)

// Reset returns the defaults. It keeps the room for lists.
func (q *Query) Reset(size PageSize) {
	*q = Query{Own: q.Own, PageSize: size.Def, End: math.MaxUint64, Until: math.MaxUint64, Interval: rollup.Day,
		Currency: view.DefaultCurrency, Contracts: q.Contracts[:0], Ignored: Ignored{q.Ignored.Names[:0]}}
}

// Canonical appends the parameters that select what is listed, all of them but
// pageToken and pageSize, so that equal requests have equal bytes.
func (q *Query) Canonical(b []byte) []byte {
	b = strconv.AppendUint(append(b, 's'), q.Start, 10)
	b = strconv.AppendUint(append(b, 'e'), q.End, 10)
	b = append(b, 'd', Bit(q.Ascending), 'f', byte(q.Status), 'n', Bit(q.AtBlock))
	b = strconv.AppendUint(b, q.Block, 10)
	b = append(b, 'k', Bit(q.KeepSpam))
	b = append(append(b, 'c'), q.Currency...)
	for i := range q.Contracts {
		b = append(append(b, 'l'), q.Contracts[i][:]...)
	}
	if q.Contract != nil {
		b = append(append(b, 'o'), q.Contract[:]...)
	}
	if q.Since != 0 || q.Until != math.MaxUint64 {
		b = strconv.AppendUint(append(b, 't'), q.Since, 10)
		b = strconv.AppendUint(append(b, 'u'), q.Until, 10)
	}
	if q.Threshold != nil {
		amount := q.Threshold.Bytes32()
		b = append(append(b, 'h'), amount[:]...)
	}
	if q.Interval != rollup.Day {
		b = append(b, 'i', byte(q.Interval))
	}
	return b
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
	if q.Start > q.End {
		return BadRequest("startBlock " + strconv.FormatUint(q.Start, 10) + " is after endBlock " + strconv.FormatUint(q.End, 10))
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

func (q *Query) setContracts(v []byte) string {
	for v != nil {
		var item []byte
		item, v, _ = bytes.Cut(v, Comma) // v is nil after the last
		var a evm.Address
		if !ParseAddress(bytes.TrimSpace(item), &a) {
			return "has an item that " + NotAddress(item)
		}
		if q.listed(&a) {
			continue
		}
		if len(q.Contracts) == MaxListed {
			return "has more than " + strconv.Itoa(MaxListed) + " addresses"
		}
		q.Contracts = append(q.Contracts, a)
	}
	return ""
}

func (q *Query) listed(a *evm.Address) bool {
	for i := range q.Contracts {
		if q.Contracts[i] == *a {
			return true
		}
	}
	return false
}

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

// parseAmount reads decimal digits of a number below 2^256.
func parseAmount(v []byte, to *uint256.Int) bool {
	for _, c := range v {
		if c < '0' || c > '9' {
			return false
		}
	}
	return to.SetFromDecimal(string(v)) == nil
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
