package oracle

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// number accepts a JSON number in one way of writing it: all digits of a whole
// number, else the shortest digits that name the nearest float64.
func number(v *big.Rat) rule {
	return func(got any, _ bool) string {
		if n, ok := got.(json.Number); ok && isNumber(n.String(), v) {
			return ""
		}
		return fmt.Sprintf("server %s, node %s", show(got), numberText(v))
	}
}

func numberText(v *big.Rat) string {
	if v.IsInt() {
		return v.Num().String()
	}
	f, _ := v.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func isNumber(text string, v *big.Rat) bool {
	if v.IsInt() {
		return text == v.Num().String()
	}
	want, _ := v.Float64() // the nearest
	got, err := strconv.ParseFloat(text, 64)
	return err == nil && got == want && digits(text) == digits(numberText(v))
}

// digits returns the significant digits of a number, whatever its exponent.
func digits(text string) string {
	text, _, _ = strings.Cut(strings.ToLower(text), "e")
	return strings.Trim(strings.NewReplacer(".", "", "-", "").Replace(text), "0")
}
