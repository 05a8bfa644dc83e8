package evm

import (
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/metric"
)

// TestHeliconFailures: of each transaction that failed on a real network its trace's error
// and data are kept, and the reason that we read in them is the one that the node read.
func TestHeliconFailures(t *testing.T) {
	t.Parallel()
	errors, reasons, bare := map[string]int{}, map[string]int{}, 0
	for _, h := range helicon(t) {
		if len(h.CallTracer) == 0 || string(h.CallTracer) == "null" {
			continue
		}
		b, err := h.read(newChecker(VerifyFull, metric.NewSet(), slog.New(slog.DiscardHandler), nil))
		if err != nil {
			t.Fatal(err)
		}
		var r callReader
		if err := r.eachTrace(h.CallTracer, b.Txs, func(i int) error { return r.result(&b.Txs[i]) }); err != nil {
			t.Fatalf("block %d: %v", h.Number, err)
		}
		var told []struct {
			Result struct{ Error, Output, RevertReason string }
		}
		if err := json.Unmarshal(h.CallTracer, &told); err != nil {
			t.Fatal(err)
		}
		for i := range b.Txs {
			f, said := b.Txs[i].Failure, &told[i].Result
			if (f != nil) != b.Txs[i].Failed || (f != nil) != (said.Error != "") {
				t.Errorf("block %d, transaction %d: failed %v, failure %v", h.Number, i, b.Txs[i].Failed, f)
			}
			if f == nil {
				continue
			}
			reason := said.Error
			if said.RevertReason != "" {
				reason += ": " + said.RevertReason
				reasons[said.RevertReason]++
			} else if said.Output != "" {
				bare++
			}
			if errors[said.Error]++; f.Error != said.Error || f.Reason() != reason || hex.EncodeToString(f.Revert) != strings.TrimPrefix(said.Output, "0x") {
				t.Errorf("block %d, transaction %d: %q, %q, %x; want %q, %q, %s", h.Number, i, f.Error, f.Reason(), f.Revert, said.Error, reason, said.Output)
			}
		}
	}
	if errors["execution reverted"] == 0 || len(errors) < 2 || bare == 0 {
		t.Errorf("the recording lacks a case: errors %v, reasons %v, %d without a reason", errors, reasons, bare)
	}
}

// failedCall is the trace of a call that failed, with further members.
func failedCall(members string) string {
	return `{"from":"0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc","gas":"0x1","gasUsed":"0x1","to":"0x00000000000000000000000000000000deadbeef",` + members + `,"type":"CALL"}`
}

func TestFailure(t *testing.T) {
	t.Parallel()
	const reverted = `"error":"execution reverted"`
	most := strings.Repeat("ab", evm.MaxRevert)
	for name, c := range map[string]struct {
		members string
		want    evm.Failure
		bad     bool
	}{
		"no data":        {members: `"error":"out of gas"`, want: evm.Failure{Error: "out of gas"}},
		"empty data":     {members: reverted + `,"output":"0x"`, want: evm.Failure{Error: "execution reverted"}},
		"null":           {members: reverted + `,"output":null`, want: evm.Failure{Error: "execution reverted"}},
		"data first":     {members: `"output":"0xAb01",` + reverted, want: evm.Failure{Error: "execution reverted", Revert: []byte{0xab, 1}}},
		"most data":      {members: reverted + `,"output":"0x` + most + `"`, want: evm.Failure{Error: "execution reverted", Revert: must(hex.DecodeString(most))}},
		"too much data":  {members: reverted + `,"output":"0x` + most + `01"`, want: evm.Failure{Error: "execution reverted", Revert: must(hex.DecodeString(most))}},
		"escapes":        {members: `"error":"say \"no\" \u00e9"`, want: evm.Failure{Error: `say "no" é`}},
		"long":           {members: `"error":"x` + strings.Repeat("é", evm.MaxError) + `"`, want: evm.Failure{Error: "x" + strings.Repeat("é", evm.MaxError/2-1)}},
		"of a call":      {members: reverted + `,"calls":[` + failedCall(`"error":"inner","output":"0x01"`) + `]`, want: evm.Failure{Error: "execution reverted"}},
		"no hex":         {members: reverted + `,"output":"0xgg"`, bad: true},
		"half a byte":    {members: reverted + `,"output":"0x123"`, bad: true},
		"no text":        {members: reverted + `,"output":1`, bad: true},
		"no JSON string": {members: `"error":"\q"`, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx := evm.Tx{From: sender, To: beef, Failed: true}
			var r callReader
			r.Reset([]byte(failedCall(c.members)))
			switch err := r.result(&tx); {
			case (err != nil) != c.bad:
				t.Error(err)
			case !c.bad && !reflect.DeepEqual(tx.Failure, &c.want):
				t.Errorf("got %+v, want %+v", tx.Failure, &c.want)
			}
		})
	}
	tx := evm.Tx{From: sender, To: beef, Failure: &evm.Failure{Error: "of an answer before"}}
	var r callReader
	r.Reset([]byte(failedCall(`"output":"0xzz","calls":[` + failedCall(`"error":"inner"`) + `]`)))
	if err := r.result(&tx); err != nil || tx.Failure != nil {
		t.Errorf("a call that went well failed: %+v, %v", tx.Failure, err)
	}
}
