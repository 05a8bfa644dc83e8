package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"quorate/httpapi"
)

// object is what is looked at of an object of Kubernetes.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		ServiceName string `yaml:"serviceName"`
		ClusterIP   string `yaml:"clusterIP"`
		Selector    map[string]any
		Template    struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Args      []string
					Ports     []struct{ Name string }
					Startup   probe                   `yaml:"startupProbe"`
					Liveness  probe                   `yaml:"livenessProbe"`
					Readiness probe                   `yaml:"readinessProbe"`
					Mounts    []struct{ Name string } `yaml:"volumeMounts"`
				}
				Volumes []struct{ Name string }
			}
		}
		Claims []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
	}
}

type probe struct {
	HTTP struct{ Path, Port string } `yaml:"httpGet"`
}

// TestKubernetes: what is in packaging/kubernetes fits together, and to the program: its flags
// and variables, the paths of its probes, its fleet file.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(repoRoot, "packaging", "kubernetes")
	var custom struct{ Resources []string }
	unpack(t, filepath.Join(dir, "kustomization.yaml"), yaml.Unmarshal, &custom)
	found := map[string]object{}
	for _, name := range custom.Resources {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var o object
			if err := d.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			found[o.Kind+" "+o.Metadata.Name] = o
		}
	}
	for _, name := range []string{"Service quorate", "Service quorate-members", "StatefulSet quorate", "PodDisruptionBudget quorate", "NetworkPolicy quorate"} {
		if found[name].Kind == "" {
			t.Errorf("there is no %s", name)
		}
	}
	set := found["StatefulSet quorate"].Spec
	if of := found["Service "+set.ServiceName].Spec; of.ClusterIP != "None" || of.Selector["app"] != set.Template.Metadata.Labels["app"] {
		t.Errorf("pods have no names of their own: %+v", of)
	}
	c := set.Template.Spec.Containers[0]
	paths := map[string]bool{}
	for _, r := range httpapi.Routes() {
		paths[r.Pattern] = true
	}
	for _, p := range []probe{c.Startup, c.Liveness, c.Readiness} {
		if !paths[p.HTTP.Path] || !slices.ContainsFunc(c.Ports, func(port struct{ Name string }) bool { return port.Name == p.HTTP.Port }) {
			t.Errorf("nothing is served at %+v", p.HTTP)
		}
	}
	if c.Readiness.HTTP.Path != "/ready" || set.Template.Spec.Grace < 15+int(stopTime.Seconds()) {
		t.Errorf("readiness %s, %d s to stop", c.Readiness.HTTP.Path, set.Template.Spec.Grace)
	}
	for _, m := range c.Mounts {
		isVolume := slices.ContainsFunc(set.Template.Spec.Volumes, func(v struct{ Name string }) bool { return v.Name == m.Name })
		for _, claim := range set.Claims {
			isVolume = isVolume || claim.Metadata.Name == m.Name
		}
		if !isVolume {
			t.Errorf("there is no volume %s", m.Name)
		}
	}
	flags := serveCommand().Flags()
	if err := flags.Parse(c.Args[1:]); c.Args[0] != "serve" || err != nil {
		t.Errorf("arguments: %v", err)
	}
}
