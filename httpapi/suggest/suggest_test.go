package suggest

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	t.Parallel()
	known := []string{"pageSize", "pageToken", "startTimestamp", "endTimestamp", "from", "HTTP_PORT", "HTTP_HOST"}
	f := func(name, want string) {
		t.Helper()
		if got, ok := Name(name, known); got != want && ok || ok != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", name, got, ok, want)
		}
	}
	f("pagesize", "pageSize")
	f("pageSiez", "pageSize")
	f("pagSiz", "pageSize")
	f("HTP_PORT", "HTTP_PORT")
	f("HTTP_PROT", "HTTP_PORT")
	f("HTTP_POST", "HTTP_PORT") // as near to the host: the first wins
	f("endTimestmp", "endTimestamp")
	f("pageSize", "")   // known
	f("form", "")       // too short to tell
	f("page", "")       // too short to tell
	f("verbosity", "")  // near to nothing
	f("pagesizes1", "") // three letters off
	f(strings.Repeat("pageSize", 1000), "")
	f("pàgéSize", "pageSize")
}
