package ui

import (
	"encoding/hex"
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
)

// primaryView is a page of the primary network: what all of them are made of. One
// template shows them all.
type primaryView struct {
	Title, ID string // the ID that the page is about, whole; empty if none
	Lead      string
	Notices   []string // what is not whole
	Network   string
	Networks  []navLink
	Tabs      []navLink
	Filters   []navLink
	Figures   []figure
	Live      bool // figures change with time
	Parts     []part
}

// navLink is a link of a navigation.
type navLink struct {
	Text, Link string
	Current    bool
}

// figure is a number worth reading from afar.
type figure struct{ Name, Value, Note string }

// part is a box of a page: pairs of names and values, or a table.
type part struct {
	ID, Title, Note string
	Absent          string // why there is nothing to show
	Pairs           []pair
	Heads           []head
	Rows            [][]cell
	Empty           string // of a table without rows
	pager                  // of the list, without prefixes
	More            navLink
	Bars            []bar
	Live            bool // it changes with time
}

type pair struct {
	Name  string
	Cells []cell
}

type head struct {
	Name string
	Num  bool
}

// cell is a value of a table or a pair.
type cell struct {
	Text string
	Link string // one of our own paths, empty for none
	Kind string // hash: shortened; num: to the right; time: of Unix seconds; badge; raw: in full, monospace; else text
	Mark string // of a badge: ok, warn, bad, note
	Note string // behind the text
	// Title is all of what the text shows in part, empty if that is all.
	Title string
	More  []cell
}

// bar is a share of a whole.
type bar struct {
	Name, Value, Share string
	Width              float64 // of 100
}

// maxText bounds what a name of a chain, asset or subnet may take.
const maxText = 100

func textCell(s string) cell { return cell{Text: plain.Text(s, maxText)} }
func numCell(v any) cell     { return cell{Text: plain.Digits(wordOf(v)), Kind: "num"} }
func timeCell(v shape.Unix) cell {
	return cell{Text: strconv.FormatInt(int64(v), 10), Kind: "time"}
}
func badgeCell(s string) cell {
	return cell{Text: plain.Text(s, maxText), Kind: "badge", Mark: markOf(s)}
}
func hashCell[S ~string](id S, link string) cell {
	return cell{Text: string(id), Link: link, Kind: "hash"}
}

// unknown stands for what the API leaves out.
var unknown = cell{Text: "unknown"}

// markOf returns how a state is shown.
func markOf(state string) string {
	switch state {
	case "active":
		return "ok"
	case "pending":
		return "note"
	case "removed":
		return "warn"
	}
	return ""
}

// navax shows an amount of nAVAX as AVAX, exactly.
func navax(v any) cell {
	nAVAX := wordOf(v)
	if nAVAX == "" {
		return cell{Text: "unknown", Kind: "num"}
	}
	text, title := briefly(plain.Amount(nAVAX, 9))
	return cell{Text: text + " AVAX", Title: title, Kind: "num"}
}

// amountCell shows an amount with the asset's symbol, which is a word of strangers, or its ID.
func amountCell(n *primaryNet, a *shape.AssetAmount) cell {
	c := cell{Kind: "num"}
	c.Text, c.Title = briefly(plain.Amount(string(a.Amount), a.Denomination))
	if a.Type == "nft" {
		c.Text = "NFT"
	}
	symbol := plain.Text(a.Symbol, 12)
	if symbol == "" {
		symbol = plain.Short(string(a.AssetID))
	}
	c.More = []cell{{Text: symbol, Link: n.link("asset", string(a.AssetID))}}
	return c
}

func amountCells(n *primaryNet, list []shape.AssetAmount) []cell {
	var cells []cell
	for i := range list {
		c := amountCell(n, &list[i])
		c.Kind = ""
		cells = append(cells, c)
	}
	return cells
}

// lockCell shows the end of a lock, nothing if there is none. Strangers choose it.
func lockCell(until uint64) cell {
	if until == 0 || until > math.MaxInt64 {
		return cell{}
	}
	return timeCell(shape.Unix(until))
}

