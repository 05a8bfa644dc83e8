package ui

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/goccy/go-json"
)

func (s *Site) opsPages() []Page {
	if s.cfg.Operator == nil || s.cfg.Operator.Ops() == nil {
		return nil
	}
	return []Page{{Pattern: "/ops", Operator: true, Units: 1, Serve: serveOps, Post: postOps}}
}

// ops is the page of the administration.
type ops struct {
	// Done says what a form has done, Failed why it did not.
	Done, Failed string
	Checks       []Check
	Failing      int
	Lines        []LogLine
	LogLevels    []choice
	Level        string
	Logger       string
	Levels       []LoggerLevels
	Choices      []string
	Keys         []KeyUse
	Disk         *DiskUse
	DiskError    string
	DiskShare    stakeShare
	DiskLow      bool
	Actions      []action
}

// action is a method of the administration that a button calls.
type action struct{ Method, Title, Doc string }

var actions = []action{
	{"admin.memoryProfile", "Memory profile", "writes mem.profile to the profile folder"},
	{"admin.lockProfile", "Lock profile", "writes lock.profile; a second one within ten minutes has the waits between the two"},
	{"admin.startCPUProfiler", "Start CPU profile", "ends by itself after ten minutes"},
	{"admin.stopCPUProfiler", "Stop CPU profile", "writes cpu.profile to the profile folder"},
	{"admin.loadVMs", "Load virtual machines", "loads plugins that are new in the plugin folder"},
}

// logChoices are the levels, the most talkative first.
var logChoices = []string{"VERBO", "DEBUG", "TRACE", "INFO", "WARN", "ERROR", "FATAL", "OFF"}

// tailShown is how many lines of the log the page shows.
const tailShown = 100

func serveOps(r *Request) error { return r.ops("", "") }

func (r *Request) ops(done, failed string) error {
	from := r.site.cfg.Operator.Ops()
	data := ops{
		Done: done, Failed: failed, Checks: from.Checks(), Level: cmp.Or(r.Query("level"), "INFO"), Logger: r.Query("logger"),
		Levels: from.Levels(), Choices: logChoices, Keys: from.Keys(), Actions: actions,
	}
	if !slices.Contains(logChoices, data.Level) {
		return errorf(http.StatusBadRequest, "there is no such level of the log")
	}
	slices.SortStableFunc(data.Checks, func(a, b Check) int { return btoi(a.Error == "") - btoi(b.Error == "") })
	for _, c := range data.Checks {
		data.Failing += btoi(c.Error != "")
	}
	var err error
	if data.Lines, err = from.Log(data.Level, data.Logger, tailShown); err != nil {
		return errorf(http.StatusBadRequest, "%v", err)
	}
	for _, level := range []string{"DEBUG", "INFO", "WARN", "ERROR"} {
		q := url.Values{"level": {level}}
		if data.Logger != "" {
			q.Set("logger", data.Logger)
		}
		data.LogLevels = append(data.LogLevels, choice{level, r.in.Prefix + "/ops?" + q.Encode() + "#log", level == data.Level})
	}
	if data.Disk, err = from.Disk(); err != nil {
		data.DiskError = r.site.reason(err)
	} else {
		data.DiskShare = shareOf(data.Disk.Total-data.Disk.Free, data.Disk.Total)
		data.DiskLow = data.Disk.Free < 2*data.Disk.Needed
	}
	return r.Render("ops", "Operation", &data)
}

func postOps(r *Request) error {
	params := map[string]string{}
	method := r.Form("do")
	done := method + " is done."
	switch {
	case method == "admin.setLoggerLevel":
		for _, name := range []string{"loggerName", "logLevel", "displayLevel"} {
			if v := r.Form(name); v != "" {
				params[name] = v
			}
		}
		done = "The level is changed until the next start."
	case !slices.ContainsFunc(actions, func(a action) bool { return a.Method == method }):
		return errorf(http.StatusBadRequest, "the form asks for nothing that there is")
	}
	result, err := r.site.cfg.Operator.Ops().Call(method, params, r.in.Remote)
	if err != nil {
		return r.ops("", err.Error())
	}
	var empty struct{}
	if text := string(result); json.Unmarshal(result, &empty) == nil && text != "{}" {
		done += " It returned " + text
	}
	return r.ops(done, "")
}

// Duration is how long a check took, in words.
func (c *Check) Duration() string { return cmp.Or(milliseconds(c.Took), "0 ms") }

// FailingFor is for how long a check has failed.
func (c *Check) FailingFor() string {
	if c.FailingSince.IsZero() {
		return ""
	}
	return since(time.Since(c.FailingSince))
}
