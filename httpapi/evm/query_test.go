package evm

import (
	"bytes"
	"math"
	"testing"

	"quorate/httpapi/door"
	"quorate/httpapi/reply"
)

// FuzzQuery: any query is read or refused, and read in the same way each time.
func FuzzQuery(f *testing.F) {
	const gold, art = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	f.Add([]byte("pageSize=10&pageToken=abc&startBlock=1&endBlock=2&sortOrder=asc"))
	f.Add([]byte("currency=usd&contractAddresses=" + gold + "%2C" + art + "&filterSpamTokens=false&blockNumber=7"))
	f.Add([]byte("status=failed&contractAddress=" + gold + "&network=fuji&feature=webhooks"))
	f.Add([]byte("threshold=1000000000000000000000&startTimestamp=5&endTimestamp=1700000000"))
	f.Add([]byte("pageSize=%3&=&&%=%"))
	all := []door.Param{door.ParamPageToken, door.ParamPageSize, paramStartBlock, paramEndBlock, paramBlockNumber, door.ParamSortOrder, paramStatus,
		paramFilterSpam, door.ParamCurrency, paramContracts, paramContract, door.ParamNetwork, paramFeature, paramThreshold,
		door.ParamStartTimestamp, door.ParamEndTimestamp}
	f.Fuzz(func(t *testing.T, raw []byte) {
		q := door.Query{Own: &query{end: math.MaxUint64}}
		if f := q.Parse(raw, all, reply.PagesOf100); f != nil {
			if f.Status != 400 || f.Message == "" || len(f.Message) > 400 {
				t.Errorf("%q: %d %q", raw, f.Status, f.Message)
			}
			return
		}
		if q.PageSize < 1 || q.PageSize > 100 || own(&q).start > math.MaxInt64 || len(own(&q).contracts) > door.MaxListed {
			t.Errorf("%q: %+v", raw, q)
		}
		again := door.Query{Own: &query{end: math.MaxUint64}}
		if f := again.Parse(raw, all, reply.PagesOf100); f != nil || !bytes.Equal(again.Canonical(nil), q.Canonical(nil)) {
			t.Errorf("%q is read differently a second time", raw)
		}
	})
}
