package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quorate/engine"
	"quorate/engine/backup"
	"quorate/engine/feed/jetstream"
	"quorate/engine/folder"
	"quorate/engine/metric"
	"quorate/engine/source"
	"quorate/engine/source/platform"
	"quorate/httpapi"
	"quorate/httpapi/reload"
)

// What --check looks at.
const (
	examineFiles = "files" // all but the nodes
	examineNodes = "nodes" // those too
)

// nodePatience is how long --check=nodes waits for a node.
const nodePatience = 5 * time.Second

func addExamine(flags *pflag.FlagSet, of *string) {
	group(flags, groupPrint, func(flags *pflag.FlagSet) {
		flags.StringVar(of, "check", "", "do not serve: check flags, environment, files and data folder, and say what would be done; --check=nodes asks the nodes too")
		flags.Lookup("check").NoOptDefVal = examineFiles
	})
}

// errExamined ends serve --check with exit code 1.
var errExamined = errors.New("the server would not start, or not work, with these settings")

// examination is what serve --check finds, a line each.
type examination struct {
	out    io.Writer
	err    error // of the output
	faults int
}

func (x *examination) line(verdict, what, format string, args ...any) {
	_, err := fmt.Fprintf(x.out, "%-5s %-16s %s\n", verdict, what, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; "))
	x.err = errors.Join(x.err, err)
}

func (x *examination) ok(what, format string, args ...any)   { x.line("ok", what, format, args...) }
func (x *examination) note(what, format string, args ...any) { x.line("note", what, format, args...) }
func (x *examination) fail(what string, err error) {
	x.faults++
	x.line("FAIL", what, "%s", err)
}

// examine says what serve would do with the same flags, and what would keep it from
// that. It changes nothing, and asks no node unless --check=nodes does.
func examine(cmd *cobra.Command, f *serveFlags) error {
	if f.examine != examineFiles && f.examine != examineNodes {
		return usageError{fmt.Errorf("--check %q is neither %s nor %s", f.examine, examineFiles, examineNodes)}
	}
	if _, err := f.log.config(cmd, f.dataDir); err != nil {
		return err
	}
	x := &examination{out: cmd.OutOrStdout()}
	changed := 0
	cmd.Flags().Visit(func(*pflag.Flag) { changed++ })
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed && len(flag.Annotations[setBy]) > 0 {
			changed++
		}
	})
	x.ok("settings", "%d given; quorate config --changed prints them", changed-1) // --check is one
	if names := cmd.Annotations[unknownEnv]; names != "" {
		x.note("environment", "nothing reads %s", names)
	}
	for _, text := range movedOf(cmd) {
		x.note("settings", "%s", text)
	}
	x.listeners(f, x.folder(f.dataDir))
	cfg, wrong := f.engine(func(string) *slog.Logger { return slog.New(slog.DiscardHandler) }, metric.NewSet(), nil)
	if wrong != nil {
		x.fail("chains, genesis", wrong)
	} else {
		x.chains(f, &cfg)
	}
	x.files(f)
	x.depot(cmd.Context(), f)
	x.plans(cmd.Context(), f, &cfg)
	if x.faults > 0 {
		return errors.Join(fmt.Errorf("%w; failed checks: %d", errExamined, x.faults), x.err)
	}
	return x.err
}

// folder looks at the data folder.
func (x *examination) folder(dir string) folder.State {
	const what = "data folder"
	found, err := folder.Examine(dir)
	_, wrongKey := readSecret(filepath.Join(dir, tokenKeyName), tokenKeyLen)
	if errors.Is(wrongKey, fs.ErrNotExist) || !found.Exists {
		wrongKey = nil
	}
	if err = errors.Join(err, wrongKey, backup.Pending(dir)); err != nil {
		x.fail(what, fmt.Errorf("%s: %w", dir, err))
		return found
	}
	room := fmt.Sprintf("%s of %s are free", folder.Size(found.Free), folder.Size(found.Total))
	switch {
	case !found.Exists:
		x.ok(what, "%s would be made; %s", dir, room)
	case found.InUse:
		x.note(what, "%s is in use by process %d, which has to end first; %s", dir, found.User, room)
	default:
		x.ok(what, "%s; %s", dir, room)
	}
	if start, serve := found.Room(); start != nil {
		x.fail(what, start)
	} else if serve != nil {
		x.note(what, "%s", serve)
	}
	if found.Node == nil {
		x.ok("identity", "would be made: validators do not know this server yet")
	} else {
		x.ok("identity", "%s", found.Node)
	}
	switch {
	case len(found.Archives) == 0 && !found.Indexed:
		x.ok("index", "there is none: chains would be read from the nodes")
	case !found.Indexed:
		x.ok("index", "would be made again from the archive: %s", strings.Join(found.Archives, ", "))
	case found.Unread != nil:
		x.note("index", "which tables would be made again shows at the start: %s", found.Unread)
	case len(found.Stale) > 0:
		x.note("index", "made by older rules, these tables would be made again while it serves: %s", strings.Join(found.Stale, ", "))
	default:
		x.ok("index", "is there, with archives of %s", cmp.Or(strings.Join(found.Archives, ", "), "no chain"))
	}
	return found
}

