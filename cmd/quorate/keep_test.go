package main

import (
	"testing"
	"time"
)

func TestKeepFlags(t *testing.T) {
	t.Parallel()
	age := func(s string, want time.Duration) {
		t.Helper()
		var d daysValue
		if err := d.Set(s); (err != nil) != (want < 0) || err == nil && time.Duration(d) != want {
			t.Errorf("%q: %v, %v", s, time.Duration(d), err)
		}
	}
	age("30d", 720*time.Hour)
	age("1.5d", 36*time.Hour)
	age("12h", 12*time.Hour)
	age("0", 0)
	for _, s := range []string{"", "d", "-1d", "-1h", "30", "30 days", "999999999d", "NaNd"} {
		age(s, -1)
	}
	size := func(s string, want int64) {
		t.Helper()
		var b bytesValue
		if err := b.Set(s); (err != nil) != (want < 0) || err == nil && int64(b) != want {
			t.Errorf("%q: %d, %v", s, b, err)
		}
	}
	size("4GiB", 4<<30)
	size("512 MiB", 512<<20)
	size("1000", 1000)
	size("2GB", 2e9)
	size("0", 0)
	for _, s := range []string{"", "GiB", "-1", "1.5GiB", "9999999TiB", "many"} {
		size(s, -1)
	}
	var f keepFlags
	f.age, f.size = daysValue(30*day), 4<<30
	if f.age.String() != "30d" || f.size.String() != "4GiB" {
		t.Errorf("defaults read %s and %s", &f.age, &f.size)
	}
}
