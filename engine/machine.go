package engine

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
)

const (
	// minConcurrency and maxConcurrency bound the default number of requests of one
	// kind at one time: twice the processors, since half of the time is the node's.
	minConcurrency, maxConcurrency = 4, 32
	// usualMemory stands for the memory of a machine that does not tell it.
	usualMemory = 8 << 30
)

// concurrency returns how many requests of one kind are made at one time.
func concurrency() int {
	return min(max(minConcurrency, 2*runtime.GOMAXPROCS(0)), maxConcurrency)
}

// machineMemory returns the bytes of memory that the process may have: those of its
// control group if it is bounded, else those of the machine.
func machineMemory() uint64 {
	memory := uint64(usualMemory)
	if f, err := os.Open("/proc/meminfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var words [3]string
			if copy(words[:], strings.Fields(lines.Text())); words[0] != "MemTotal:" {
				continue
			}
			if kib, err := strconv.ParseUint(words[1], 10, 54); err == nil {
				memory = kib << 10
			}
			break
		}
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if bytes, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
			memory = min(memory, bytes)
		}
	}
	return memory
}

// defaultMemory is what caches and buffers may hold together.
func defaultMemory() int64 { return max(int64(machineMemory()/4), MinMemory) }
