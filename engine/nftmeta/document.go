package nftmeta

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-json"
	"github.com/holiman/uint256"
)

// Bounds of what is kept of a document, in bytes. Longer texts are cut, longer links and
// lists left out: a part of them is of no use.
const (
	maxName, maxSymbol, maxDescription, maxBackground = 256, 64, 4096, 32
	maxLink, maxEmbedded                              = 2048, 16 << 10
	maxAttributes, maxList                            = 128, 8 << 10
	maxTrait                                          = 256
	// maxDepth bounds the objects and lists inside each other in a document, maxNested
	// those in properties, which are kept as they are.
	maxDepth, maxNested = 16, 4
)

// Document is what is kept of a token's metadata.
type Document struct {
	Name         string `json:"name,omitempty"`
	Symbol       string `json:"symbol,omitempty"`
	Description  string `json:"description,omitempty"`
	ImageURI     string `json:"image,omitempty"`
	AnimationURI string `json:"animation,omitempty"`
	ExternalURL  string `json:"external,omitempty"`
	Background   string `json:"background,omitempty"`
	Attributes   string `json:"attributes,omitempty"` // a JSON list
	Properties   string `json:"properties,omitempty"` // a JSON object
	Decimals     *uint8 `json:"decimals,omitempty"`
}

// parser reads the members of a document.
type parser struct {
	members map[string]any
	id      *uint256.Int // nil: no ID is put into texts
}

// parseDocument reads a document, of which it believes nothing. multi: it is of an ERC-1155
// token, in whose texts {id} stands for its ID.
func parseDocument(raw []byte, id *uint256.Int, multi bool) (*Document, Status) {
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	if depth(raw) > maxDepth {
		return nil, InvalidMetadata
	}
	if !json.Valid(raw) {
		return nil, InvalidJSON
	}
	p := parser{}
	if multi {
		p.id = id
	}
	if in := json.NewDecoder(bytes.NewReader(raw)); raw[0] == '{' {
		in.UseNumber()
		_ = in.Decode(&p.members) // it is valid
	}
	d := &Document{
		Name: p.text(maxName, "name"), Symbol: p.text(maxSymbol, "symbol"), Description: p.text(maxDescription, "description"),
		ImageURI:     p.link([]string{"data:image/"}, "image", "image_url", "imageUrl", "image_uri"),
		AnimationURI: p.link([]string{"data:image/", "data:audio/", "data:video/"}, "animation_url", "animationUrl"),
		ExternalURL:  p.link(nil, "external_url", "external_link", "externalUrl"), Background: p.text(maxBackground, "background_color", "background"),
		Attributes: p.attributes(), Properties: p.properties(), Decimals: p.decimals(),
	}
	if *d == (Document{}) {
		return nil, InvalidMetadata
	}
	return d, ""
}

// depth returns how deep objects and lists of JSON are inside each other, as far as it has
// any. What it is given may be anything.
func depth(raw []byte) (most int) {
	now, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			now++
			most = max(most, now)
		case c == '}', c == ']':
			now--
		}
	}
	return most
}

// scalar returns a text or a number as a text.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// text returns the first of some members that has one.
func (p *parser) text(most int, names ...string) string {
	for _, name := range names {
		if t := clean(p.filled(scalar(p.members[name])), most); t != "" {
			return t
		}
	}
	return ""
}

func (p *parser) filled(text string) string {
	text = cut(text, maxEmbedded+1) // longer ones are not kept anyway
	if p.id == nil {
		return text
	}
	if with, ok := withID(text, p.id); ok {
		return with
	}
	return text
}

// schemes are those of links that a client can follow.
var schemes = []string{"https://", "http://", "ipfs://", "ipns://", "ar://"}

// link returns the first of some members that is an address a client can follow, or
// embedded data of one of the kinds.
func (p *parser) link(kinds []string, names ...string) string {
	for _, name := range names {
		uri := strings.TrimSpace(p.filled(scalar(p.members[name])))
		if len(uri) > maxEmbedded || strings.ContainsFunc(uri, func(r rune) bool { return unicode.IsControl(r) || hidden(r) }) {
			continue
		}
		lower := strings.ToLower(cut(uri, 32))
		begins := func(with string) bool { return strings.HasPrefix(lower, with) && len(uri) > len(with) }
		if slices.ContainsFunc(kinds, begins) || len(uri) <= maxLink && slices.ContainsFunc(schemes, begins) {
			return uri
		}
	}
	return ""
}

// trait is one of a token's attributes.
type trait struct {
	DisplayType any `json:"display_type,omitempty"`
	TraitType   any `json:"trait_type,omitempty"`
	Value       any `json:"value,omitempty"`
	MaxValue    any `json:"max_value,omitempty"`
}

// attributes returns the traits of a token as a JSON list, with the members that are usual.
func (p *parser) attributes() string {
	v, there := p.members["attributes"]
	if !there {
		v = p.members["traits"]
	}
	list, _ := v.([]any)
	var kept []trait
	size := 0
	for _, item := range list {
		m, _ := item.(map[string]any)
		t := trait{plain(m["display_type"]), plain(m["trait_type"]), plain(m["value"]), plain(m["max_value"])}
		if t.Value == nil && t.TraitType == nil {
			continue
		}
		if size += len(encode(t)); len(kept) == maxAttributes || size > maxList {
			break
		}
		kept = append(kept, t)
	}
	if kept == nil {
		return ""
	}
	return encode(kept)
}

// plain returns a text, a number or a truth value, nil for anything else.
func plain(v any) any {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return clean(v, maxTrait)
	case json.Number:
		if len(v) <= maxTrait {
			return v
		}
	}
	return nil
}

// properties returns a token's properties, each text and each name cleaned, if they are
// not too many.
func (p *parser) properties() string {
	object, _ := p.members["properties"].(map[string]any)
	text := encode(cleanValues(object))
	if text == "{}" || len(text) > maxList || depth([]byte(text)) > maxNested {
		return ""
	}
	return text
}

// cleanValues cleans names and texts of an object, and those inside it. Of names that are
// the same then the first one stays.
func cleanValues(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		to := clean(name, maxList)
		if _, twice := out[to]; to != "" && !twice {
			out[to] = cleanValue(object[name])
		}
	}
	return out
}

func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return clean(v, maxList)
	case map[string]any:
		return cleanValues(v)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
	}
	return v
}

func (p *parser) decimals() *uint8 {
	number, _ := p.members["decimals"].(json.Number)
	n, err := strconv.ParseUint(string(number), 10, 8)
	if err != nil {
		return nil
	}
	d := uint8(n)
	return &d
}

// encode returns v as JSON in which <, > and & stand as they are, not as six bytes each.
// Who puts it into a page has to escape it, as all else that strangers wrote.
func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// hidden reports whether a character turns the direction of what follows, or is none.
func hidden(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError }

// clean returns a text without what does not print or is hidden, cut to a length in bytes.
func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || hidden(r) {
			return -1
		}
		return r
	}, text)
	return strings.TrimSpace(cut(strings.TrimSpace(text), most))
}

// cut returns the beginning of a text, of whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
