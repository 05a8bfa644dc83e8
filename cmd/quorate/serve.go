package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quorate/devnet"
	"quorate/engine"
	"quorate/engine/backup"
	"quorate/engine/folder"
	"quorate/engine/follow"
	"quorate/engine/health"
	"quorate/engine/log"
	"quorate/engine/metric"
	"quorate/engine/network"
	"quorate/engine/source/evm"
	"quorate/engine/yield"
	"quorate/httpapi"
	"quorate/internal/hostport"
	"quorate/rpc"
	"quorate/rpc/profile"
)

// serveFlags are the flags of quorate serve.
type serveFlags struct {
	dataDir, factsFile           string
	listen                       listenFlags
	fleet                        fleetFlag
	devnet                       bool
	helicon                      heliconValue
	nodes                        nodeFlags
	bufferWindow, requestTimeout time.Duration
	log                          logFlags
	admin                        bool
	healthEvery, maxLag, drain   time.Duration
	pluginDir, profileDir        string
	allowedHosts                 []string
	subnets                      subnetFlags
	keep                         keepFlags
	data                         dataFlags
	exports                      exportFlags
	events                       eventFlags
	webhooks                     webhookFlags
	nfts                         nftFlags
	limit                        limitFlags
	rpc                          rpcFlags
	memory                       memoryFlags
	examine                      string // how much of what --check looks at; empty: it is to serve
	pages                        pageFlags
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `Follows Avalanche nodes, indexes their chains, keeps connections to the validators,
and serves data, metrics and signed messages over HTTP, and an explorer to browsers.
It prints "quorate ready http://HOST:PORT" on standard output once it can do its
work; the log goes to standard error and to files in the data folder.

Name at least one node with --node-url, or use --devnet, which runs a simulated
network inside the process and needs nothing else. Nodes of one network stand in
for each other; nodes of several networks are served side by side.

SIGINT or SIGTERM ends it in order, within 10 s whatever disk, nodes or clients
do: it stops accepting, finishes what is in flight, and exits with 0, or with 1
and the reason if something hung. A second signal ends it at once. SIGHUP has
its files read again: the certificate, API keys, prices, tokens.`,
		Example: `  quorate serve --devnet --facts-file facts.json
  quorate serve --node-url http://127.0.0.1:9650
  quorate serve --config-file quorate.yaml --log-level debug
  quorate serve --config-file quorate.yaml --check
  QUORATE_HTTP_PORT=8080 quorate serve --devnet`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, &f) },
	}
	f.add(cmd.Flags())
	addConfigFlag(cmd)
	addExamine(cmd.Flags(), &f.examine)
	addHelp(cmd)
	cmd.SetUsageFunc(groupedUsage)
	return cmd
}

