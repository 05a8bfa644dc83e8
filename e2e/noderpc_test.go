package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ava-labs/avalanchego/api/admin"
	"github.com/ava-labs/avalanchego/api/health"
	"github.com/ava-labs/avalanchego/api/info"

	"quorate/e2e/localnet"
	"quorate/e2e/quorate"
)

// The real nodes that are compared with the product, one for each test: names and
// virtual machines given to a node last until it stops.
const (
	clientsNode = 1
	rawNode     = 2
	pluginNode  = 3
)

// rpcServer is a server with the administration on.
type rpcServer struct {
	*server
	dataDir, pluginDir, profileDir string
}

// serveRPC starts a server with the administration on and waits until it is healthy.
func serveRPC(t *testing.T, dataDir, nodeURL string) *rpcServer {
	t.Helper()
	dir := testDir(t)
	s := &rpcServer{dataDir: dataDir, pluginDir: filepath.Join(dir, "plugins"), profileDir: filepath.Join(dir, "profiles")}
	if err := os.Mkdir(s.pluginDir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.server = launch(t, quorate.Config{
		Args: append([]string{"serve", "--node-url", nodeURL, "--http-host", "127.0.0.1", "--http-port", freePort(t),
			"--data-dir", dataDir, "--plugin-dir", s.pluginDir, "--profile-dir", s.profileDir,
			"--api-admin-enabled", "--health-check-frequency", "1s",
			// As the nodes are started, so that levels can be compared.
			"--log-display-level", "off"}, admitting...),
		Ready:   "quorate ready",
		LogPath: filepath.Join(dir, "serve.log"),
	})
	s.waitConnected(t, localnet.MaxNodes)
	s.waitHealthy(t)
	return s
}

// waitHealthy waits by the official client until every chain is checked and all is well.
func (s *rpcServer) waitHealthy(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	await(ctx, t, "the server is healthy", func() (string, bool) {
		r, err := health.NewClient(s.URL).Health(ctx, nil)
		if err != nil {
			return err.Error(), false
		}
		for _, chain := range []string{"P", "X", "C"} {
			if _, ok := r.Checks[chain]; !ok {
				return "no check of " + chain + " yet", false
			}
		}
		return failingChecks(r), r.Healthy
	})
}

// failingChecks names the checks that fail, with their errors.
func failingChecks(r *health.APIReply) string {
	var out []string
	for name, c := range r.Checks {
		if c.Error != nil {
			out = append(out, name+": "+*c.Error)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// party is one of the two that the same calls go to.
type party struct {
	url    string
	admin  *admin.Client
	health *health.Client
	// Where it looks for virtual machines and writes profiles.
	pluginDir, profileDir string
	c                     string // the C-Chain's ID
}

func newParty(url, pluginDir, profileDir, c string) *party {
	return &party{url: url, admin: admin.NewClient(url), health: health.NewClient(url),
		pluginDir: pluginDir, profileDir: profileDir, c: c}
}

// parties returns a real node and a server beside it.
func (w *world) parties(t *testing.T, index int) (real, ours *party, s *rpcServer) {
	t.Helper()
	s = serveRPC(t, filepath.Join(testDir(t), "data"), w.entry())
	id, err := info.NewClient(w.entry()).GetBlockchainID(t.Context(), "C")
	if err != nil {
		t.Fatal(err)
	}
	node := w.Nodes[index]
	real = newParty(node.URL, node.PluginDir, node.ProfileDir, id.String())
	return real, newParty(s.URL, s.pluginDir, s.profileDir, id.String()), s
}

// clientCall is one use of an official client. Its value is compared as JSON.
type clientCall struct {
	name string
	do   func(ctx context.Context, p *party) (any, error)
}

// adminCalls are made in this order; some need what others did before.
var adminCalls = []clientCall{
	{"levels of one", getLevels("main")},
	{"levels of all", func(ctx context.Context, p *party) (any, error) {
		levels, err := p.admin.GetLoggerLevel(ctx, "")
		// Which loggers there are is each one's own matter.
		return levels["main"], err
	}},
	{"levels of an unknown one", getLevels("nope")},
	{"set both levels", setLevels("main", "DEBUG", "FATAL")},
	{"both levels are set", getLevels("main")},
	{"set one level", setLevels("main", "", "WARN")},
	{"set neither level", setLevels("main", "", "")},
	{"set an unknown level", setLevels("main", "LOUD", "")},
	{"set an unknown logger", setLevels("nope", "INFO", "INFO")},
	{"set all loggers", setLevels("", "INFO", "OFF")},
	{"all loggers are set", getLevels("main")},

	{"alias", alias("health", "state/of/things")},
	{"alias again", alias("health", "state/of/things")},
	{"alias of a sub-path answers", func(ctx context.Context, p *party) (any, error) {
		return getStatus(ctx, p.url+"/ext/state/of/things/liveness")
	}},
	{"alias of 512 characters", alias("health", strings.Repeat("h", 512))},
	{"alias of 513 characters", alias("health", strings.Repeat("h", 513))},

	{"alias a chain", aliasChain("C", "money")},
	{"alias a chain by ID", func(ctx context.Context, p *party) (any, error) {
		return nil, p.admin.AliasChain(ctx, p.c, "coins")
	}},
	{"alias a chain by an alias given before", aliasChain("money", "cash")},
	{"alias a chain by a taken name", aliasChain("X", "money")},
	{"alias a chain by a built-in name", aliasChain("C", "X")},
	{"alias an unknown chain", aliasChain("nope", "other")},
	{"alias a chain by 512 characters", aliasChain("C", strings.Repeat("c", 512))},
	{"alias a chain by 513 characters", aliasChain("C", strings.Repeat("c", 513))},
	{"aliases by ID", func(ctx context.Context, p *party) (any, error) { return p.admin.GetChainAliases(ctx, p.c) }},
	{"aliases by alias", getAliases("C")},
	{"aliases of an unknown ID", func(ctx context.Context, p *party) (any, error) {
		names, err := p.admin.GetChainAliases(ctx, "2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm")
		return len(names), err
	}},
	{"chain RPC by an alias", func(ctx context.Context, p *party) (any, error) {
		return chainID(ctx, p.url+"/ext/bc/cash/rpc")
	}},

	{"stop no CPU profile", profile((*admin.Client).StopCPUProfiler)},
	{"start a CPU profile", profile((*admin.Client).StartCPUProfiler)},
	{"start a second CPU profile", profile((*admin.Client).StartCPUProfiler)},
	{"memory profile", profile((*admin.Client).MemoryProfile)},
	{"lock profile", profile((*admin.Client).LockProfile)},
	{"stop the CPU profile", profile((*admin.Client).StopCPUProfiler)},
	{"stop it again", profile((*admin.Client).StopCPUProfiler)},
	{"profiles are readable", readProfiles},

	{"load from an empty folder", func(ctx context.Context, p *party) (any, error) {
		loaded, failed, err := p.admin.LoadVMs(ctx)
		return map[string]any{"new": loaded, "failed": len(failed)}, err
	}},
}

// clientDifferences are where the product gives something else through the same
// client: what it gives, and why. Everything else is the same.
var clientDifferences = map[string]struct{ gives, why string }{
	"set both levels": {`null`, "the contract's result is {}, the node gives the new levels"},
	"set all loggers": {`null`, "the contract's result is {}, the node gives the new levels"},
	"set one level": {`null`,
		"the client cannot leave a level out and sends UNKNO, which the node refuses; the contract says that one level may be omitted"},
	"set neither level": {`null, error: failed to decode client response: need to specify either displayLevel or logLevel`,
		"two levels that the client sends as UNKNO are two omitted ones"},
	"aliases by alias": {`["C","evm","{C}","money","coins","cash","` + strings.Repeat("c", 512) + `"]`,
		"the contract says that an alias is usable wherever the ID is; the node refuses it here"},
}

// TestNodeRPCClients calls every method of the contract by avalanchego's own
// clients, of the product and of a real node: they get the same.
func TestNodeRPCClients(t *testing.T) {
	inTurn(t)
	w := useNetwork(t)
	real, ours, s := w.parties(t, clientsNode)
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	seen := map[string]bool{}
	for _, call := range adminCalls {
		want, got := result(ctx, t, call, real), result(ctx, t, call, ours)
		d, listed := clientDifferences[call.name]
		seen[call.name] = true
		switch {
		case !listed && got != want:
			t.Errorf("%s:\nnode    %s\nquorate %s", call.name, want, got)
		case listed && got == want:
			t.Errorf("%s: listed as different (%s), but both give %s", call.name, d.why, got)
		case listed && got != d.gives:
			t.Errorf("%s:\nlisted  %s\nquorate %s\nnode    %s", call.name, d.gives, got, want)
		}
	}
	for name := range clientDifferences {
		if !seen[name] {
			t.Errorf("a difference is listed for %q, which is no call", name)
		}
	}
	t.Logf("%d calls of the administration, %d of them with a listed difference", len(adminCalls), len(clientDifferences))
	testLevelEffect(ctx, t, s, ours)
	compareHealth(ctx, t, real, ours)
}

// result words what a call gave; a chain's ID is written {C}.
func result(ctx context.Context, t *testing.T, call clientCall, p *party) string {
	t.Helper()
	value, err := call.do(ctx, p)
	b, jsonErr := json.Marshal(value)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	text := string(b)
	if err != nil {
		text += ", error: " + err.Error()
	}
	return strings.ReplaceAll(text, p.c, "{C}")
}

func getLevels(name string) func(context.Context, *party) (any, error) {
	return func(ctx context.Context, p *party) (any, error) { return p.admin.GetLoggerLevel(ctx, name) }
}

func setLevels(name, file, display string) func(context.Context, *party) (any, error) {
	return func(ctx context.Context, p *party) (any, error) {
		levels, err := p.admin.SetLoggerLevel(ctx, name, file, display)
		if name == "" && levels != nil {
			return levels["main"], err
		}
		return levels, err
	}
}

func alias(endpoint, alias string) func(context.Context, *party) (any, error) {
	return func(ctx context.Context, p *party) (any, error) { return nil, p.admin.Alias(ctx, endpoint, alias) }
}

func aliasChain(chain, alias string) func(context.Context, *party) (any, error) {
	return func(ctx context.Context, p *party) (any, error) { return nil, p.admin.AliasChain(ctx, chain, alias) }
}

func getAliases(chain string) func(context.Context, *party) (any, error) {
	return func(ctx context.Context, p *party) (any, error) { return p.admin.GetChainAliases(ctx, chain) }
}

// readProfiles has the Go tools read all three profiles and gives their permissions.
func readProfiles(ctx context.Context, p *party) (any, error) {
	modes := map[string]string{}
	for _, name := range []string{"cpu.profile", "mem.profile", "lock.profile"} {
		path := filepath.Join(p.profileDir, name)
		out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", path).CombinedOutput()
		if err != nil {
			return string(out), err
		}
		if !strings.Contains(string(out), "flat%") {
			return string(out), nil
		}
		file, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		modes[name] = file.Mode().String()
	}
	dir, err := os.Stat(p.profileDir)
	if err != nil {
		return nil, err
	}
	modes["folder"] = dir.Mode().String()
	return modes, nil
}
