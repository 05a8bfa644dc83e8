package platform

import (
	"errors"
	"testing"

	"quorate/engine/chain/platform/rules"
	"quorate/engine/source"
)

func TestUpgrades(t *testing.T) {
	t.Parallel()
	c := script{"info.upgrades": `{"cortinaTime":"2023-04-25T15:00:00Z","durangoTime":"2024-03-06T16:00:00Z","etnaTime":"2024-12-16T17:00:00Z","fortunaTime":"9999-12-01T00:00:00Z","heliconTime":"2026-09-22T15:00:00Z"}`}.client(t)
	if got, err := c.Upgrades(t.Context()); err != nil || got != rules.UpgradesOf(1) {
		t.Errorf("%+v, %v", got, err)
	}
	c = script{"info.upgrades": `{"cortinaTime":"2020-12-05T04:00:00Z","durangoTime":"2020-12-05T04:00:00Z","etnaTime":"2020-12-05T04:00:00Z"}`}.client(t)
	if got, err := c.Upgrades(t.Context()); err != nil || got.Helicon != rules.Never {
		t.Errorf("a node of before Helicon: %+v, %v", got, err)
	}
	for _, text := range []string{`{}`, `{"cortinaTime":"2023-04-25T15:00:00Z","durangoTime":"2024-03-06T16:00:00Z"}`,
		`{"cortinaTime":"0001-01-01T00:00:00Z","durangoTime":"2024-03-06T16:00:00Z","etnaTime":"2024-12-16T17:00:00Z"}`} {
		if got, err := (script{"info.upgrades": text}).client(t).Upgrades(t.Context()); !errors.Is(err, source.ErrBadAnswer) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if got, err := (script{}).client(t).Upgrades(t.Context()); !errors.Is(err, ErrNoMethod) {
		t.Errorf("an older node: %+v, %v", got, err)
	}
}
