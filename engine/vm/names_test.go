package vm

import (
	"slices"
	"testing"

	"google.golang.org/grpc/mem"

	"quorate/engine/chain"
)

func sliceOf(s string) mem.BufferSlice { return mem.BufferSlice{mem.SliceBuffer(s)} }

func TestNames(t *testing.T) {
	t.Parallel()
	mine := fakeID("mine")
	n, err := newNames(map[chain.ID][]string{mine: {"my-vm", "mine", "my-vm"}, fakeID("evm"): {"C"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"platform":    "rWhpuQPF1kb72esV2momhMuTYGkEb1oL29pt2EBXWmSy4kxnT",
		"avm":         "jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq",
		"evm":         "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6",
		"C":           "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6",
		"subnetevm":   "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy",
		"timestampvm": "tGas3T58KzdjLHhBDMnH2TvrddhqTji5iZAMZ3RXs2NLpSnhH",
		"xsvm":        fakeID("xsvm").String(),
		"my-vm":       mine.String(),
		"srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy": "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy",
		"subnetEVM": "",
		"srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dz": "", // wrong checksum
		"": "",
	} {
		if id, ok := n.lookup(name); ok != (want != "") || ok && id.String() != want {
			t.Errorf("%q: got %v, %v, want %q", name, id, ok, want)
		}
	}
	if got := n.of(mine); !slices.Equal(got, []string{"my-vm", "mine"}) {
		t.Errorf("got %q", got)
	}
	if got := n.of(fakeID("evm")); !slices.Equal(got, []string{"evm", "C"}) {
		t.Errorf("got %q", got)
	}
	if got := n.of(fakeID("nameless")); got == nil || len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{
		{HandshakeTimeout: -1},
		{StopTimeout: -1},
		{Parallel: -1},
		{Alias: map[chain.ID][]string{fakeID("mine"): {""}}},
		{Alias: map[chain.ID][]string{fakeID("mine"): {"my.vm"}}},
		{Alias: map[chain.ID][]string{fakeID("mine"): {"my/vm"}}},
		{Alias: map[chain.ID][]string{fakeID("mine"): {"evm"}}},
		{Alias: map[chain.ID][]string{fakeID("mine"): {fakeID("mine").String()}}},
		{Alias: map[chain.ID][]string{fakeID("mine"): {"x"}, fakeID("other"): {"x"}}},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
