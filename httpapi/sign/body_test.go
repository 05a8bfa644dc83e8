package sign

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/httpapi/door"
)

// testSubnet is the subnet ID whose bytes are 1 to 32.
func testSubnet() (id chain.ID) {
	for i := range id {
		id[i] = byte(i + 1)
	}
	return id
}

func TestParseRequest(t *testing.T) {
	t.Parallel()
	subnet := testSubnet()
	subnetHex := "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"
	f := func(body string, want aggregator.Request) {
		t.Helper()
		kebab := body
		for i := range sdkNames {
			kebab = strings.ReplaceAll(kebab, `"`+sdkNames[i]+`"`, `"`+relayerNames[i]+`"`)
		}
		for _, dialect := range []struct {
			body string
			form *form
		}{{body, sdkForm}, {kebab, relayerForm}} {
			got, err := parseRequest([]byte(dialect.body), dialect.form, nil)
			if err != nil {
				t.Errorf("%s: %v", dialect.body, err)
				continue
			}
			if !reflect.DeepEqual(got, &want) {
				t.Errorf("%s: got %+v, want %+v", dialect.body, got, want)
			}
		}
	}
	ab := []byte{0xab}
	plain := aggregator.Request{Message: ab, Quorum: 67}
	f(`{"message":"ab"}`, plain)
	f(`{"message":"0xAB"}`, plain)
	f(` { "message" : "0xaB" } `, plain)
	f(`{"message":"\u0030xab"}`, plain)
	f(`{"mess\u0061ge":"ab"}`, plain)
	f(`{"message":"zz","message":"ab"}`, plain)
	f(`{"message":"ab","other":[{"message":1}]}`, plain)
	f(`{"message":"ab","justification":"","signingSubnetId":"","quorumPercentage":null,"quorumPercentageBuffer":null,"pChainHeight":null}`, plain)
	f(`{"message":null,"justification":"0xab"}`, aggregator.Request{Justification: ab, Quorum: 67})
	f(`{"message":"0x","justification":"ab"}`, aggregator.Request{Justification: ab, Quorum: 67})
	f(`{"message":"ab","justification":"cd"}`, aggregator.Request{Message: ab, Justification: []byte{0xcd}, Quorum: 67})

	withSubnet := aggregator.Request{Message: ab, Quorum: 67, SigningSubnetID: &subnet}
	f(`{"message":"ab","signingSubnetId":"`+subnetHex+`"}`, withSubnet)
	f(`{"message":"ab","signingSubnetId":"0x`+subnetHex+`"}`, withSubnet)
	f(`{"message":"ab","signingSubnetId":"`+subnet.String()+`"}`, withSubnet)
	f(`{"message":"ab","signingSubnetId":"11111111111111111111111111111111LpoYY"}`,
		aggregator.Request{Message: ab, Quorum: 67, SigningSubnetID: &chain.ID{}})

	shares := func(quorum, buffer int) aggregator.Request {
		return aggregator.Request{Message: ab, Quorum: quorum, Buffer: buffer}
	}
	f(`{"message":"ab","quorumPercentage":0}`, shares(0, 0))
	f(`{"message":"ab","quorumPercentage":67.0,"quorumPercentageBuffer":3.3e1}`, shares(67, 33))
	f(`{"message":"ab","quorumPercentage":6.7e1}`, shares(67, 0))
	f(`{"message":"ab","quorumPercentage":100}`, shares(100, 0))
	f(`{"message":"ab","quorumPercentage":0,"quorumPercentageBuffer":100}`, shares(0, 100))
	f(`{"message":"ab","quorumPercentageBuffer":33}`, shares(67, 33))
	f(`{"message":"ab","pChainHeight":0}`, aggregator.Request{Message: ab, Quorum: 67, AtHeight: true})
	f(`{"message":"ab","pChainHeight":9007199254740991}`, aggregator.Request{Message: ab, Quorum: 67, PChainHeight: 1<<53 - 1, AtHeight: true})
	f(`{"message":"ab","destinationBlockchainId":"`+subnet.String()+`"}`, aggregator.Request{Message: ab, Quorum: 67, Destination: &subnet})
	f(`{"message":"ab","destinationBlockchainId":""}`, plain)

	long := strings.Repeat("5a", warp.MaxPayload+42)
	f(`{"message":"0x`+long+`"}`, aggregator.Request{Message: bytes.Repeat([]byte{0x5a}, warp.MaxPayload+42), Quorum: 67})
}