func (f *serveFlags) add(flags *pflag.FlagSet) {
	limits := pflag.NewFlagSet(limitsFlag, pflag.ContinueOnError)
	group(flags, groupNodes, func(flags *pflag.FlagSet) {
		f.nodes.add(flags)
		flags.BoolVar(&f.devnet, "devnet", false, "run a simulated network inside the process and follow it")
		f.helicon = defaultHelicon
		flags.Var(&f.helicon, "helicon", "with --devnet and a new data folder: when the upgrade Helicon activates in the simulated network, as quorate devnet takes it")
		flags.StringVar(&f.factsFile, "facts-file", "", "with --devnet: file to write messages, IDs and addresses of the simulated network to")
	})
	group(flags, groupListen, func(flags *pflag.FlagSet) {
		f.listen.add(flags, limits)
		f.fleet.add(flags)
		flags.StringSliceVar(&f.allowedHosts, "http-allowed-hosts", nil, "host names under which the server answers, besides IP addresses, localhost and the host of --public-url, or what a proxy of --trusted-proxies lets in; * allows all")
		f.rpc.add(flags)
		flags.BoolVar(&f.admin, "api-admin-enabled", false, "serve /ext/admin and the page /ops, which have no authentication: aliases, log levels, profiles, plugins")
	})
	limits.DurationVar(&f.requestTimeout, "request-timeout", 8*time.Second, "end of a request that finds no quorum, at most 60s")
	limits.DurationVar(&f.bufferWindow, "buffer-window", 250*time.Millisecond, "longest wait for a request's buffer once its quorum has signed")
	f.subnets.add(flags, limits)
	f.keep.add(flags, limits)
	f.data.add(flags, limits)
	f.exports.add(limits)
	f.events.add(limits)
	f.webhooks.add(flags, limits)
	f.nfts.add(flags, limits)
	f.limit.add(flags, limits)
	group(flags, groupLimits, func(flags *pflag.FlagSet) {
		addBlock(flags, limitsFlag, "bounds and times that few servers change, as NAME=VALUE, separated by commas; in a file a map", limits)
	})
	f.pages.add(flags)
	f.memory.add(flags)
	group(flags, groupOperate, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.dataDir, "data-dir", defaultDataDir(), "folder for the certificate, kept results and logs")
		f.log.add(flags)
		flags.DurationVar(&f.healthEvery, "health-check-frequency", 30*time.Second, "how often each health check runs")
		flags.DurationVar(&f.maxLag, "max-lag", 30*time.Second, "for how long the index of a chain may be behind its node until /ready is red")
		flags.DurationVar(&f.drain, "drain", 0, "for how long /ready is red, and all is answered as before, until a stop begins: longer than balancers look, for example 5s")
		flags.StringVar(&f.pluginDir, "plugin-dir", "", "folder of virtual machine plugins (default plugins in the data folder)")
		flags.StringVar(&f.profileDir, "profile-dir", "", "folder that profiles are written to (default profiles in the data folder)")
	})
}

// cores returns the number of cores to use, and lets Go use twice as many threads.
// A chain that is caught up with, and the database's compression behind it, would
// else keep requests waiting for up to 10 ms, the length of a turn in Go's own
// scheduler; the operating system lets a thread that was idle go first. It is
// done once, and not if GOMAXPROCS is set in the environment.
var cores = sync.OnceValue(func() int {
	n := runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * n)
	}
	return n
})

// defaultDataDir is empty where there is no home folder, as for a service: data
// must not land wherever the process happens to be started.
func defaultDataDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".quorate")
}

