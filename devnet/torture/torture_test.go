package torture

import "testing"

func TestPick(t *testing.T) {
	t.Setenv(Variable, "")
	if got := Pick(3, 50); got != 3 {
		t.Errorf("without %s: %d", Variable, got)
	}
	t.Setenv(Variable, "1")
	if got := Pick(3, 50); got != 50 {
		t.Errorf("with %s: %d", Variable, got)
	}
}

func TestWatched(t *testing.T) {
	t.Setenv(Variable, "")
	want := 50
	if raced {
		want = 3
	}
	if got := Watched(3, 50); got != want {
		t.Errorf("without %s: %d instead of %d", Variable, got, want)
	}
	t.Setenv(Variable, "1")
	if got := Watched(3, 50); got != 50 {
		t.Errorf("with %s: %d", Variable, got)
	}
}