// percentCell shows per cent as the API has them, a text or a number.
func percentCell[T string | float64](v T) cell {
	if f, ok := any(v).(float64); ok {
		return cell{Text: strconv.FormatFloat(f, 'f', -1, 64) + "%", Kind: "num"}
	}
	return cell{Text: any(v).(string) + "%", Kind: "num"}
}

// memoCells shows the bytes that somebody wrote into a transaction: as text if it is
// some, else in hex.
func memoCells(memo shape.Hex) []cell {
	b, err := hex.DecodeString(strings.TrimPrefix(string(memo), "0x"))
	if err != nil || len(b) == 0 {
		return nil
	}
	raw := cell{Text: plain.Text(string(memo), 600), Kind: "raw"}
	if !utf8.Valid(b) {
		return []cell{raw}
	}
	return []cell{{Text: plain.Text(string(b), 300)}, raw}
}

// add appends a pair if there is something to show.
func (p *part) add(name string, cells ...cell) {
	for _, c := range cells {
		if c.Text != "" {
			p.Pairs = append(p.Pairs, pair{name, cells})
			return
		}
	}
}

// absent makes the part say why it is empty. Anything but an answer of the API is an
// error of the page.
func (p *part) absent(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	p.Absent = plain.Text(e.Message, 300)
	return nil
}

// without leaves out columns by their names.
func (p *part) without(names ...string) {
	for i := len(p.Heads) - 1; i >= 0; i-- {
		if !slices.Contains(names, p.Heads[i].Name) {
			continue
		}
		p.Heads = slices.Delete(p.Heads, i, i+1)
		for j, row := range p.Rows {
			p.Rows[j] = slices.Delete(row, i, i+1)
		}
	}
}

// addParts adds parts to a page. Tables without rows are only named, together.
func (v *primaryView) addParts(list ...part) {
	var empty []string
	for _, p := range list {
		if len(p.Heads) > 0 && len(p.Rows) == 0 && p.Absent == "" && p.First == "" {
			empty = append(empty, strings.ToLower(p.Title[:1])+p.Title[1:])
			continue
		}
		v.Parts = append(v.Parts, p)
	}
	if len(empty) > 0 {
		v.Parts = append(v.Parts, part{Title: "Nothing else", Note: "There is nothing under: " + strings.Join(empty, "; ") + "."})
	}
}

// clean takes from all text of a page what would deceive a reader, wherever it came from.
func (v *primaryView) clean() {
	const most = 700
	v.Title, v.ID, v.Lead = plain.Text(v.Title, most), plain.Text(v.ID, most), plain.Text(v.Lead, most)
	for i := range v.Figures {
		f := &v.Figures[i]
		f.Name, f.Value, f.Note = plain.Text(f.Name, most), plain.Text(f.Value, most), plain.Text(f.Note, most)
	}
	var cells func(list []cell)
	cells = func(list []cell) {
		for i := range list {
			list[i].Text, list[i].Note = plain.Text(list[i].Text, most), plain.Text(list[i].Note, most)
			cells(list[i].More)
		}
	}
	for i := range v.Parts {
		p := &v.Parts[i]
		p.Title, p.Note, p.Absent = plain.Text(p.Title, most), plain.Text(p.Note, most), plain.Text(p.Absent, most)
		for j := range p.Pairs {
			cells(p.Pairs[j].Cells)
		}
		for _, row := range p.Rows {
			cells(row)
		}
		for j := range p.Bars {
			p.Bars[j].Value = plain.Text(p.Bars[j].Value, most)
		}
	}
}

// heads makes the heads of a table; those with a # before them are of numbers.
func heads(names ...string) []head {
	list := make([]head, len(names))
	for i, n := range names {
		name, num := strings.CutPrefix(n, "#")
		list[i] = head{name, num}
	}
	return list
}

// withQuery returns a path with parameters, without those that are empty.
func withQuery(path string, pairs ...string) string {
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		path += sep + url.QueryEscape(pairs[i]) + "=" + url.QueryEscape(pairs[i+1])
		sep = "&"
	}
	return path
}