func serve(cmd *cobra.Command, f *serveFlags) (err error) {
	if err := f.check(); err != nil {
		return usageError{err}
	}
	if err := errors.Join(f.fleet.open(), f.fleet.archive(&f.keep.depot)); err != nil {
		return err
	}
	if !f.devnet && len(f.nodes.urls) == 0 && f.fleet.fleet.Log == "" {
		return usageError{errors.New("no node to follow: give --node-url URL, which a server needs whose fleet has no log")}
	}
	if f.examine != "" {
		return examine(cmd, f)
	}
	ctx := cmd.Context()
	onHangups, endHangups := onHangup()
	defer endHangups()
	shown := newDisplay(cmd.ErrOrStderr())
	cmd.SetErr(shown)
	logs, err := f.log.open(cmd, f.dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logs.Close()) }()
	defer logLife(logs.Logger("main"), f)(&err)
	if names := cmd.Annotations[unknownEnv]; names != "" {
		logs.Logger("main").Warn("nothing reads these environment variables", "names", names)
	}
	for _, text := range movedOf(cmd) {
		logs.Logger("main").Warn(text)
	}
	manager := newNotifier(os.Getenv, logs.Logger("main"))
	defer func() { err = errors.Join(err, manager.close()) }()
	defer context.AfterFunc(ctx, manager.stopping)()
	if err := backup.Pending(f.dataDir); err != nil {
		return err
	}
	if err := folder.CheckUnused(f.dataDir); err != nil {
		return err
	}
	// Bound first: a taken port is the most common mistake, and the cheapest to find.
	ln, err := f.listen.open(logs.Logger("http"))
	if err != nil {
		return err
	}
	var sim *devnet.Devnet
	if f.devnet {
		d, stop, startErr := startEmbedded(ctx, embeddedConfig(&f.helicon, logs.Logger("devnet")), f.dataDir)
		if startErr != nil {
			return errors.Join(startErr, ln.Close())
		}
		defer stop(&err)
		sim, f.nodes.urls = d, append(f.nodes.urls, d.NodeURL())
	}
	set := metric.NewSet()
	cfgEngine, err := f.engine(logs.Logger, set, sim)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	cfgEngine.OnProgress = shown.progress
	shared, err := f.fleet.log("quorate at "+ln.URL(), logs.Logger("log"))
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	if shared != nil {
		defer shared.Close()
		cfgEngine.Shared = shared
	}
	cfg := httpapi.Config{OnRequest: cfgEngine.Spare.Requested, Spare: cfgEngine.Spare, ShutdownTimeout: drainTime, Logger: logs.Logger("http"), Metrics: set}
	f.memory.configure(&cfgEngine, &cfg)
	eng, err := engine.New(cfgEngine)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	profiles := profile.New(cmp.Or(f.profileDir, filepath.Join(f.dataDir, "profiles")), logs.Logger("main"))
	defer func() { err = errors.Join(err, profiles.Close()) }()
	ext := rpc.New(f.ext(eng, logs, profiles, set))
	cfg.Networks, cfg.Health, cfg.Signed = networks{eng}, eng.Health(), eng.Disk().Signed
	ready := engine.NewReadiness(eng, f.maxLag)
	cfg.Ready = ready.Check
	ctx, drained := drain(ctx, ready, f.drain)
	defer drained()
	serveExt(&cfg, ext)
	address := ln.URL()
	base := cmp.Or(strings.TrimRight(f.data.publicURL, "/"), address)
	cfg.PublicURL = base
	if f.data.index {
		cfg.Operations, cfg.DownloadTime = eng.Exports(), f.exports.urlTime
		f.events.serve(&cfg, eng)
		cfg.Webhooks, cfg.WebhooksKeyless = eng.Webhooks(), f.webhooks.keyless
		f.nfts.serve(&cfg, eng)
	}
	if f.rpc.parsed() == rpc.Off {
		base = ""
	}
	seen := newChains(eng, base, f.nfts.on)
	err = errors.Join(
		f.data.configure(&cfg, seen, f.dataDir, logs.Logger("http")),
		f.limit.configure(&cfg, f.listen.host, logs.Logger("http"), set),
		f.listen.configure(&cfg, &f.limit),
		f.pages.configure(&cfg),
		f.fleet.configure(&cfg, eng, logs.Logger("http"), set),
	)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	cfg.OwnHost = ext.OwnHost
	cfg.Pages.Operator = newOperator(eng, &cfg, ext, logs, f.admin)
	server, err := httpapi.New(cfg)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	onHangups(logs.Logger("main"), reloadFiles(&cfg, ln))
	var answering *control
	defer func() {
		if answering != nil {
			err = errors.Join(err, answering.close(f.dataDir))
		}
	}()
	return runServer(ctx, logs.Logger("main"), eng, server, ext, ln, address, func(url string) error {
		if sim != nil {
			if err := writeFacts(f, sim.Facts(url), logs.Logger("main")); err != nil {
				return err
			}
		}
		// Without it only backups while serving are missing.
		var wrong error
		if answering, wrong = openControl(ctx, f.dataDir, eng); wrong != nil {
			logs.Logger("main").Warn("commands cannot ask this server", "err", wrong)
		}
		logs.Logger("main").Info("ready", "url", url)
		manager.ready(ctx, url)
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "quorate ready %s\n", url); err != nil {
			logs.Logger("main").Warn("standard output takes nothing", "err", err)
		}
		return nil
	})
}

