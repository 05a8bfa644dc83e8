package view

import (
	"bytes"
	"errors"
	"math/big"

	"github.com/holiman/uint256"
)

// Currencies are those that prices can be in.
var Currencies = [...]string{
	"usd", "eur", "aud", "cad", "chf", "clp", "cny", "czk", "dkk", "gbp", "hkd", "huf", "jpy", "nzd",
}

// DefaultCurrency is that of requests which name none.
const DefaultCurrency = "usd"

// Currency returns the constant of a currency's name.
func Currency(name []byte) (string, bool) {
	for _, c := range Currencies {
		if string(name) == c {
			return c, true
		}
	}
	return "", false
}

// maxPriceDigits bounds the length of a price.
const maxPriceDigits = 60

var errPrice = errors.New("a price must be a decimal number such as 12.34, without sign or exponent")

// CheckPrice reports whether s is a decimal number that is also a JSON number.
func CheckPrice(s string) error {
	whole, frac, dot := bytes.Cut([]byte(s), []byte("."))
	if len(s) > maxPriceDigits || len(whole) == 0 || len(whole) > 1 && whole[0] == '0' || dot && len(frac) == 0 {
		return errPrice
	}
	for _, part := range [][]byte{whole, frac} {
		for _, c := range part {
			if c < '0' || c > '9' {
				return errPrice
			}
		}
	}
	return nil
}

// valueDigits is the number of decimals that values of balances are rounded to.
const valueDigits = 8

// AppendValue appends amount * 10^-decimals * price, rounded half up to eight
// decimals, without trailing zeros. Price went through CheckPrice.
func AppendValue(dst []byte, amount *uint256.Int, decimals uint8, price string) []byte {
	whole, frac, _ := bytes.Cut([]byte(price), []byte("."))
	v, _ := new(big.Int).SetString(string(whole)+string(frac), 10)
	v.Mul(v, amount.ToBig())
	scale := int(decimals) + len(frac)
	if cut := scale - valueDigits; cut > 0 {
		p := pow10(cut)
		v.Add(v, new(big.Int).Rsh(p, 1)).Quo(v, p)
		scale = valueDigits
	}
	digits := v.Append(nil, 10)
	for len(digits) <= scale {
		digits = append([]byte{'0'}, digits...)
	}
	point := len(digits) - scale
	dst = append(dst, digits[:point]...)
	if tail := bytes.TrimRight(digits[point:], "0"); len(tail) > 0 {
		dst = append(append(dst, '.'), tail...)
	}
	return dst
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
