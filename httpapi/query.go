package httpapi

import (
	"bytes"
	"math"
	"strconv"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// maxListed bounds the items of a comma-separated parameter.
const maxListed = 100

// query holds the parameters of a request, defaults filled in.
type query struct {
	pageToken  []byte // nil: the first page
	pageSize   int
	start, end uint64 // heights; end is exclusive, MaxUint64 = none
	// since and until are Unix seconds; until is exclusive, MaxUint64 = none.
	since, until uint64
	interval     rollup.Interval
	ascending    bool
	status       txStatus
	atBlock      bool // a blockNumber was given
	block        uint64
	keepSpam     bool
	currency     string
	contracts    []evm.Address // sorted by no rule, without duplicates
	contract     *evm.Address
	threshold    *uint256.Int // in base units
	network      string
	feature      string
	// own holds the parameters that only the routes of one topic know: who parses
	// makes room for them.
	own any

	ignored ignored // names that the route does not know

	one  evm.Address // room for contract
	most uint256.Int // room for threshold
}

type txStatus uint8

const (
	anyStatus txStatus = iota
	onlyFailed
	onlySuccess
)

// reset returns the defaults. It keeps the room for lists.
func (q *query) reset(size pageSize) {
	*q = query{own: q.own, pageSize: size.def, end: math.MaxUint64, until: math.MaxUint64, interval: rollup.Day,
		currency: view.DefaultCurrency, contracts: q.contracts[:0], ignored: ignored{q.ignored.names[:0]}}
}

// canonical appends the parameters that select what is listed, all of them but
// pageToken and pageSize, so that equal requests have equal bytes.
func (q *query) canonical(b []byte) []byte {
	b = strconv.AppendUint(append(b, 's'), q.start, 10)
	b = strconv.AppendUint(append(b, 'e'), q.end, 10)
	b = append(b, 'd', bit(q.ascending), 'f', byte(q.status), 'n', bit(q.atBlock))
	b = strconv.AppendUint(b, q.block, 10)
	b = append(b, 'k', bit(q.keepSpam))
	b = append(append(b, 'c'), q.currency...)
	for i := range q.contracts {
		b = append(append(b, 'l'), q.contracts[i][:]...)
	}
	if q.contract != nil {
		b = append(append(b, 'o'), q.contract[:]...)
	}
	if q.since != 0 || q.until != math.MaxUint64 {
		b = strconv.AppendUint(append(b, 't'), q.since, 10)
		b = strconv.AppendUint(append(b, 'u'), q.until, 10)
	}
	if q.threshold != nil {
		amount := q.threshold.Bytes32()
		b = append(append(b, 'h'), amount[:]...)
	}
	if q.interval != rollup.Day {
		b = append(b, 'i', byte(q.interval))
	}
	return b
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// pageSize is the documented range of a route's pageSize.
type pageSize struct{ min, max, def int }

// parse reads a query string. Parameters that the route does not know are ignored,
// unless they look like mistyped ones; each of the others may be given once, and
// not empty.
func (q *query) parse(raw []byte, known []param, size pageSize) *failure {
	q.reset(size)
	var seen uint32 // by index in known
	for len(raw) > 0 {
		var pair []byte
		pair, raw, _ = bytes.Cut(raw, ampersand)
		name, value, _ := bytes.Cut(pair, equals)
		name, ok := unescape(name)
		if !ok || len(name) == 0 {
			continue // no name of ours
		}
		if !hasParam(known, name) {
			if f := q.ignored.add("parameter", name, names(known)); f != nil {
				return f
			}
			continue
		}
		for i := range known {
			if known[i].name != string(name) {
				continue
			}
			if seen&(1<<i) != 0 && !known[i].repeats {
				return badRequest(known[i].name + " is given more than once")
			}
			seen |= 1 << i
			if f := q.set(&known[i], value, size); f != nil {
				return f
			}
		}
	}
	for i := range known {
		if known[i].must && seen&(1<<i) == 0 {
			return badRequest(known[i].name + " is required: " + known[i].doc)
		}
	}
	if q.start > q.end {
		return badRequest("startBlock " + strconv.FormatUint(q.start, 10) + " is after endBlock " + strconv.FormatUint(q.end, 10))
	}
	return nil
}

func hasParam(known []param, name []byte) bool {
	for i := range known {
		if known[i].name == string(name) {
			return true
		}
	}
	return false
}

func names(known []param) []string {
	list := make([]string, len(known))
	for i := range known {
		list[i] = known[i].name
	}
	return list
}

func (q *query) set(p *param, raw []byte, size pageSize) *failure {
	if bytes.IndexByte(raw, '+') >= 0 { // what forms, and many clients, write for a space
		raw = bytes.ReplaceAll(raw, plus, space)
	}
	v, ok := unescape(raw)
	if !ok {
		return badRequest(p.name + " is not validly percent-encoded")
	}
	if len(v) == 0 {
		if p.must {
			return badRequest(p.name + " is required: " + p.doc)
		}
		return badRequest(p.name + " is empty; leave it out instead")
	}
	if problem := p.set(q, v); problem != "" {
		return badRequest(p.name + " " + problem)
	}
	if p.name == paramPageSize.name && (q.pageSize < size.min || q.pageSize > size.max) {
		return badRequest("pageSize must be an integer from " + strconv.Itoa(size.min) + " to " + strconv.Itoa(size.max) + ", not " + excerpt(v))
	}
	return nil
}

var (
	ampersand, equals, comma = []byte("&"), []byte("="), []byte(",")
	plus, space              = []byte("+"), []byte(" ")
)

func (q *query) setContracts(v []byte) string {
	for v != nil {
		var item []byte
		item, v, _ = bytes.Cut(v, comma) // v is nil after the last
		var a evm.Address
		if !parseAddress(bytes.TrimSpace(item), &a) {
			return "has an item that " + notAddress(item)
		}
		if q.listed(&a) {
			continue
		}
		if len(q.contracts) == maxListed {
			return "has more than " + strconv.Itoa(maxListed) + " addresses"
		}
		q.contracts = append(q.contracts, a)
	}
	return ""
}

func (q *query) listed(a *evm.Address) bool {
	for i := range q.contracts {
		if q.contracts[i] == *a {
			return true
		}
	}
	return false
}

func setUint(to *uint64, v []byte) string {
	n, ok := parseUint(v)
	if !ok {
		return "must be a block number, a whole number in decimal" + below63(v) + ", not " + excerpt(v)
	}
	*to = n
	return ""
}

func setSeconds(to *uint64, v []byte) string {
	n, ok := parseUint(v)
	if !ok {
		return "must be a time in Unix seconds, a whole number in decimal" + below63(v) + ", not " + excerpt(v)
	}
	if n >= leastMillis && n < 1000*leastMillis {
		return "must be a time in Unix seconds; " + excerpt(v) + " looks like milliseconds"
	}
	*to = n
	return ""
}

// leastMillis is as milliseconds in 1973, and as seconds in the year 5138. A thousand times
// that and more is no time that anybody means: clients that want no end write such.
const leastMillis = 100_000_000_000

// below63 names the bound that v, which [parseUint] refused, is above; for anything
// but a number it is empty.
func below63(v []byte) string {
	for _, c := range v {
		if c < '0' || c > '9' {
			return ""
		}
	}
	return " below 2^63"
}

// parseUint reads decimal digits of a number below 2^63: without sign, point or
// exponent.
func parseUint(v []byte) (n uint64, ok bool) {
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

// parseAddress reads 0x and 40 hex digits of any case.
func parseAddress(v []byte, a *evm.Address) bool { return parseHex(v, a[:]) }

func notAddress(v []byte) string {
	return "must be an address, 0x and 40 hex digits, not " + excerpt(v)
}

// parseHex reads 0x and as many hex digits as fill dst.
func parseHex(v, dst []byte) bool {
	if len(v) != 2+2*len(dst) || v[0] != '0' || v[1]|0x20 != 'x' {
		return false
	}
	for i := range dst {
		hi, lo := hexDigit(v[2+2*i]), hexDigit(v[3+2*i])
		if hi|lo > 15 {
			return false
		}
		dst[i] = hi<<4 | lo
	}
	return true
}
