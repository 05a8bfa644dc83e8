package platform

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-json"

	"quorate/engine/source"
)

// TestUnknownUpgrades: what a node of a later release announces is found, with its date,
// and what is known, never, or no upgrade is not.
func TestUnknownUpgrades(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 3, 1, 15, 0, 0, 0, time.UTC)
	for text, want := range map[string][]Upgrade{
		`{}`: nil,
		`{"graniteTime":"2020-12-05T05:00:00Z","heliconTime":"9999-12-01T00:00:00Z","graniteEpochDuration":30000000000,"apricotPhase4MinPChainHeight":0}`:             nil,
		`{"heliconTime":"2026-09-22T15:00:00Z","avogadroTime":"9999-12-01T00:00:00Z","avogadroLimit":7,"avogadroName":"soon","avogadroList":[1],"avogadroNone":null}`: nil,
		`{"heliconTime":"2026-09-22T15:00:00Z","avogadroTime":"2027-03-01T16:00:00+01:00","avogadroLimit":7,"zeta":"2020-01-01T00:00:00Z"}`:                           {{"avogadro", at}, {"zeta", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}},
	} {
		got, err := (script{"info.upgrades": text}).client(t).UnknownUpgrades(t.Context())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	var many []string
	for i := range maxUnknown + 1 {
		many = append(many, fmt.Sprintf(`"u%dTime":"2020-01-01T00:00:00Z"`, i))
	}
	for _, text := range []string{
		`[]`, `{"` + strings.Repeat("a", maxUpgradeName+1) + `":"2020-01-01T00:00:00Z"}`, `{"a\nb":"2020-01-01T00:00:00Z"}`,
		`{"Time":"2020-01-01T00:00:00Z"}`, "{" + strings.Join(many, ",") + "}",
	} {
		if got, err := (script{"info.upgrades": text}).client(t).UnknownUpgrades(t.Context()); !errors.Is(err, source.ErrBadAnswer) {
			t.Errorf("%.80s: %+v, %v", text, got, err)
		}
	}
	if got, err := (script{}).client(t).UnknownUpgrades(t.Context()); !errors.Is(err, ErrNoMethod) {
		t.Errorf("an older node: %+v, %v", got, err)
	}
}

func FuzzUnknownUpgrades(f *testing.F) {
	f.Add(`{"heliconTime":"2026-09-22T15:00:00Z","avogadroTime":"2027-03-01T16:00:00+01:00"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var members map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &members) != nil {
			return
		}
		list, err := unknownUpgrades(members)
		if err != nil && list != nil || len(list) > maxUnknown {
			t.Fatalf("%d upgrades, %v", len(list), err)
		}
		for _, u := range list {
			if !plainName(u.Name) || u.Time.IsZero() || u.Time.Year() > neverYear {
				t.Fatalf("%+v", u)
			}
		}
	})
}

func TestSupported(t *testing.T) {
	t.Parallel()
	if got := Supported(); got != "1.14.x and 1.15.x" {
		t.Error(got)
	}
	for text, want := range map[string]bool{"avalanchego/1.14.2": false, "avalanchego/1.15.99": false, "avalanchego/1.16.0": true, "avalanchego/2.0.0": true} {
		v, err := ParseVersion(text)
		if err != nil || v.Newer() != want {
			t.Errorf("%s: %v, %v", text, v.Newer(), err)
		}
	}
}
