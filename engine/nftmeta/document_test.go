package nftmeta

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holiman/uint256"
)

func TestDocuments(t *testing.T) {
	t.Parallel()
	decimals := func(n uint8) *uint8 { return &n }
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for raw, want := range map[string]Document{
		`{"name":"A","description":"B","image":"ipfs://x/1.png","external_url":"https://a.example","animation_url":"https://a.example/v.mp4","background_color":"ff0000","extra":{"a":[1]}}`: {
			Name: "A", Description: "B", ImageURI: "ipfs://x/1.png", ExternalURL: "https://a.example", AnimationURI: "https://a.example/v.mp4", Background: "ff0000",
		},
		"\xef\xbb\xbf {\"name\":7,\"symbol\":\"S\"} ":                                   {Name: "7", Symbol: "S"},
		`{"name":"a\u202eb\u0000c\u001b[2J\ud800","description":"x\r\n\ty"}`:            {Name: "abc[2J", Description: "x\n\ty"},
		`{"name":null,"Name":"other case","image":5,"image_url":"ar://y"}`:              {ImageURI: "ar://y"},
		`{"name":"a","image":"javascript:alert(1)"}`:                                    {Name: "a"},
		`{"name":"a","image":" JAVASCRIPT:x","external_url":"data:text/html,x"}`:        {Name: "a"},
		`{"name":"a","image":"data:text/html;base64,x"}`:                                {Name: "a"},
		`{"name":"a","image":"data:image/svg+xml;base64,PHN2Zz4="}`:                     {Name: "a", ImageURI: "data:image/svg+xml;base64,PHN2Zz4="},
		`{"name":"a","image":"https://a.example/` + strings.Repeat("x", maxLink) + `"}`: {Name: "a"},
		`{"name":"` + strings.Repeat("é", maxName) + `"}`:                               {Name: strings.Repeat("é", maxName/2)},
		`{"attributes":[{"trait_type":"<b>","value":"x","evil":{"a":1}},{"value":1.5,"max_value":2,"display_type":"number"},7,{"trait_type":[]},{"trait_type":"on","value":true}]}`: {
			Attributes: `[{"trait_type":"<b>","value":"x"},{"display_type":"number","value":1.5,"max_value":2},{"trait_type":"on","value":true}]`,
		},
		`{"traits":[{"trait_type":"a","value":"b"}]}`:                                                     {Attributes: `[{"trait_type":"a","value":"b"}]`},
		`{"name":"a","attributes":{"a":"b"},"properties":[1],"decimals":256}`:                             {Name: "a"},
		`{"decimals":18,"properties":{"b":1e400,"a":{"x":["y"]}}}`:                                        {Decimals: decimals(18), Properties: `{"a":{"x":["y"]},"b":1e400}`},
		`{"name":"a","decimals":-1,"properties":{"a":` + nested(maxNested) + `}}`:                         {Name: "a"},
		`{"properties":{"a\u202e":"b\u001bc\ud800","d":["\u2066e",{"\u0000f":1}],"\u202e":2}}`:            {Properties: `{"a":"bc","d":["e",{"f":1}]}`},
		`{"name":"a","image":"https://a.example/\u202egnp.exe","external_url":"https://a.example\u2066"}`: {Name: "a"},
		`{"name":"a","decimals":null}`:                                                                    {Name: "a"},
		`{"name":"a","deep":` + nested(maxDepth-1) + `}`:                                                  {Name: "a"},
		`{"name":"first","name":"second"}`:                                                                {Name: "second"},
	} {
		got, s := parseDocument([]byte(raw), uint256.NewInt(1), false)
		if s != "" || !reflect.DeepEqual(*got, want) {
			t.Errorf("%.100q: %+v %s", raw, got, s)
		}
	}
	for raw, want := range map[string]Status{
		"": InvalidJSON, "{": InvalidJSON, "<html>": InvalidJSON, `{"name":"a"} x`: InvalidJSON, "\x1f\x8b\x08": InvalidJSON, `{"a":"` + "\n" + `"}`: InvalidJSON,
		"[]": InvalidMetadata, `"x"`: InvalidMetadata, "null": InvalidMetadata, "{}": InvalidMetadata, `{"error":"not found"}`: InvalidMetadata,
		`{"name":""}`: InvalidMetadata, `{"name":"a","deep":` + nested(maxDepth) + `}`: InvalidMetadata, strings.Repeat("[", 100_000): InvalidMetadata,
	} {
		if got, s := parseDocument([]byte(raw), uint256.NewInt(1), false); s != want {
			t.Errorf("%.60q: %+v %s, want %s", raw, got, s, want)
		}
	}
}

// TestDocumentIDs: in the texts of ERC-1155 documents {id} stands for the ID, as clients of
// the standard have to put it.
func TestDocumentIDs(t *testing.T) {
	t.Parallel()
	raw, far := []byte(`{"name":"Item {id}","image":"https://a.example/{id}.png"}`), strings.Repeat("0", 62)+"0c"
	got, s := parseDocument(raw, uint256.NewInt(12), true)
	if s != "" || got.Name != "Item "+far || got.ImageURI != "https://a.example/"+far+".png" {
		t.Errorf("%+v %s", got, s)
	}
	if got, s = parseDocument(raw, uint256.NewInt(12), false); s != "" || got.Name != "Item {id}" {
		t.Errorf("%+v %s", got, s)
	}
	if got, s = parseDocument([]byte(`{"name":"`+strings.Repeat("{id}", 50_000)+`"}`), uint256.NewInt(12), true); s != "" || len(got.Name) > maxName {
		t.Errorf("%+v %s", got, s)
	}
}

// FuzzDocument: whatever a document has, what is kept is bounded, of characters that print,
// and as JSON where it is said to be; read again it stays.
func FuzzDocument(f *testing.F) {
	for _, raw := range []string{
		`{"name":"a","description":"b","image":"ipfs://x","attributes":[{"trait_type":"a","value":1}],"properties":{"a":[1]},"decimals":3}`,
		`{"name":"{id}","image":"data:image/png;base64,AA=="}`, `[[[[`, `{"name":"\ud800\u202e"}`, `{"attributes":[{}, {"value":"\u0000"}]}`, "{\"name\":\"\xff\"}",
	} {
		f.Add([]byte(raw), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, multi bool) {
		d, s := parseDocument(raw, uint256.NewInt(9), multi)
		if (d == nil) == (s == "") {
			t.Fatalf("%+v with %q", d, s)
		}
		if d == nil {
			return
		}
		for text, most := range map[string]int{
			d.Name: maxName, d.Symbol: maxSymbol, d.Description: maxDescription, d.Background: maxBackground, d.ImageURI: maxEmbedded, d.AnimationURI: maxEmbedded,
			d.ExternalURL: maxLink,
		} {
			if len(text) > most || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\u202e") {
				t.Fatalf("%q", text)
			}
		}
		for _, list := range []string{d.Attributes, d.Properties} {
			if list != "" && (!json.Valid([]byte(list)) || len(list) > 2*maxList || depth([]byte(list)) > maxNested+1 || strings.ContainsAny(list, "\u202e\u2066") || strings.Contains(list, `\u001b`)) {
				t.Fatalf("%q", list)
			}
		}
		if raw := (&record{Doc: d}).encode(); len(raw) > 64<<10 {
			t.Fatalf("a record of %d bytes", len(raw))
		}
	})
}