// listeners looks at addresses and the certificate.
func (x *examination) listeners(f *serveFlags, dir folder.State) {
	scheme := "http"
	if f.listen.cert != "" {
		scheme = "https"
		x.certificate(f)
	}
	admin, shared := f.listen.adminAddr()
	clients := net.JoinHostPort(f.listen.host, strconv.Itoa(f.listen.port))
	x.listener("clients", scheme, clients, dir.InUse)
	switch {
	case shared:
		x.ok("operators", "at the same address")
	case admin == "":
		x.ok("operators", "nowhere: no metrics, and of health no more than yes or no")
	default:
		x.listener("operators", "http", admin, dir.InUse)
	}
	rate := fmt.Sprintf("%d compute units a minute without a key", f.limit.units)
	if f.limit.off(f.listen.host) {
		rate = "no limit"
	}
	x.ok("rates", "%s; API key required: %t", rate, f.limit.requireKey)
	if f.admin {
		x.note("admin", "anyone who reaches the operators' address may change the server")
	}
}

// listener tries an address.
func (x *examination) listener(who, scheme, addr string, served bool) {
	ln, err := net.Listen("tcp", addr)
	switch {
	case err == nil:
		x.ok(who, "%s://%s", scheme, addr)
		if err := ln.Close(); err != nil {
			x.fail(who, err)
		}
	case served:
		x.note(who, "%s://%s is taken, as it is while a server uses the data folder", scheme, addr)
	default:
		x.fail(who, err)
	}
}

func (x *examination) certificate(f *serveFlags) {
	const what = "certificate"
	_, pair, err := reload.OpenTLS(f.listen.cert, f.listen.key, slog.New(slog.DiscardHandler))
	if err != nil {
		x.fail(what, err)
		return
	}
	leaf := pair.Get().Leaf
	switch now := time.Now(); {
	case now.After(leaf.NotAfter) || now.Before(leaf.NotBefore):
		x.note(what, "is valid from %s to %s only: clients will refuse it", leaf.NotBefore.Format(time.RFC3339), leaf.NotAfter.Format(time.RFC3339))
	default:
		names := leaf.DNSNames
		for _, ip := range leaf.IPAddresses {
			names = append(names, ip.String())
		}
		x.ok(what, "for %s, until %s", strings.Join(names, ", "), leaf.NotAfter.Format(time.RFC3339))
	}
}

// chains says what would be followed.
func (x *examination) chains(f *serveFlags, cfg *engine.Config) {
	if !f.data.index {
		x.ok("chains", "none is indexed: messages are signed, and that is all")
		return
	}
	names := []string{"the C-Chain of each network"}
	for i := range cfg.EVMChains {
		names = append(names, cfg.EVMChains[i].Name())
	}
	if !cfg.NoPrimary {
		names = append(names, "P and X")
	}
	x.ok("chains", "%s", strings.Join(names, ", "))
	if len(cfg.Genesis) > 0 {
		x.ok("genesis", "of %d networks", len(cfg.Genesis))
	}
}

