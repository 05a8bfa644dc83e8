package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"pageSize", "pageToken", "sortOrder", "startBlock", "endBlock", "status"}
	f := func(name, want string) {
		t.Helper()
		if got, ok := Nearest(name, known); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", name, got, ok, want)
		}
	}
	f("pagesize", "pageSize")
	f("page_size", "pageSize")
	f("pageSizes", "pageSize")
	f("ageSiz", "pageSize")
	f("pageTokens", "pageToken")
	f("startBlok", "startBlock")
	f("statis", "status")
	f("statu", "") // too short
	f("status", "")
	f("limit", "")
	f("cursor", "")
	f("pageNumber", "")
	f("", "")
	f(strings.Repeat("x", 10_000), "")
	if got, _ := Nearest("pageSize", []string{"pageSixx", "pageSiz", "pageSixe"}); got != "pageSiz" {
		t.Errorf("got %q of several", got)
	}
}
