package packaging

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUnit has systemd itself read the unit. A hardening that is lost shows as a larger
// exposure: it was 1.5 when this was written.
func TestUnit(t *testing.T) {
	need(t, "systemd-analyze")
	unit := read(t, filepath.Join(root, "packaging/systemd/quorate.service"))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// What it starts and where it is described is not installed here.
	unit = strings.Replace(unit, "/usr/bin/quorate", self, 1)
	unit = regexp.MustCompile(`(?m)^Documentation=.*$`).ReplaceAllString(unit, "")
	file := filepath.Join(t.TempDir(), "quorate.service")
	if err := os.WriteFile(file, []byte(unit), 0o644); err != nil {
		t.Fatal(err)
	}
	if said := run(t, "", nil, "systemd-analyze", "verify", file); strings.Contains(said, "quorate.service") {
		t.Errorf("systemd says\n%s", said)
	}
	run(t, "", nil, "systemd-analyze", "security", "--offline=yes", "--threshold=20", file)
}

// TestCompose has docker-compose read the compose file, and holds the names in it
// against each other.
func TestCompose(t *testing.T) {
	need(t, "docker-compose")
	file := filepath.Join(root, "packaging/compose/compose.yaml")
	text := run(t, "", nil, "docker-compose", "-f", file, "config")
	for _, want := range []string{"image: quorate:local", "QUORATE_HTTP_ALLOWED_HOSTS: quorate", "127.0.0.1:9750:9750/tcp"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, image := range regexp.MustCompile(`image: (\S+)`).FindAllStringSubmatch(text, -1) {
		if _, tag, ok := strings.Cut(image[1], ":"); !ok || tag == "latest" {
			t.Errorf("%s has no version", image[1])
		}
	}
	for _, mounted := range regexp.MustCompile(`- \.\./?([^:]+):|- \./([^:]+):`).FindAllStringSubmatch(read(t, file), -1) {
		path := filepath.Join(filepath.Dir(file), "..", mounted[1])
		if mounted[2] != "" {
			path = filepath.Join(filepath.Dir(file), mounted[2])
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// TestAlerts has promtool read the alerts, run their tests, and read the configuration
// of the compose file's Prometheus.
func TestAlerts(t *testing.T) {
	need(t, "promtool")
	run(t, filepath.Join(root, "packaging/prometheus"), nil, "promtool", "check", "rules", "alerts.yaml")
	run(t, filepath.Join(root, "packaging/prometheus"), nil, "promtool", "test", "rules", "alerts_test.yaml")
	dir := t.TempDir()
	copyFile(t, filepath.Join(root, "packaging/prometheus/alerts.yaml"), filepath.Join(dir, "alerts.yaml"))
	config := strings.Replace(read(t, filepath.Join(root, "packaging/compose/prometheus.yml")), "/etc/prometheus/rules/", dir+"/", 1)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if said := run(t, dir, nil, "promtool", "check", "config", "prometheus.yml"); !strings.Contains(said, "1 rule files found") {
		t.Error(said)
	}
}

// TestDashboards has promtool parse each expression of the dashboards, as rules. That
// their metrics are those of a server is tested where servers are.
func TestDashboards(t *testing.T) {
	need(t, "promtool")
	files, err := filepath.Glob(filepath.Join(root, "packaging/grafana/dashboards/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for _, file := range files {
		var d struct {
			Panels []struct {
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal([]byte(read(t, file)), &d); err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				rules = append(rules, rule{fmt.Sprintf("expression:%d", len(rules)), strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")})
			}
		}
	}
	if len(rules) < 70 {
		t.Errorf("%d expressions only", len(rules))
	}
	// YAML takes JSON.
	text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboards", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "", nil, "promtool", "check", "rules", file)
}

// TestProvisioning: what Grafana is given at its start fits together.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	lists, err := filepath.Glob(filepath.Join(root, "packaging/grafana/dashboards/*.json"))
	if err != nil || len(lists) < 3 {
		t.Fatalf("%d dashboards, %v", len(lists), err)
	}
	for _, file := range lists {
		var d struct {
			Panels []struct {
				ID      int
				Type    string
				GridPos struct{ X, Y, W, H int }
			}
		}
		if err := json.Unmarshal([]byte(read(t, file)), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		taken := map[[2]int]int{}
		for _, p := range d.Panels {
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != 0 || x >= 24 {
						t.Errorf("%s: panel %d lies on panel %d", file, p.ID, other)
					}
					taken[[2]int{x, y}] = p.ID
				}
			}
		}
	}
	compose := read(t, filepath.Join(root, "packaging/compose/compose.yaml"))
	provider := regexp.MustCompile(`path: (\S+)`).FindStringSubmatch(read(t, filepath.Join(root, "packaging/grafana/provisioning/dashboards/quorate.yaml")))
	if provider == nil || !strings.Contains(compose, ":"+provider[1]+":") {
		t.Errorf("the dashboards are mounted elsewhere than at %v", provider)
	}
}

// TestImage: what is copied into the image's build is enough to build the program, and
// the image names versions.
func TestImage(t *testing.T) {
	t.Parallel()
	file := read(t, filepath.Join(root, "packaging/docker/Dockerfile"))
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(file, -1) {
		if _, tag, ok := strings.Cut(from[1], ":"); from[1] != "scratch" && (!ok || tag == "latest") {
			t.Errorf("%s has no version", from[1])
		}
	}
	mod := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, filepath.Join(root, "go.mod")))
	if mod == nil || !strings.Contains(file, "FROM golang:"+mod[1]+".") {
		t.Errorf("the image is not built with Go %v of go.mod", mod)
	}
	sent := sentToBuild(t)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", os.DevNull, "./cmd/quorate")
	cmd.Dir, cmd.Env = sent, append(os.Environ(), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(sent, "packaging/binary.sh")); err != nil {
		t.Error(err)
	}
}

// sentToBuild copies what .dockerignore lets through.
func sentToBuild(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	lines := bufio.NewScanner(strings.NewReader(read(t, filepath.Join(root, ".dockerignore"))))
	for lines.Scan() {
		name, ok := strings.CutPrefix(lines.Text(), "!")
		if !ok {
			continue
		}
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, e fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(root, path)
			switch {
			case err != nil:
				return err
			case e.IsDir() && e.Name() == "testdata":
				return fs.SkipDir
			case !e.Type().IsRegular() || strings.HasSuffix(e.Name(), "_test.go"):
				return nil
			}
			copyFile(t, path, filepath.Join(dir, rel))
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	return dir
}
