package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"quorate/engine/chain"
	"quorate/engine/chains"
	"quorate/engine/log"
)

// empty is the result {}.
type empty struct{}

type noParams struct{}

type aliasParams struct {
	Endpoint string `json:"endpoint"`
	Alias    string `json:"alias"`
}

type aliasChainParams struct {
	Chain string `json:"chain"`
	Alias string `json:"alias"`
}

type chainParams struct {
	Chain string `json:"chain"`
}

type loggerParams struct {
	LoggerName string `json:"loggerName" doc:"optional"`
}

type setLoggerParams struct {
	LoggerName   string  `json:"loggerName" doc:"optional"`
	LogLevel     *string `json:"logLevel" doc:"optional"`
	DisplayLevel *string `json:"displayLevel" doc:"optional"`
}

type aliasesResult struct {
	Aliases []string `json:"aliases"`
}

type loggersResult struct {
	LoggerLevels map[string]loggerLevels `json:"loggerLevels"`
}

type loggerLevels struct {
	LogLevel     log.Level `json:"logLevel"`
	DisplayLevel log.Level `json:"displayLevel"`
}

type vmsResult struct {
	NewVMs    map[string][]string `json:"newVMs"`
	FailedVMs map[string]string   `json:"failedVMs,omitempty"`
}

var errUnavailable = errors.New("this node does not offer the method")

func adminMethods() []method {
	return []method{
		define("admin", "alias", "{}", "makes an endpoint, its path behind /ext/, and its sub-paths answer at /ext/ALIAS too, until the node stops", alias),
		define("admin", "aliasChain", "{}", "adds a name to a chain, by ID or alias; it is kept over restarts", aliasChain),
		define("admin", "getChainAliases", "aliases: array of string", "lists the names of a chain, by ID or alias, the primary one first", getChainAliases),
		define("admin", "getLoggerLevel", "loggerLevels: {name: {logLevel, displayLevel}}", "returns the levels of one logger or of all", getLoggerLevel),
		define("admin", "loadVMs", "newVMs: {vmID: names}, failedVMs: {vmID: cause}", "loads virtual machines that are new in the plugin folder", loadVMs),
		define("admin", "lockProfile", "{}", "writes mutex statistics to lock.profile", profiled(Profiles.Lock)),
		define("admin", "memoryProfile", "{}", "writes a memory profile to mem.profile", profiled(Profiles.Memory)),
		define("admin", "setLoggerLevel", "{}", "changes the level of log files, of the display, or both, of one logger or of all", setLoggerLevel),
		define("admin", "startCPUProfiler", "{}", "starts profiling of CPU use", profiled(Profiles.StartCPU)),
		define("admin", "stopCPUProfiler", "{}", "ends profiling and writes cpu.profile", profiled(Profiles.StopCPU)),
	}
}

func alias(s *Service, _ context.Context, p *aliasParams) (any, error) {
	return empty{}, s.alias(p.Endpoint, p.Alias)
}

func aliasChain(s *Service, _ context.Context, p *aliasChainParams) (any, error) {
	if s.cfg.Admin.Chains == nil {
		return nil, errUnavailable
	}
	return empty{}, s.aliasChain(s.cfg.Admin.Chains, p.Chain, p.Alias)
}

func getChainAliases(s *Service, _ context.Context, p *chainParams) (any, error) {
	if s.cfg.Admin.Chains == nil {
		return nil, errUnavailable
	}
	names, err := s.cfg.Admin.Chains.Aliases(p.Chain)
	if err != nil {
		// To a node, a chain that it does not know is one without aliases.
		if _, malformed := chain.ParseID(p.Chain); malformed == nil && errors.Is(err, chains.ErrUnknown) {
			return aliasesResult{[]string{}}, nil
		}
		return nil, err
	}
	return aliasesResult{names}, nil
}

func getLoggerLevel(s *Service, _ context.Context, p *loggerParams) (any, error) {
	if s.cfg.Admin.Logs == nil {
		return nil, errUnavailable
	}
	all := s.cfg.Admin.Logs.Levels()
	result := loggersResult{make(map[string]loggerLevels, len(all))}
	for name, pair := range all {
		if p.LoggerName == "" || p.LoggerName == name {
			result.LoggerLevels[name] = loggerLevels{pair.File, pair.Display}
		}
	}
	if p.LoggerName != "" && len(result.LoggerLevels) == 0 {
		return nil, noLogger(p.LoggerName)
	}
	return result, nil
}

func setLoggerLevel(s *Service, _ context.Context, p *setLoggerParams) (any, error) {
	if s.cfg.Admin.Logs == nil {
		return nil, errUnavailable
	}
	file, err := parseLevel("logLevel", p.LogLevel)
	if err != nil {
		return nil, err
	}
	display, err := parseLevel("displayLevel", p.DisplayLevel)
	if err != nil {
		return nil, err
	}
	if file == nil && display == nil {
		return nil, errors.New("need to specify either displayLevel or logLevel")
	}
	_, err = s.cfg.Admin.Logs.SetLevels(p.LoggerName, file, display)
	if errors.Is(err, log.ErrUnknownLogger) {
		return nil, noLogger(p.LoggerName)
	}
	return empty{}, err
}

func noLogger(name string) error {
	return fmt.Errorf("logger with name %q not found", excerpt(name))
}

// parseLevel reads a level that may be missing. The nodes' Go client cannot leave
// a level out: it sends UNKNO instead.
func parseLevel(field string, text *string) (*log.Level, error) {
	if text == nil || strings.EqualFold(*text, "UNKNO") {
		return nil, nil
	}
	level, err := log.ParseLevel(*text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return &level, nil
}

// profiled makes a method of one of the profiler's.
func profiled(take func(Profiles) error) func(*Service, context.Context, *noParams) (any, error) {
	return func(s *Service, _ context.Context, _ *noParams) (any, error) {
		if s.cfg.Admin.Profiles == nil {
			return nil, errUnavailable
		}
		return empty{}, take(s.cfg.Admin.Profiles)
	}
}

func loadVMs(s *Service, ctx context.Context, _ *noParams) (any, error) {
	if s.cfg.Admin.VMs == nil {
		return nil, errUnavailable
	}
	loaded, failed, err := s.cfg.Admin.VMs.Load(ctx)
	if err != nil {
		return nil, err
	}
	result := vmsResult{NewVMs: make(map[string][]string, len(loaded)), FailedVMs: failed}
	for id, names := range loaded {
		result.NewVMs[id.String()] = append([]string{}, names...)
	}
	return result, nil
}
