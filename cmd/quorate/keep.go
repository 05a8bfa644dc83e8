package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"quorate/engine"
	"quorate/engine/archive"
	"quorate/engine/depot"
)

// keepFlags are the flags of quorate serve about how long signed messages and blocks
// are kept.
type keepFlags struct {
	age     daysValue
	size    bytesValue
	archive archiveValue
	depot   depotValue
}

func (f *keepFlags) add(flags, limits *pflag.FlagSet) {
	f.age, f.size = daysValue(30*24*time.Hour), 4<<30
	limits.Var(&f.age, "keep-results", "how long signed messages are kept, for example 12h or 30d; 0 for ever")
	limits.Var(&f.size, "keep-results-size", "how much of signed messages is kept, for example 512MiB: beyond it the oldest are deleted; 0 for no limit")
	group(flags, groupChains, func(flags *pflag.FlagSet) {
		flags.Var(&f.archive, "archive-keep", "how much of each chain's newest blocks the archive keeps: all, a number of blocks, or a size like 200GiB; older ones can then only be read from a node again")
		flags.Var(&f.depot, "archive", "object storage that the history of chains is copied to, and begins from in an empty data folder: s3://BUCKET/PREFIX or file:///DIR; see \"quorate archive --help\"")
	})
}

func (f *keepFlags) configure(cfg *engine.Config) {
	cfg.KeepResults, cfg.KeepResultsBytes = time.Duration(f.age), int64(f.size)
	cfg.ArchiveKeep, cfg.Depot = archive.Keep(f.archive), f.depot.Depot
}

// depotValue is a flag with a depot.
type depotValue struct{ *depot.Depot }

func (d *depotValue) String() string {
	if d.Depot == nil {
		return ""
	}
	return d.Depot.String()
}

// Type implements pflag.Value.
func (*depotValue) Type() string { return "URL" }

// Set implements pflag.Value.
func (d *depotValue) Set(s string) (err error) {
	if d.Depot = nil; s != "" {
		d.Depot, err = depot.Open(s, objectStorage())
	}
	return err
}

// archiveValue is a flag with how much of an archive is kept.
type archiveValue archive.Keep

func (a *archiveValue) String() string {
	switch {
	case a.Bytes > 0:
		size := bytesValue(a.Bytes)
		if text := size.String(); strings.HasSuffix(text, "B") {
			return text
		}
		return size.String() + "B" // without a unit it would be blocks
	case a.Blocks > 0:
		return strconv.FormatUint(a.Blocks, 10)
	}
	return "all"
}

// Type implements pflag.Value.
func (*archiveValue) Type() string { return "amount" }

// Set implements pflag.Value.
func (a *archiveValue) Set(s string) error {
	*a = archiveValue{}
	if s == "all" {
		return nil
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil && n > 0 {
		a.Blocks = n
		return nil
	}
	var size bytesValue
	if err := size.Set(s); err != nil || size == 0 {
		return fmt.Errorf("%q is not all, a number of blocks or a size like 200GiB", s)
	}
	a.Bytes = int64(size)
	return nil
}

// daysValue is a flag with a duration that may be given in days.
type daysValue time.Duration

const day = 24 * time.Hour

func (d *daysValue) String() string {
	t := time.Duration(*d)
	if t%day == 0 && t != 0 {
		return strconv.Itoa(int(t/day)) + "d"
	}
	return t.String()
}

// Type implements pflag.Value.
func (*daysValue) Type() string { return "duration" }

// Set implements pflag.Value.
func (d *daysValue) Set(s string) error {
	var t time.Duration
	var err error
	if n, ok := strings.CutSuffix(s, "d"); ok {
		var days float64
		if days, err = strconv.ParseFloat(n, 64); err == nil && days*float64(day) > math.MaxInt64 {
			err = strconv.ErrRange
		}
		t = time.Duration(days * float64(day))
	} else {
		t, err = time.ParseDuration(s)
	}
	if err != nil || t < 0 {
		return fmt.Errorf("%q is not a duration like 12h or 30d", s)
	}
	*d = daysValue(t)
	return nil
}

// bytesValue is a flag with a number of bytes that may be given with a unit.
type bytesValue int64

var byteUnits = []struct {
	name string
	size int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}

func (b *bytesValue) String() string {
	for _, u := range byteUnits[:4] {
		if n := int64(*b); n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Type implements pflag.Value.
func (*bytesValue) Type() string { return "size" }

// Set implements pflag.Value.
func (b *bytesValue) Set(s string) error {
	number, unit := s, int64(1)
	for _, u := range byteUnits {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = strings.TrimSpace(n), u.size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is not a size like 512MiB or 4GiB", s)
	}
	*b = bytesValue(n * unit)
	return nil
}
