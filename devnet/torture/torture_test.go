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
