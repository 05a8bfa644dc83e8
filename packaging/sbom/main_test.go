package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"testing"
)

func TestMaterials(t *testing.T) {
	t.Parallel()
	got := materials("quorate", &debug.BuildInfo{
		GoVersion: "go1.26.0", Main: debug.Module{Path: "quorate", Version: "v1.0.0"},
		Deps: []*debug.Module{{Path: "b", Version: "v2.0.0", Replace: &debug.Module{Path: "c", Version: "v3.0.0"}}, {Path: "a", Version: "v1.0.0"}},
	})
	want := []string{"pkg:golang/a@v1.0.0", "pkg:golang/c@v3.0.0", "pkg:golang/std@go1.26.0"}
	for i, c := range got.Components {
		if i >= len(want) || c.PURL != want[i] {
			t.Errorf("component %d is %+v", i, c)
		}
	}
	if len(got.Components) != len(want) || got.Metadata.Component.PURL != "pkg:golang/quorate@v1.0.0" {
		t.Errorf("%+v", got)
	}
}

// TestRun reads this program itself.
func TestRun(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(self, &out); err != nil {
		t.Fatal(err)
	}
	var l list
	if err := json.Unmarshal(out.Bytes(), &l); err != nil || len(l.Components) == 0 {
		t.Errorf("%v: %s", err, out.Bytes())
	}
	if err := run("/dev/null", &out); err == nil {
		t.Error("no program, and no error")
	}
}
