package main

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"quorate/engine"
	"quorate/engine/chain/platform"
)

func TestPrimaryFlags(t *testing.T) {
	t.Parallel()
	raw, err := (&platform.Genesis{Time: 7, Message: "genesis"}).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	whole, text := write("raw", raw), write("hex", []byte("0x"+hex.EncodeToString(raw)+"\n"))
	f := primaryFlags{mode: primaryAuto, genesis: []string{"mainnet=" + whole, "fuji=" + text, "12345=" + text}}
	var cfg engine.Config
	if err := f.check(); err != nil {
		t.Fatal(err)
	}
	if err := f.configure(&cfg, nil); err != nil || cfg.NoPrimary || len(cfg.Genesis) != 3 {
		t.Fatalf("%d files, %v", len(cfg.Genesis), err)
	}
	for _, id := range []uint32{1, 5, 12345} {
		if string(cfg.Genesis[id]) != string(raw) {
			t.Errorf("network %d: %x", id, cfg.Genesis[id])
		}
	}
	f = primaryFlags{mode: primaryOff}
	if err := f.configure(&cfg, nil); err != nil || !cfg.NoPrimary {
		t.Errorf("off: %v", err)
	}
	for _, bad := range []primaryFlags{
		{mode: "on"}, {mode: primaryAuto, genesis: []string{whole}}, {mode: primaryAuto, genesis: []string{"1="}},
		{mode: primaryAuto, genesis: []string{"venus=" + whole}}, {mode: primaryAuto, genesis: []string{"4294967296=" + whole}},
	} {
		if err := bad.check(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	for _, file := range []string{filepath.Join(dir, "none"), write("cut", raw[:len(raw)-1]), write("empty", nil)} {
		bad := primaryFlags{mode: primaryAuto, genesis: []string{"1=" + file}}
		if err := bad.configure(&engine.Config{}, nil); err == nil {
			t.Errorf("%s is taken", file)
		}
	}
}