// files reads what serve would read.
func (x *examination) files(f *serveFlags) {
	quiet := slog.New(slog.DiscardHandler)
	var cfg httpapi.Config
	if err := f.limit.configure(&cfg, f.listen.host, quiet, metric.NewSet()); err != nil {
		x.fail("api-keys-file", err)
	} else if f.limit.keysFile != "" {
		x.ok("api-keys-file", "%s", f.limit.keysFile)
	}
	for _, of := range f.data.outside(&cfg, quiet) {
		if !f.data.index {
			if of.path != "" {
				x.note(of.flag, "%s is not read: --index is off", of.path)
			}
			continue
		}
		if err := of.open(); err != nil {
			x.fail(of.flag, err)
		} else if of.path != "" {
			x.ok(of.flag, "%s", of.path)
		}
	}
	for _, of := range []struct{ flag, dir string }{{"plugin-dir", f.pluginDir}, {"profile-dir", f.profileDir}} {
		if st, err := os.Stat(of.dir); of.dir != "" && err == nil && !st.IsDir() {
			x.fail(of.flag, fmt.Errorf("%s is a file, not a folder", of.dir))
		}
	}
}

// depot looks whether the depot can be read.
func (x *examination) depot(ctx context.Context, f *serveFlags) {
	const what = "archive"
	at := f.keep.depot.Depot
	if at == nil {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, nodePatience, fmt.Errorf("no answer within %s", nodePatience))
	defer cancel()
	chains, err := at.Chains(ctx)
	if err != nil {
		x.fail(what, fmt.Errorf("%s: %w", at, causeOf(ctx, err)))
		return
	}
	x.ok(what, "%s has the history of %d chains", at, len(chains))
}

// plans says how memory is shared out and which nodes are followed.
func (x *examination) plans(ctx context.Context, f *serveFlags, cfg *engine.Config) {
	cfg.Memory = int64(f.memory.size)
	budget, chains := cfg.Budget(), len(cfg.EVMChains)+1
	var shares []string
	total := uint64(0)
	budget.Each(chains, 1, func(name string, bytes int64) {
		shares = append(shares, name+" "+folder.Size(uint64(bytes)))
		total += uint64(bytes)
	})
	x.ok("memory", "%s for caches and buffers: %s", folder.Size(total), strings.Join(shares, ", "))
	if f.devnet {
		x.ok("network", "a simulated one, in the process")
	}
	x.log(ctx, f)
	if f.examine != examineNodes {
		if len(cfg.Nodes) > 0 {
			x.ok("nodes", "%s; --check=nodes asks them", nodeNames(cfg.Nodes))
		}
		return
	}
	for _, at := range cfg.Nodes {
		x.node(ctx, at)
	}
}

// log looks at the log that the fleet shares.
func (x *examination) log(ctx context.Context, f *serveFlags) {
	l, err := f.fleet.log("quorate serve --check", slog.New(slog.DiscardHandler))
	if err != nil {
		x.fail("log", err)
	}
	if l == nil {
		return
	}
	defer l.Close()
	if f.examine != examineNodes {
		x.ok("log", "%s; --check=nodes asks it", jetstream.Hosts(f.fleet.fleet.Log))
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, nodePatience, fmt.Errorf("no answer within %s", nodePatience))
	defer cancel()
	if ids, err := l.Await(ctx); err != nil {
		x.fail("log", fmt.Errorf("%s: %w", jetstream.Hosts(f.fleet.fleet.Log), causeOf(ctx, err)))
	} else {
		x.ok("log", "%s has the networks %v", jetstream.Hosts(f.fleet.fleet.Log), ids)
	}
}

// node asks a node for its network.
func (x *examination) node(ctx context.Context, at source.Endpoint) {
	what := "node"
	client, err := source.New(source.Config{Nodes: []source.Endpoint{at}})
	if err != nil {
		x.fail(what, fmt.Errorf("%s: %w", at, err))
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, nodePatience, fmt.Errorf("no answer within %s", nodePatience))
	defer cancel()
	c := platform.New(client)
	id, err := c.NetworkID(ctx)
	if err != nil {
		x.fail(what, fmt.Errorf("%s: %w", at, causeOf(ctx, err)))
		return
	}
	x.ok(what, "%s is of network %d", at, id)
	unknown, err := c.UnknownUpgrades(ctx)
	if err != nil && !errors.Is(err, platform.ErrNoMethod) {
		x.note(what, "%s does not say which upgrades it knows: %s", at, causeOf(ctx, err))
	}
	for _, u := range unknown {
		x.note(what, "%s knows the upgrade %s of %s, and this release does not: install one that does", at, u.Name, u.Time.Format(time.RFC3339))
	}
}

func nodeNames(nodes []source.Endpoint) string {
	var names []string
	for _, at := range nodes {
		names = append(names, at.String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
