package evm

import (
	"bytes"
	"math"
	"strconv"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/httpapi/door"
	"quorate/httpapi/view"
)

// query holds the parameters that only routes of this room know.
type query struct {
	start, end uint64 // heights; end is exclusive, MaxUint64 = none
	status     txStatus
	atBlock    bool // a blockNumber was given
	block      uint64
	keepSpam   bool
	contracts  []evm.Address // sorted by no rule, without duplicates
	contract   *evm.Address
	threshold  *uint256.Int // in base units
	feature    string

	one  evm.Address // room for contract
	most uint256.Int // room for threshold
}

type txStatus uint8

const (
	anyStatus txStatus = iota
	onlyFailed
	onlySuccess
)

// own returns the parameters that only these routes know.
func own(q *door.Query) *query { return q.Own.(*query) }

// emptied returns the defaults, with the room for lists.
func (q *query) emptied() query { return query{end: math.MaxUint64, contracts: q.contracts[:0]} }

// Canonical implements [door.Selecting].
func (q *query) Canonical(all *door.Query, b []byte) []byte {
	b = strconv.AppendUint(append(b, 's'), q.start, 10)
	b = strconv.AppendUint(append(b, 'e'), q.end, 10)
	b = append(b, 'd', door.Bit(all.Ascending), 'f', byte(q.status), 'n', door.Bit(q.atBlock))
	b = strconv.AppendUint(b, q.block, 10)
	b = append(b, 'k', door.Bit(q.keepSpam))
	b = append(append(b, 'c'), all.Currency...)
	for i := range q.contracts {
		b = append(append(b, 'l'), q.contracts[i][:]...)
	}
	if q.contract != nil {
		b = append(append(b, 'o'), q.contract[:]...)
	}
	b = all.AppendTimes(b)
	if q.threshold != nil {
		amount := q.threshold.Bytes32()
		b = append(append(b, 'h'), amount[:]...)
	}
	return b
}

// check refuses parameters that do not go together.
func (q *query) check() *door.Failure {
	if q.start > q.end {
		return door.BadRequest("startBlock " + strconv.FormatUint(q.start, 10) + " is after endBlock " + strconv.FormatUint(q.end, 10))
	}
	return nil
}

var (
	paramStartBlock = door.Param{Name: "startBlock", Doc: "the first block, by number", Schema: door.Whole(),
		Set: func(q *door.Query, v []byte) string { return door.SetUint(&own(q).start, v) }}
	paramEndBlock = door.Param{Name: "endBlock", Doc: "the block before which the list ends, by number", Schema: door.Whole(),
		Set: func(q *door.Query, v []byte) string { return door.SetUint(&own(q).end, v) }}
	paramBlockNumber = door.Param{Name: "blockNumber", Doc: "the block after which the balance is; else the latest", Schema: door.Whole(), Set: func(q *door.Query, v []byte) string {
		own(q).atBlock = true
		return door.SetUint(&own(q).block, v)
	}}
	paramStatus = door.Choice("status", "only those that failed, or had success", "", []string{"failed", "success"}, func(q *door.Query, v string) {
		if own(q).status = onlySuccess; v == "failed" {
			own(q).status = onlyFailed
		}
	})
	paramFilterSpam = door.YesNo("filterSpamTokens", "whether tokens known to be malicious are left out", true,
		func(q *door.Query, v bool) { own(q).keepSpam = !v })
	paramContracts = door.Param{Name: "contractAddresses", Doc: "only these tokens", Schema: door.ListOf(door.AddressLike()), Set: func(q *door.Query, v []byte) string {
		return own(q).setContracts(v)
	}}
	paramContract = door.Param{Name: "contractAddress", Doc: "only NFTs of a contract", Schema: door.AddressLike(), Set: func(q *door.Query, v []byte) string {
		if !door.ParseAddress(v, &own(q).one) {
			return door.NotAddress(v)
		}
		own(q).contract = &own(q).one
		return ""
	}}
	paramThreshold = door.Param{Name: "threshold", Doc: "an amount in the token's base units", Schema: door.TextLike("^[0-9]+$", "1000000"), Set: func(q *door.Query, v []byte) string {
		if !parseAmount(v, &own(q).most) {
			return "must be an amount in the token's base units, decimal digits of a number below 2^256, not " + door.Excerpt(v)
		}
		own(q).threshold = &own(q).most
		return ""
	}}
	paramFeature = door.Choice("feature", "only chains that have a feature", "",
		[]string{view.FeatureNFT, view.FeatureWebhooks, view.FeatureTeleporter}, func(q *door.Query, v string) { own(q).feature = v })
)

func (q *query) setContracts(v []byte) string {
	for v != nil {
		var item []byte
		item, v, _ = bytes.Cut(v, door.Comma) // v is nil after the last
		var a evm.Address
		if !door.ParseAddress(bytes.TrimSpace(item), &a) {
			return "has an item that " + door.NotAddress(item)
		}
		if q.listed(&a) {
			continue
		}
		if len(q.contracts) == door.MaxListed {
			return "has more than " + strconv.Itoa(door.MaxListed) + " addresses"
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

// parseAmount reads decimal digits of a number below 2^256.
func parseAmount(v []byte, to *uint256.Int) bool {
	for _, c := range v {
		if c < '0' || c > '9' {
			return false
		}
	}
	return to.SetFromDecimal(string(v)) == nil
}