func TestRequestDoesNotAliasBody(t *testing.T) {
	t.Parallel()
	body := []byte(`{"message":"abcd","justification":"ef01","signingSubnetId":"` + testSubnet().String() + `"}`)
	req, err := parseRequest(body, sdkForm, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range body {
		body[i] = 'x'
	}
	subnet := testSubnet()
	want := aggregator.Request{Message: []byte{0xab, 0xcd}, Justification: []byte{0xef, 1}, SigningSubnetID: &subnet, Quorum: 67}
	if !reflect.DeepEqual(req, &want) {
		t.Errorf("got %+v after the body changed, want %+v", req, want)
	}
}

func BenchmarkBody(b *testing.B) {
	body := []byte(`{"message":"` + strings.Repeat("5a", 500) + `","quorumPercentage":67}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseRequest(body, sdkForm, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, body := range []string{
		`{}`, ``, `null`, `[]`, `{"message":"ab"`, `{"message":"0xAB"} x`, `{"MESSAGE":"ab","message":null}`, `{"message":"a\ud800"}`, `{"message":"abc"}`,
		`{"message":"ab","justification":"0x0102","signingSubnetId":"11111111111111111111111111111111LpoYY","destinationBlockchainId":""}`,
		`{"message":"ab","quorumPercentage":6.7e1,"quorumPercentageBuffer":34}`, `{"message":"ab","quorum-percentage":670e-1,"quorum-percentage-buffer":-0}`,
		`{"message":"ab","pChainHeight":9007199254740992}`, `{"message":"ab","pchain-height":7,"p-chain-height":18446744073709551615}`, `{"message":"ab","massage":1}`,
	} {
		f.Add([]byte(body), false)
		f.Add([]byte(body), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, relayer bool) {
		form := sdkForm
		if relayer {
			form = relayerForm
		}
		req, err := parseRequest(body, form, nil)
		if err != nil {
			checkFailure(t, err, relayer)
			return
		}
		if len(req.Message) == 0 && len(req.Justification) == 0 || len(req.Message) > maxMessage || len(req.Justification) > maxJustification ||
			req.Quorum < 0 || req.Buffer < 0 || req.Quorum+req.Buffer > 100 || !relayer && req.PChainHeight > maxHeight {
			t.Fatalf("%q gives %+v", body, req)
		}
		if !json.Valid(body) && (!relayer || json.NewDecoder(bytes.NewReader(body)).Decode(new(json.RawMessage)) != nil) {
			t.Fatalf("%q is not JSON", body)
		}
	})
}

// checkFailure holds an error against what all error bodies must be.
func checkFailure(t *testing.T, err error, relayer bool) {
	t.Helper()
	var fl *door.Failure
	if !errors.As(err, &fl) || fl.Status != fasthttp.StatusBadRequest {
		t.Fatalf("error %v is not a bad request", err)
	}
	if len(fl.Message) > 2*door.MaxExcerpt || !utf8.ValidString(fl.Message) {
		t.Fatalf("message %q is too long or not UTF-8", fl.Message)
	}
	var b []byte
	var got struct {
		Message, Error string
		StatusCode     int
	}
	if relayer {
		b = AppendError(nil, 400, fl.Message)
	} else {
		b = door.AppendError(nil, fl.Status, fl.Message)
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	if relayer {
		got.Message = got.Error
	}
	if got.Message != fl.Message {
		t.Fatalf("%s says %q, want %q", b, got.Message, fl.Message)
	}
}