// engine returns what the engine is to do, as far as flags and the files that they
// name say it. sim is the network that is simulated in this process, if there is one.
func (f *serveFlags) engine(logger func(name string) *slog.Logger, set *metric.Set, sim *devnet.Devnet) (cfg engine.Config, err error) {
	further, err := f.data.chains()
	nodes, wrongNode := f.nodes.endpoints()
	tracked, wrongPeer := f.nodes.trackedPeers()
	if err = errors.Join(err, wrongNode, wrongPeer); err != nil {
		return cfg, err
	}
	shareHeaders(nodes, further)
	cfg = engine.Config{
		Nodes: nodes, DataDir: f.dataDir, HealthEvery: f.healthEvery, PluginDir: f.pluginDir,
		Settings: network.Settings{
			BufferWindow: f.bufferWindow, RequestTimeout: f.requestTimeout, Workers: cores(), TrackPeers: tracked,
			SignAhead: f.data.ahead, Log: logger,
		},
		NoIndex: !f.data.index, EVMChains: further, CChain: follow.Details{TokenDecimals: 18}, Metrics: set,
		FetchConcurrency: f.data.fetchers, TraceConcurrency: f.data.tracers, UntracedAfter: f.data.untracedAfter,
		SecondShare: secondShare, MaxAnswer: maxNodeAnswer, StopTimes: stopTimes, Spare: yield.New(cores()),
	}
	f.keep.configure(&cfg)
	f.exports.configure(&cfg)
	f.webhooks.configure(&cfg)
	f.nfts.configure(&cfg)
	if err := errors.Join(f.subnets.configure(&cfg), f.data.primary.configure(&cfg, sim)); err != nil {
		return cfg, err
	}
	if cfg.Start, err = follow.ParseStartBlock(f.data.start); err != nil {
		return cfg, err
	}
	cfg.Verify, err = evm.ParseVerify(f.data.verify)
	return cfg, err
}

// ext is what is served below /ext.
func (f *serveFlags) ext(eng *engine.Engine, logs *log.Logs, profiles *profile.Profiler, set *metric.Set) rpc.Config {
	process := metric.NewProcessSet(versionText())
	cfg := rpc.Config{
		NodeID:  eng.NodeID().String(),
		Metrics: func() []*metric.Set { return append(eng.Networks().Metrics(), set, process) },
		Health:  eng.Health(), Chains: eng.Chains(), Forward: eng.Networks(),
		Learning: eng.Networks().Learning, Later: eng.Networks().Later, Head: eng.EVMs().Head, Past: eng.EVMs().Past, ChainRPC: f.rpc.parsed(),
		AllowedHosts: append(slices.Clone(f.allowedHosts), publicHost(f.data.publicURL)), Logger: logs.Logger("http"),
	}
	if f.admin {
		cfg.Admin = &rpc.Admin{Logs: logs, Chains: eng.Chains(), Profiles: profiles, VMs: eng.VMs()}
	}
	return cfg
}

// writeFacts writes the embedded network's facts where the user wants them, or
// else into the data folder.
func writeFacts(f *serveFlags, facts devnet.Facts, log *slog.Logger) error {
	path := f.factsFile
	if path == "" {
		path = filepath.Join(f.dataDir, "facts.json")
	}
	log.Info("facts of the simulated network", "file", path, "node", facts.NodeURL)
	return facts.Write(path)
}

