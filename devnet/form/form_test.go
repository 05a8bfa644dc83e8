package form

import (
	"testing"

	"github.com/holiman/uint256"
)

func TestWriter(t *testing.T) {
	t.Parallel()
	wide := new(uint256.Int).Lsh(uint256.NewInt(1), 200)
	var w Writer
	w.Open('{')
	w.Name("a").Uint(0)
	w.Name("b").Open('[')
	w.Hex([]byte{0, 15})
	w.Hex(nil)
	w.Wide(wide)
	w.Open('{')
	w.Close('}')
	w.Close(']')
	w.JSON(`"c":null,"d":1`)
	w.Hex([]byte{1})
	w.Value().Text("\"")
	w.Name("e").Wide(uint256.NewInt(1024))
	w.Close('}')
	const want = `{"a":"0x0","b":["0x000f","0x","0x100000000000000000000000000000000000000000000000000",{}],"c":null,"d":1,"0x01":"\"","e":"0x400"}`
	if string(w) != want {
		t.Errorf("got  %s\nwant %s", w, want)
	}
	after := Writer(`{"result":`)
	if after.Uint(1); string(after) != `{"result":"0x1"` {
		t.Errorf("behind a name: %s", after)
	}
}
