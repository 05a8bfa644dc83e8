package main

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"

	"quorate/engine"
	"quorate/httpapi"
)

// memoryFlags are the flags of quorate serve about memory and disk.
type memoryFlags struct {
	size         bytesValue
	uncompressed uncompressedValue
}

func (f *memoryFlags) add(flags *pflag.FlagSet) {
	group(flags, groupOperate, func(flags *pflag.FlagSet) {
		flags.Var(&f.size, "memory", "bound of all caches and buffers together, for example 2GiB, at least 256MiB (default a quarter of the machine's memory)")
		f.uncompressed.add(flags)
	})
}

func (f *memoryFlags) check() error {
	if f.size != 0 && f.size < engine.MinMemory {
		return fmt.Errorf("--memory %s: at least %s are needed", f.size.String(), new(bytesValue(engine.MinMemory)).String())
	}
	return nil
}

// configure shares the memory out, and has Go collect garbage before the process takes
// twice a bound that was given: what is in use besides caches is bounded elsewhere.
func (f *memoryFlags) configure(eng *engine.Config, http *httpapi.Config) {
	eng.Memory, eng.Uncompressed = int64(f.size), bool(f.uncompressed)
	b := eng.Budget()
	http.AnswerBytes, http.PointBytes = b.Answers, b.Points
	if os.Getenv("GOMEMLIMIT") == "" && f.size > 0 && f.size < math.MaxInt64/2 {
		debug.SetMemoryLimit(2 * int64(f.size))
	}
}
