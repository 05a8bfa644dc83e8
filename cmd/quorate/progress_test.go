package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"quorate/engine/ingest"
)

func TestDisplay(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d := &display{terminal: true, w: &out}
	at := func(chain string, height uint64) {
		d.progress(ingest.Progress{Chain: chain, Height: height, Target: 1000, BlocksPerSecond: 50, Left: 18 * time.Second})
	}
	at("7", 950)
	if out.Len() != 0 {
		t.Errorf("a bar for 50 blocks: %q", out.String())
	}
	at("7", 100)
	if !strings.Contains(out.String(), "chain 7, 50 blocks/s, 18s left") {
		t.Errorf("bar %q", out.String())
	}
	out.Reset()
	at("8", 10) // waits for its turn
	if out.Len() != 0 {
		t.Errorf("two bars: %q", out.String())
	}
	if _, err := d.Write([]byte("a line\n")); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.HasSuffix(s, "\ra line\n") {
		t.Errorf("a line beside a bar: %q", s)
	}
	at("7", 1000)
	out.Reset()
	at("8", 10)
	if !strings.Contains(out.String(), "chain 8") {
		t.Errorf("no bar for the next chain: %q", out.String())
	}
	out.Reset()
	plain := newDisplay(&out)
	plain.progress(ingest.Progress{Chain: "7", Target: 1000})
	if out.Len() != 0 {
		t.Errorf("a bar without a terminal: %q", out.String())
	}
}

// TestMeterBytes: a copy says how much is done and how long the rest will take.
func TestMeterBytes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := newMeter(&out, "backup")
	b.bytes(10, 1000)
	if out.Len() != 0 {
		t.Errorf("at once: %q", out.String())
	}
	b.began, b.last = time.Now().Add(-100*time.Second), time.Now().Add(-time.Hour)
	b.bytes(250, 1000)
	if s := out.String(); s != "backup: 250 of 1000 bytes, 5m0s left\n" {
		t.Errorf("after 100 s: %q", s)
	}
	out.Reset()
	b.last = time.Time{}
	b.bytes(300, 0) // from a pipe
	if s := out.String(); s != "backup: 300 bytes\n" {
		t.Errorf("of a pipe: %q", s)
	}
}

// TestMeterShare: an export shows a bar on a terminal, and a line now and then elsewhere.
func TestMeterShare(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := newMeter(&out, "export")
	s.share(0.5, "1234")
	if out.Len() != 0 {
		t.Errorf("at once: %q", out.String())
	}
	s.last = time.Time{}
	s.share(0.5, "1234")
	if got := out.String(); got != "export: 50.0%, 1234 rows\n" {
		t.Errorf("%q", got)
	}
	out.Reset()
	s.bars = true
	s.share(0.5, "1234")
	if got := out.String(); !strings.Contains(got, "export, 1234 rows") || !strings.Contains(got, "50%") || strings.Contains(got, "\n") {
		t.Errorf("the bar: %q", got)
	}
	s.finish()
	if got := out.String(); s.bar != nil || !strings.HasSuffix(got, "\r") {
		t.Errorf("the bar stays: %q", got)
	}
}
