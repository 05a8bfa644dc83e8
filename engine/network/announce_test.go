package network

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/source/platform"
)

// TestAnnouncements: an upgrade that one of the nodes knows and this release does not is
// said at once and daily in the log, is a warning of the check before its time, and turns
// it red from then on. It is known while no node answers, and gone when none knows it.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		old := &fakeNode{results: map[string]string{"info.upgrades": `{"heliconTime":"2000-01-01T00:00:00Z"}`, "info.getNodeVersion": `{"version":"avalanchego/1.15.0"}`}}
		later := &fakeNode{results: map[string]string{"info.upgrades": `{"heliconTime":"2000-01-01T00:00:00Z","avogadroTime":"2000-01-03T12:00:00Z"}`, "info.getNodeVersion": `{"version":"avalanchego/1.16.1"}`}}
		var nodes []platform.Caller
		var log bytes.Buffer
		a := &announcements{nodes: func() []platform.Caller { return nodes }, log: slog.New(slog.NewTextHandler(&log, nil))}
		check := func(warning, wrong string) {
			t.Helper()
			a.ask(t.Context())
			a.warn(time.Now())
			msg, err := a.check(t.Context())
			m := msg.(upgradesMessage)
			if (warning == "") != (m.Warning == "") || !strings.Contains(m.Warning, warning) || (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
				t.Errorf("%+v, %v, want %q and %q", m, err, warning, wrong)
			}
		}
		nodes = []platform.Caller{old}
		check("", "")
		if got := a.needs(time.Now()); got != "" || log.Len() > 0 {
			t.Errorf("needs %q; %s", got, &log)
		}
		nodes = append(nodes, later)
		for range 36 { // hours
			check("avogadro comes at 2000-01-03T12:00:00Z: install a release", "")
			<-time.After(time.Hour)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 2 {
			t.Errorf("%d lines in 36 hours:\n%s", n, &log)
		}
		if got := a.needs(time.Now()); got != "avalanchego 1.16.1" {
			t.Errorf("needs %q", got)
		}
		<-time.After(24 * time.Hour)
		check("", "avogadro came at 2000-01-03T12:00:00Z: install a release")
		old.silent()
		later.silent()
		check("", "avogadro came")
		if got := a.needs(time.Now()); got != "avalanchego 1.16.1 and upgrade avogadro of 2000-01-03" {
			t.Errorf("needs %q", got)
		}
		later.set("info.upgrades", `{}`)
		check("", "")
	})
}
