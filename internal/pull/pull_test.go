package pull

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestWalk(t *testing.T) {
	t.Parallel()
	var p Parser
	p.Reset([]byte(` {"a" : "x\"y\\" , "list":[ "1", null ,"3"],"b":true,"c":false, "skip":{"q":[1,-2.5e+3,{"z":"}]"}]},"e":[],"f":{},"raw": [1, {"k":null}] } `))
	var got []string
	p.Members(func(name []byte) {
		switch string(name) {
		case "a":
			got = append(got, string(p.Text()))
		case "list":
			p.Elements(func(i int) {
				if p.Null() {
					got = append(got, fmt.Sprint(i, " null"))
					return
				}
				got = append(got, fmt.Sprint(i, " ", string(p.Text())))
			})
		case "b", "c":
			got = append(got, fmt.Sprint(p.Bool()))
		case "e":
			p.Elements(func(int) { t.Error("an empty array has an element") })
		case "f":
			p.Members(func([]byte) { t.Error("an empty object has a member") })
		case "raw":
			got = append(got, string(p.Raw()))
		default:
			p.Skip()
		}
	})
	if !p.End() {
		t.Fatal(p.Err())
	}
	want := `x\"y\\|0 1|1 null|2 3|true|false|[1, {"k":null}]`
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	object := func(p *Parser) { p.Members(func([]byte) { p.Skip() }) }
	array := func(p *Parser) { p.Elements(func(int) { p.Skip() }) }
	for text, read := range map[string]func(p *Parser){
		"":                         object,
		"{":                        object,
		`{"a"`:                     object,
		`{"a":`:                    object,
		`{"a":1`:                   object,
		`{"a":1,`:                  object,
		`{"a" 1}`:                  object,
		`{"a":1 "b":2}`:            object,
		`{a:1}`:                    object,
		`["a"]`:                    object,
		`{} x`:                     object,
		"[":                        array,
		"[1":                       array,
		"[1,]":                     array,
		"[,1]":                     array,
		"[1}":                      array,
		`[[1}]`:                    array,
		`["a]`:                     array,
		`["a\"]`:                   array,
		"nul":                      func(p *Parser) { p.Null() },
		"tru":                      func(p *Parser) { p.Bool() },
		"fals":                     func(p *Parser) { p.Bool() },
		"0":                        func(p *Parser) { p.Bool() },
		"1":                        func(p *Parser) { p.Text() },
		`"\`:                       func(p *Parser) { p.Text() },
		",":                        func(p *Parser) { p.Skip() },
		":":                        func(p *Parser) { p.Raw() },
		"\x00":                     func(p *Parser) { p.Raw() },
		strings.Repeat("[", 10000): func(p *Parser) { p.Skip() },
	} {
		var p Parser
		p.Reset([]byte(text))
		read(&p)
		if p.End() || !errors.Is(p.Err(), ErrSyntax) {
			t.Errorf("%.20q: error %v", text, p.Err())
		}
		// After an error nothing is read any more.
		if p.Text() != nil || p.Raw() != nil || p.Null() || p.Bool() {
			t.Errorf("%.20q: reads on after an error", text)
		}
	}
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":"c\""}],"d":null}`, `[]`, `"\\"`, `[true,false,"x"]`, "{", `{"a":}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var p Parser
		p.Reset(text)
		raw := p.Raw()
		ok := p.End()
		if json.Valid(text) && bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) < maxDepth {
			if !ok || !bytes.Equal(raw, bytes.TrimSpace(text)) {
				t.Fatalf("valid JSON is refused: %v", p.Err())
			}
		}
		p.Reset(text)
		var walk func()
		walk = func() {
			switch {
			case p.Null():
			case p.peek() == '{':
				p.Members(func([]byte) { walk() })
			case p.peek() == '[':
				p.Elements(func(int) { walk() })
			default:
				p.Skip()
			}
		}
		if bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) > 1000 {
			return // walk recurses
		}
		walk()
		if p.End(); json.Valid(text) && p.Err() != nil {
			t.Fatalf("valid JSON is refused: %v", p.Err())
		}
	})
}
