// Package vm knows the virtual machines installed as plugins. A plugin is an
// executable in the plugin folder, named by its VM's ID or alias. [Loader.Load]
// starts each, completes the plugin handshake that Avalanche VMs speak, reads
// the version and ends the process again: the engine needs to know what is
// installed, it does not run chains in plugins.
//
// The handshake: the process finds the address of our gRPC service
// vm.runtime.Runtime in its environment and calls Initialize there with its
// protocol version and its own address; we call vm.VM at that address.
package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
)

// protocols are the versions of the RPCChainVM protocol that nodes of the releases
// known here speak: avalanchego v1.14.2 and v1.15.0.
var protocols = []uint32{45, 46}

const (
	// Twice what the node allows: it starts one plugin after the other, here they
	// start side by side, and a busy machine must not make a good one fail.
	defaultHandshakeTimeout = 10 * time.Second
	// The node allows a plugin as long for its end.
	defaultStopTimeout = 5 * time.Second
	defaultParallel    = 4
)

// VM is a virtual machine whose plugin has completed the handshake.
type VM struct {
	ID chain.ID
	// Names are its aliases, the ID not among them.
	Names []string
	// Version is what the plugin calls itself, such as "v0.8.0"; it can be empty.
	Version string
}

// Config says where plugins are and how long they may take.
type Config struct {
	// Dir is the plugin folder; empty: no plugins.
	Dir string
	// DirRequired makes a missing folder an error of Load: for a folder that
	// the operator named. Otherwise a missing folder has no plugins in it.
	DirRequired bool
	// Alias adds names of VMs besides the built-in ones (platform, avm, evm,
	// subnetevm, xsvm, timestampvm). A name belongs to one VM.
	Alias map[chain.ID][]string
	// Protocols returns the versions of the RPCChainVM protocol that the followed nodes
	// speak: they run no plugin of another one. While it is nil or returns none, those of
	// avalanchego v1.14.2 and v1.15.0 are accepted.
	Protocols func(context.Context) []uint32
	// HandshakeTimeout bounds the time from a plugin's start to its handshake,
	// and again from there to its version. Default 10 s.
	HandshakeTimeout time.Duration
	// StopTimeout is how long a plugin may take to end once told, before it is
	// killed. Default 5 s.
	StopTimeout time.Duration
	// Parallel is how many plugins are started at once. Default 4.
	Parallel int
	// Logger gets a line for each plugin loaded or failed; nil drops them.
	Logger *slog.Logger
	// Metrics holds the loader's metrics; nil: a set of its own.
	Metrics *metric.Set
}

func (c *Config) fill() error {
	if c.HandshakeTimeout < 0 || c.StopTimeout < 0 || c.Parallel < 0 {
		return errors.New("vm: a timeout or the number of parallel starts is negative")
	}
	if c.Protocols == nil {
		c.Protocols = func(context.Context) []uint32 { return nil }
	}
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, defaultHandshakeTimeout)
	c.StopTimeout = cmp.Or(c.StopTimeout, defaultStopTimeout)
	c.Parallel = cmp.Or(c.Parallel, defaultParallel)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	if c.Dir == "" {
		return nil
	}
	// An executable must be started by a path: a bare name would be looked up in PATH.
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return fmt.Errorf("vm: plugin folder: %w", err)
	}
	c.Dir = dir
	return nil
}

// Loader starts plugins and remembers those that work. All methods are safe
// for use by many goroutines; Known and Get never wait for a Load.
type Loader struct {
	cfg   Config
	names names
	log   *slog.Logger

	starts, failures, kills metric.Counter

	slot    chan struct{} // holds one token: the right to run a load
	waiting atomic.Int32  // calls of Load that run or wait
	known   atomic.Pointer[map[chain.ID]VM]

	// files are the plugins that work, by file name. Owned by the holder of the token.
	files map[string]loaded
}

// New checks the configuration. It starts nothing and does not look at the folder.
func New(cfg Config) (*Loader, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	n, err := newNames(cfg.Alias)
	if err != nil {
		return nil, err
	}
	l := &Loader{
		cfg:      cfg,
		names:    n,
		log:      cfg.Logger,
		starts:   cfg.Metrics.Counter("quorate_vm_plugin_starts_total", "Plugins started."),
		failures: cfg.Metrics.Counter("quorate_vm_plugin_failures_total", "Plugins that could not be loaded."),
		kills:    cfg.Metrics.Counter("quorate_vm_plugin_kills_total", "Plugins killed because they did not end."),
		slot:     make(chan struct{}, 1),
		files:    make(map[string]loaded),
	}
	l.slot <- struct{}{}
	l.known.Store(&map[chain.ID]VM{})
	cfg.Metrics.GaugeFunc("quorate_vm_plugins_loaded", "Plugins loaded.", func() float64 { return float64(len(*l.known.Load())) })
	return l, nil
}

// Known returns the VMs loaded, in the order of the text form of their IDs.
func (l *Loader) Known() []VM {
	known := *l.known.Load()
	list := make([]VM, 0, len(known))
	for _, v := range known {
		list = append(list, v.clone())
	}
	slices.SortFunc(list, func(a, b VM) int { return strings.Compare(a.ID.String(), b.ID.String()) })
	return list
}

// Get returns the VM of that ID, if it is loaded.
func (l *Loader) Get(id chain.ID) (VM, bool) {
	v, ok := (*l.known.Load())[id]
	return v.clone(), ok
}

// Names returns the names of a VM besides its ID, whether it is loaded or not.
func (l *Loader) Names(id chain.ID) []string { return slices.Clone(l.names.of(id)) }

func (v VM) clone() VM {
	v.Names = slices.Clone(v.Names)
	return v
}
