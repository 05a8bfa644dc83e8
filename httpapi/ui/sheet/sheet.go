// Package sheet writes the lists of the API as CSV: a row for each item and a column for each
// member; of members within members one for each, named with a dot between.
package sheet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"slices"
	"strings"

	"github.com/goccy/go-json"

	"quorate/engine/operation"
)

// errNoList is an answer that has nothing to make rows of.
var errNoList = errors.New("it has no list")

// Append appends the list of an answer as CSV: the first member that is a list, or the answer
// itself. Cells are safe for spreadsheets: names of tokens are the words of strangers.
func Append(dst, answer []byte) ([]byte, error) {
	list, err := listOf(answer)
	if err != nil {
		return nil, err
	}
	var columns []string
	rows := make([]map[string]string, len(list))
	for i, item := range list {
		rows[i] = map[string]string{}
		if err := flatten(item, "", func(name, text string) {
			if _, ok := rows[i][name]; !ok && !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
			rows[i][name] = text
		}); err != nil {
			return nil, err
		}
	}
	b := bytes.NewBuffer(dst)
	w := csv.NewWriter(b)
	record := make([]string, len(columns))
	_ = w.Write(columns) // Error has what failed
	for _, row := range rows {
		for i, name := range columns {
			record[i] = operation.SafeCell(row[name])
		}
		_ = w.Write(record)
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// listOf returns the items of the first list of an answer.
func listOf(answer []byte) (items []json.RawMessage, err error) {
	if answer = bytes.TrimSpace(answer); len(answer) > 0 && answer[0] == '[' {
		return items, json.Unmarshal(answer, &items)
	}
	err = members(answer, func(_ string, v json.RawMessage) error {
		if v[0] != '[' || items != nil {
			return nil
		}
		items = []json.RawMessage{}
		return json.Unmarshal(v, &items)
	})
	if err == nil && items == nil {
		err = errNoList
	}
	return items, err
}

// flatten calls cell for each value within one, with its name. Lists of plain values are
// written with spaces between them, lists of objects as they are.
func flatten(v json.RawMessage, name string, cell func(name, text string)) error {
	switch v[0] {
	case '{':
		return members(v, func(member string, v json.RawMessage) error {
			if name != "" {
				member = name + "." + member
			}
			return flatten(v, member, cell)
		})
	case '[':
		var list []any
		if err := json.Unmarshal(v, &list); err != nil {
			return err
		}
		text, plain := make([]string, len(list)), true
		for i, x := range list {
			text[i], plain = asText(x), plain && asText(x) != ""
		}
		if cell(name, string(v)); plain {
			cell(name, strings.Join(text, " "))
		}
	case '"':
		var s string
		if err := json.Unmarshal(v, &s); err != nil {
			return err
		}
		cell(name, s)
	case 'n':
		cell(name, "")
	default:
		cell(name, string(v))
	}
	return nil
}

func asText(v any) string { s, _ := v.(string); return s }

// members calls do for each member of an object, in their order.
func members(object json.RawMessage, do func(name string, v json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.Join(errNoList, err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return err
		}
		if v = bytes.TrimSpace(v); len(v) == 0 {
			return errNoList
		}
		text, _ := name.(string)
		if err := do(text, v); err != nil {
			return err
		}
	}
	return nil
}
