package aggregator

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the expected traces of testdata/core")

// TestScenarios plays the text scenarios of testdata/core: commands at the
// start of a line, what the core does in answer indented below.
//
//	set W... [keyless=W]   weights of the voters, most preferred first
//	reserve I... | exclude I... | probe I... | twins N I...
//	settled D              refusals of what is asked from then on are final
//	join Q B | leave ID    a caller comes or goes (deadline 8 s)
//	at D                   the clock moves to D
//	answer|lie|lost|unsent|gone|busy|aside I...   what happens to voter I
//	refuse CODE I...       it refuses, but might sign later
//	never CODE I...        it refuses for good
//	expect D I...          voter I is late after D
//	pass | fail I...       the verdict on the sum
//	stake                  print what became of the weight
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/core/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := (&player{}).play(string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("trace differs (see -update):\n%s", diff(string(want), got))
			}
		})
	}
}

func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %q\ngot  %q", i+1, at(w, i), at(g, i))
		}
	}
	return ""
}

func at(s []string, i int) string {
	if i < len(s) {
		return s[i]
	}
	return "(end)"
}

type player struct {
	c   *core
	now time.Duration
	out strings.Builder
}

func (p *player) play(script string) string {
	sc := bufio.NewScanner(strings.NewReader(script))
	for sc.Scan() {
		line := sc.Text()
		if strings.HasPrefix(line, "  ") {
			continue
		}
		p.out.WriteString(line + "\n")
		if f := strings.Fields(line); len(f) > 0 && f[0] != "#" {
			p.do(f[0], f[1:])
		}
	}
	return p.out.String()
}

func (p *player) say(format string, args ...any) {
	fmt.Fprintf(&p.out, "  "+format+"\n", args...)
}

func (p *player) do(cmd string, args []string) {
	each := func(args []string, f func(i int)) {
		for _, a := range args {
			i, err := strconv.Atoi(a)
			if err != nil {
				p.say("error: %v", err)
				return
			}
			f(i)
		}
	}
	switch cmd {
	case "set":
		p.set(args)
		return
	case "reserve":
		each(args, p.c.hold)
		return
	case "probe":
		each(args, p.c.probe)
		return
	case "twins":
		n, _ := strconv.Atoi(args[0])
		each(args[1:], func(i int) { p.c.voters[i].twins = uint8(n) })
		return
	case "exclude":
		each(args, p.c.exclude)
		return
	case "stake":
		p.say("%s", p.c.stake())
		return
	case "join":
		q, _ := strconv.Atoi(args[0])
		b, _ := strconv.Atoi(args[1])
		p.say("demand %d", p.c.join(p.now, q, b, 8*time.Second))
	case "leave":
		each(args, p.c.leave)
	case "at":
		p.now, _ = time.ParseDuration(args[0])
	case "answer":
		each(args, func(i int) { p.c.answer(i) })
	case "lie":
		each(args, p.c.bad)
	case "lost", "unsent":
		each(args, func(i int) { p.c.askFailed(p.now, i, false) })
	case "gone":
		each(args, func(i int) { p.c.askFailed(p.now, i, true) })
	case "settled":
		at, _ := time.ParseDuration(args[0])
		p.c.settle(p.now, at)
	case "busy":
		each(args, func(i int) { p.c.askBusy(p.now, i) })
	case "aside":
		each(args, p.c.setAside)
	case "refuse", "never":
		code, _ := strconv.Atoi(args[0])
		worth := map[string]certainty{"refuse": whenSettled, "never": certain}[cmd]
		each(args[1:], func(i int) { p.c.refuse(p.now, i, int32(code), worth) })
	case "expect":
		d, _ := time.ParseDuration(args[0])
		each(args[1:], func(i int) { p.c.expect(i, d) })
		return
	case "pass":
		p.c.checked(true, nil)
	case "fail":
		var bad []int32
		each(args, func(i int) { bad = append(bad, int32(i)) })
		p.c.checked(false, bad)
	default:
		p.say("error: unknown command")
		return
	}
	p.advance()
}

func (p *player) set(args []string) {
	var total uint64
	var weights []uint64
	var order []int32
	for _, a := range args {
		if v, ok := strings.CutPrefix(a, "keyless="); ok {
			w, _ := strconv.ParseUint(v, 10, 64)
			total += w
			continue
		}
		w, _ := strconv.ParseUint(a, 10, 64)
		order = append(order, int32(len(weights)))
		weights = append(weights, w)
		total += w
	}
	cfg := Config{Sets: &fakeSets{}, Peers: &fakePeers{}}
	if err := cfg.fill(); err != nil {
		p.say("error: %v", err)
	}
	p.c, p.now = newCore(cfg.Timing, total, weights, order), 0
}

func (p *player) advance() {
	c := p.c
	c.advance(p.now)
	if len(c.asks) > 0 {
		p.say("ask %s", strings.Trim(fmt.Sprint(c.asks), "[]"))
	}
	if c.check {
		p.say("check %s", strings.Trim(fmt.Sprint(c.picked), "[]"))
	}
	for _, o := range c.results {
		verdict := "fails"
		if o.ok {
			verdict = fmt.Sprintf("signed by %d", c.proofs[o.proof].weight)
		}
		p.say("demand %d %s", o.demand, verdict)
	}
	if at := c.wake(p.now); len(c.demands) > 0 && at != never {
		p.say("wake %v", at)
	}
	var sum uint64
	for s, w := range c.sums {
		sum += w
		var have uint64
		for i := range c.voters {
			if c.voters[i].state == voterState(s) {
				have += c.voters[i].weight
			}
		}
		if have != w {
			p.say("error: state %d sums to %d, not %d", s, have, w)
		}
	}
}