func (f *serveFlags) check() error {
	switch {
	case !f.devnet && len(f.nodes.urls) == 0 && f.fleet.path == "":
		return errors.New("no node to follow: give --node-url URL, or --devnet for a simulated network")
	case f.admin && f.listen.admin == noAdmin:
		return errors.New("--api-admin-enabled needs an address to serve it: --admin-addr is " + noAdmin)
	case f.dataDir == "":
		return errors.New("no data folder: there is no home folder to keep it in (HOME is not set), so give --data-dir")
	case f.healthEvery < health.MinFrequency:
		return fmt.Errorf("--health-check-frequency %s: must be at least %s", f.healthEvery, health.MinFrequency)
	case f.maxLag <= 0:
		return fmt.Errorf("--max-lag %s: must be positive", f.maxLag)
	case f.drain < 0 || f.drain > time.Minute:
		return fmt.Errorf("--drain %s: must be from 0s to 1m", f.drain)
	case slices.ContainsFunc(f.allowedHosts, noHostName):
		// Names are compared without their port, so such a one would allow nothing.
		return errors.New("--http-allowed-hosts: a host name has no scheme, no port and no path")
	case f.factsFile != "" && !f.devnet:
		return errors.New("--facts-file needs --devnet: the facts are those of the simulated network")
	case f.requestTimeout <= 0 || f.requestTimeout > time.Minute:
		return fmt.Errorf("limits.request-timeout %s: must be positive and at most 60s", f.requestTimeout)
	case f.bufferWindow <= 0 || f.bufferWindow > f.requestTimeout:
		return fmt.Errorf("limits.buffer-window %s: must be positive and at most limits.request-timeout, which is %s", f.bufferWindow, f.requestTimeout)
	}
	return errors.Join(f.listen.check(), f.subnets.check(), f.data.check(), f.exports.check(), f.events.check(), f.webhooks.check(f.listen.host, f.limit.proxies), f.nfts.check(), f.limit.check(), f.nodes.check(), f.rpc.check(), f.memory.check(), f.pages.check())
}

// noHostName reports whether an entry of --http-allowed-hosts is of no use.
func noHostName(s string) bool {
	_, err := hostport.Host(s)
	return err != nil && s != "*"
}

// runServer runs the engine and the HTTP server until ctx ends or one of them
// fails: started bottom up, stopped top down, in bounded time. onReady is told
// the base address.
func runServer(ctx context.Context, log *slog.Logger, eng *engine.Engine, server *httpapi.Server, ext *rpc.Service, ln *doors, address string, onReady func(url string) error) error {
	engineCtx, stopEngine := context.WithCancel(context.WithoutCancel(ctx))
	defer stopEngine()
	httpCtx, stopHTTP := context.WithCancel(ctx)
	defer stopHTTP()
	engineDone, httpDone := make(chan error, 1), make(chan error, 1)
	go func() { engineDone <- eng.Run(engineCtx) }()
	go func() { httpDone <- server.Run(httpCtx, ln.listeners...) }()

	var err error
	select {
	case <-eng.Ready():
		err = onReady(address)
	case e := <-engineDone:
		engineDone <- e
	case <-ctx.Done():
	}
	if err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case e := <-engineDone:
			engineDone <- e
		case e := <-httpDone:
			httpDone <- e
		}
	}
	log.Info("stopping: requests in flight are finished, new ones are not accepted", "in_flight", server.InFlight())
	eng.StopBy(time.Now().Add(time.Duration(stopTimes) * stopTime))
	stopHTTP()
	late := time.AfterFunc(forwardTime, ext.Close)
	socketsDone := make(chan struct{})
	go func() {
		defer close(socketsDone)
		stopSockets(ext)
	}()
	err = errors.Join(err, <-httpDone)
	<-socketsDone
	late.Stop()
	ext.Close()
	log.Info("requests are finished: closing peers, chains and databases")
	stopEngine()
	return errors.Join(err, <-engineDone)
}

// networks is the HTTP server's view of the engine.
type networks struct{ eng *engine.Engine }

func (n networks) ByName(name string) (httpapi.Aggregator, bool) {
	return n.eng.Networks().ByName(name)
}

func (n networks) ByID(id uint32) (httpapi.Aggregator, bool) { return n.eng.Networks().ByID(id) }
