package ui

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"quorate/httpapi/ui/plain"
)

// evmFunctions are those of templates about EVM chains.
var evmFunctions = template.FuncMap{
	// said: words of strangers, to be put into <bdi>.
	"said": func(v any) string { return plain.Text(wordOf(v), 64) },
	"clip": func(v any, limit int) string { return plain.Text(wordOf(v), limit) },
	// exact: a whole number of base units as an amount, to the last digit.
	"exact": exact, "brief": brief,
	"when": when,
	// moment: when an interval begins.
	"moment": func(unix int64, interval string) string {
		if interval == "hour" {
			return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04")
		}
		return time.Unix(unix, 0).UTC().Format(time.DateOnly)
	},
	"nano": nano, "nobody": nobody, "indexstate": stateOf,
	"yesno": func(v bool) string {
		if v {
			return "yes"
		}
		return "no"
	},
}

// maxDecimals is the largest number of decimals for which an amount is written out. Tokens
// have 6 or 18; one of 255 would fill the page with zeros.
const maxDecimals = 36

// exact writes base units as an amount. Decimals are a number or nil: then the amount is
// in base units, and says so.
func exact(v, decimals any) (string, error) {
	units := wordOf(v)
	if units == "" {
		return "unknown", nil
	}
	var d int
	switch n := decimals.(type) {
	case int:
		d = n
	case *int:
		if n == nil {
			return plain.Digits(units) + " base units", nil
		}
		d = *n
	default:
		return "", fmt.Errorf("exact: decimals are a %T", decimals)
	}
	if d > maxDecimals {
		return plain.Digits(units) + " × 10^-" + strconv.Itoa(d), nil
	}
	return plain.Amount(units, d), nil
}

// brief is [exact] for lists: at most amountDigits behind the point, and all of it where a
// reader points at it.
func brief(v, decimals any) (template.HTML, error) {
	all, err := exact(v, decimals)
	if err != nil {
		return "", err
	}
	text, title := briefly(all)
	if title == "" {
		return template.HTML(template.HTMLEscapeString(text)), nil
	}
	return template.HTML(`<span title="` + title + `">` + template.HTMLEscapeString(text) + `</span>`), nil
}

// briefly cuts an amount behind its point, and returns all of it if that is more.
func briefly(all string) (text, title string) {
	point := strings.IndexByte(all, '.')
	if point < 0 || len(all) <= point+1+amountDigits {
		return all, ""
	}
	if text = all[:point+1+amountDigits]; strings.Trim(text, "-0.") == "" {
		return "<" + text[:len(text)-1] + "1", all
	}
	return strings.TrimRight(strings.TrimRight(text, "0"), "."), all
}

// nano writes base units of a coin as 10^-9 of it: gwei of a coin of 18 decimals.
func nano(v any, decimals int) string {
	units := wordOf(v)
	if zeros := 9 - decimals; zeros > 0 && digits(units) && strings.Trim(units, "0") != "" {
		units, decimals = units+strings.Repeat("0", zeros), 9
	}
	return plain.Amount(units, decimals-9)
}

// when is [timeOf] for times that are facts: the script shows them beside how long ago
// that was.
func when(v any) (template.HTML, error) {
	html, err := timeOf(v)
	return template.HTML(strings.Replace(string(html), "<time ", "<time data-both ", 1)), err
}
