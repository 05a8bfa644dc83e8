package provide

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/httpapi/reload"
	"quorate/httpapi/view"
)

var tokenA = evm.Address{19: 0xaa}

const textA = "0x00000000000000000000000000000000000000aA"

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prices.json")
	write(t, path, `{"43114":{"native":{"usd":"25.31"},"`+textA+`":{"usd":1.50,"eur":"0.92"}}}`)
	p, err := OpenPrices(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := func(chain string, token *evm.Address, currency, want string) {
		t.Helper()
		if got := p.Price(chain, token, currency); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f("43114", nil, "usd", "25.31")
	f("43114", nil, "eur", "")
	f("43114", &tokenA, "usd", "1.50")
	f("43114", &tokenA, "eur", "0.92")
	f("43114", &evm.Address{}, "usd", "")
	f("1", nil, "usd", "")
}

func TestLogos(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "logos.json")
	write(t, path, `{"43114":{"native":"https://x/avax.svg","`+textA+`":"ipfs://logo"},"1":{}}`)
	p, err := OpenPart("logos", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Logo("43114", nil) != "https://x/avax.svg" || p.Logo("43114", &tokenA) != "ipfs://logo" ||
		p.Logo("43114", &evm.Address{}) != "" || p.Logo("1", nil) != "" || p.Logo("2", &tokenA) != "" {
		t.Error("wrong logos")
	}
	for _, bad := range []string{`{"43114":{"native":"logo.svg"}}`, `{"x":{}}`, `{"1":{"0x12":"https://x"}}`, `{"1":{"native":7}}`, `[]`} {
		write(t, path, bad)
		if _, err := OpenPart("logos", path, nil); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
}

func TestReputationAndMetadata(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "r"), `{"1":{"`+textA+`":"Malicious"}}`)
	r, err := OpenPart("reputation", filepath.Join(dir, "r"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Reputation("1", &tokenA) != view.Malicious || r.Reputation("2", &tokenA) != view.Unknown || r.Reputation("1", &evm.Address{}) != view.Unknown {
		t.Error("wrong reputation")
	}
	write(t, filepath.Join(dir, "m"), `{"1":{"`+textA+`":{"7":{"name":"Seven"},"115792089237316195423570985008687907853269984665640564039457584007913129639935":{"indexStatus":"INVALID_METADATA"}}}}`)
	m, err := OpenPart("nftMetadata", filepath.Join(dir, "m"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Metadata("1", &tokenA, uint256.NewInt(7)); got == nil || got.Name != "Seven" {
		t.Errorf("got %+v", got)
	}
	if got := m.Metadata("1", &tokenA, new(uint256.Int).SetAllOne()); got == nil || got.Status != "INVALID_METADATA" {
		t.Errorf("got %+v", got)
	}
	if m.Metadata("1", &tokenA, uint256.NewInt(8)) != nil || m.Metadata("2", &tokenA, uint256.NewInt(7)) != nil {
		t.Error("metadata of nothing")
	}
}

// TestTokens: one file has all that is known of tokens, and each part may be missing.
func TestTokens(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	foo, transfer := [4]byte{0xc2, 0x98, 0x55, 0x78}, [4]byte{0xa9, 0x05, 0x9c, 0xbb}
	write(t, path, `{
	 "logos": {"1":{"native":"https://x/avax.svg"}}, "reputation": {"1":{"`+textA+`":"Malicious"}},
	 "nftMetadata": {"1":{"`+textA+`":{"7":{"name":"Seven"}}}}, "methods": ["# mine", "0xc2985578 foo()"]}`)
	p, err := OpenTokens(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Logo("1", nil) != "https://x/avax.svg" || p.Reputation("1", &tokenA) != view.Malicious || !p.KnowsNFTs() ||
		p.Metadata("1", &tokenA, uint256.NewInt(7)).Name != "Seven" || p.MethodName(foo) != "foo()" || p.MethodName(transfer) != "transfer(address,uint256)" {
		t.Error("not what the file says")
	}
	write(t, path, `{}`)
	if err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	if p.Logo("1", nil) != "" || p.Reputation("1", &tokenA) != view.Unknown || p.KnowsNFTs() || p.MethodName(foo) != "" || p.MethodName(transfer) == "" {
		t.Error("not what the file says now")
	}
	for bad, want := range map[string]string{
		``: "empty", `{"1":{}}`: "unknown field", `{"logos":{"1":{"native":"logo.svg"}}}`: "logos: chain 1", `{"methods":["0xc2985578 bar()"]}`: "methods: line 1",
	} {
		write(t, path, bad)
		if err := p.Reload(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", bad, err, want)
		}
	}
	if p.MethodName(transfer) == "" {
		t.Error("a broken file was taken")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	prices := func(b []byte) error { _, err := parsePrices(b); return err }
	reputation := func(b []byte) error { _, err := parseReputation(b); return err }
	metadata := func(b []byte) error { _, err := parseMetadata(b); return err }
	f := func(parse func([]byte) error, content, want string) {
		t.Helper()
		if err := parse([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", content, err, want)
		}
	}
	for _, parse := range []func([]byte) error{prices, reputation, metadata} {
		f(parse, ``, "the file is empty")
		f(parse, `[]`, "array")
		f(parse, `{} {}`, "follows")
		f(parse, `{"x":{}}`, "EVM chain number")
		f(parse, `{"":{}}`, "EVM chain number")
	}
	f(prices, `{"1":{"native":{"xyz":"1"}}}`, "currency")
	f(prices, `{"1":{"0x12":{"usd":"1"}}}`, "address")
	for _, p := range []string{`"-1"`, `-1`, `1e5`, `"01"`, `"."`, `"1."`, `".5"`, `""`, `null`, `"1,5"`, `"` + strings.Repeat("1", 61) + `"`} {
		f(prices, `{"1":{"native":{"usd":`+p+`}}}`, "price")
	}
	f(prices, `{"1":{"`+textA+`":{},"`+strings.ToLower(textA)+`":{}}}`, "twice")
	f(reputation, `{"1":{"`+textA+`":"bad"}}`, "neither")
	f(reputation, `{"1":{"`+textA+`":""}}`, "neither")
	f(metadata, `{"1":{"`+textA+`":{"x":{}}}}`, "token ID")
	f(metadata, `{"1":{"`+textA+`":{"1":null}}}`, "indexStatus")
	f(metadata, `{"1":{"`+textA+`":{"1":{"indexStatus":"indexed"}}}}`, "indexStatus")
	f(metadata, `{"1":{"`+textA+`":{"1":{"nmae":"x"}}}}`, "unknown field")
}

// TestReload: a changed file is taken, a broken or missing one is not.
func TestReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testReload)
}

func testReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.json")
	version := time.Unix(1_700_000_000, 0)
	put := func(content string) {
		t.Helper()
		write(t, path, content)
		version = version.Add(time.Minute)
		if err := os.Chtimes(path, version, version); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"1":{"native":{"usd":"1"}}}`)
	var log bytes.Buffer
	p, err := OpenPrices(path, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	f := func(want, wantLog string) {
		t.Helper()
		<-time.After(reload.Every) // the next look is due
		log.Reset()
		if got := p.Price("1", nil, "usd"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := log.String(); !strings.Contains(got, wantLog) || (got == "") != (wantLog == "") {
			t.Errorf("log %q, want %q", got, wantLog)
		}
	}
	f("1", "")
	put(`{"1":{"native":{"usd":"2"}}}`)
	f("2", "read again")
	f("2", "")
	put(`{"1":{"native":`)
	f("2", "stays")
	f("2", "") // said once
	put(`{"1":{"native":{"usd":"3"}}}`)
	f("3", "read again")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f("3", "stays")

	// Not due: the file is not looked at.
	put(`{"1":{"native":{"usd":"4"}}}`)
	if got := p.Price("1", nil, "usd"); got != "3" {
		t.Errorf("got %q before a look was due", got)
	}
	if _, err := OpenPrices(path+"x", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"1":{"native":{"usd":"25.31"}}}`))
	f.Add([]byte(`{"1":{"` + textA + `":"Malicious"}}`))
	f.Add([]byte(`{"1":{"` + textA + `":{"1":{"name":"x"}}}}`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = parsePrices(b)
		_, _ = parseReputation(b)
		_, _ = parseMetadata(b)
	})
}
