package sheet

import (
	"encoding/csv"
	"strings"
	"testing"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ answer, want string }{
		"members within members": {`{"transactions":[{"hash":"0x1","from":{"address":"0xa","name":null},"n":1},{"hash":"0x2","to":{"address":"0xb"},"ok":true}],"nextPageToken":"x"}`,
			"hash,from.address,from.name,n,to.address,ok\n0x1,0xa,,1,,\n0x2,,,,0xb,true\n"},
		"lists":            {`[{"ids":["a","b"],"parts":[{"x":1}],"none":[]}]`, "ids,parts,none\na b,\"[{\"\"x\"\":1}]\",\n"},
		"words of a token": {`{"tokens":[{"name":"=HYPERLINK(\"x\")","symbol":"a,b\nc"}]}`, "name,symbol\n\"'=HYPERLINK(\"\"x\"\")\",\"a,b\ufffdc\"\n"},
		"big numbers":      {`{"addresses":[{"sortKey":573100000000000000000}]}`, "sortKey\n573100000000000000000\n"},
		"an empty list":    {`{"blocks":[]}`, "\n"},
	} {
		got, err := Append(nil, []byte(test.answer))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, answer := range []string{``, `{}`, `{"a":1}`, `"x"`, `{"a":[`, `nonsense`} {
		if _, err := Append(nil, []byte(answer)); err == nil {
			t.Errorf("%q is a list", answer)
		}
	}
}

// Whatever is answered, what comes out is CSV with as many cells in each row.
func FuzzAppend(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":{"c":["d",1]}},{"e":null}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Append(nil, b)
		if err != nil {
			return
		}
		if _, err := csv.NewReader(strings.NewReader(string(got))).ReadAll(); err != nil {
			t.Errorf("%q became %q: %v", b, got, err)
		}
	})
}
