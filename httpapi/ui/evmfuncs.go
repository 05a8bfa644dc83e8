package ui

import (
	"fmt"
	"html/template"
	"time"

	"quorate/httpapi/ui/plain"
)

// evmFunctions are those of templates about EVM chains.
var evmFunctions = template.FuncMap{
	// said: words of strangers, to be put into <bdi>.
	"said": func(s string) string { return plain.Text(s, 64) },
	"clip": plain.Text,
	// exact: a whole number of base units as an amount, to the last digit.
	"exact": exact,
	// moment: when an interval begins.
	"moment": func(unix int64, interval string) string {
		if interval == "hour" {
			return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04")
		}
		return time.Unix(unix, 0).UTC().Format(time.DateOnly)
	},
	"gwei": func(units string) string { return plain.Amount(units, 9) },
	"yesno": func(v bool) string {
		if v {
			return "yes"
		}
		return "no"
	},
}

// exact writes base units as an amount. Decimals are a number or nil: then the amount is
// in base units, and says so.
func exact(units string, decimals any) (string, error) {
	if units == "" {
		return "unknown", nil
	}
	switch d := decimals.(type) {
	case int:
		return plain.Amount(units, d), nil
	case *int:
		if d != nil {
			return plain.Amount(units, *d), nil
		}
		return plain.Digits(units) + " base units", nil
	}
	return "", fmt.Errorf("exact: decimals are a %T", decimals)
}
