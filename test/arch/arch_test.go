// Package arch holds the import rules that a linter cannot express: what a binary
// links, what a core package reaches, and which stages know each other.
package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// pkg is what `go list` says of a package.
type pkg struct {
	ImportPath    string
	Imports, Deps []string
}

// place is where a package sits in the tree. hub/scheduler/assign is
// {hub, scheduler, core}.
type place struct {
	component, stage string
	core             bool
}

// unreachable lists packages that no core package may reach, directly or through
// others, and why.
var unreachable = map[string]string{
	"k8s.io/client-go/rest":                     "it can dial an API server",
	"sigs.k8s.io/controller-runtime/pkg/client": "it can dial an API server",
}

// heavy lists modules that must never enter the main module, and why.
var heavy = map[string]string{
	"k8s.io/kubernetes": "it belongs into the nested module hub/controlplane",
	"go.etcd.io/etcd":   "it belongs into the nested module hub/controlplane",
	"sigs.k8s.io/kwok":  "it belongs into the nested module hub/controlplane",
}

func TestImports(t *testing.T) {
	module := strings.TrimSpace(string(run(t, "list", "-m")))
	packages := list(t, module)
	if len(packages) == 0 {
		t.Fatal("go list found no package: the rules below would hold of nothing")
	}
	for _, p := range packages {
		from := locate(module, p.ImportPath)
		for _, dep := range p.Deps {
			to := locate(module, dep)
			if crosses(from.component, to.component) {
				t.Errorf("%s links %s: %s must not reach %s", p.ImportPath, dep, from.component, to.component)
			}
			if why, bad := unreachable[dep]; bad && from.core {
				t.Errorf("%s reaches %s: %s", p.ImportPath, dep, why)
			}
			for prefix, why := range heavy {
				if dep == prefix || strings.HasPrefix(dep, prefix+"/") {
					t.Errorf("%s links %s: %s", p.ImportPath, dep, why)
				}
			}
		}
		for _, dep := range p.Imports {
			if to := locate(module, dep); sideways(from, to) {
				t.Errorf("%s imports %s: stages meet only in %s/setup", p.ImportPath, dep, from.component)
			}
		}
	}
}

// crosses reports whether one component must not reach another.
func crosses(from, to string) bool {
	switch from {
	case "hub":
		return to == "agent" || to == "test"
	case "agent":
		return to == "hub" || to == "test"
	case "common", "manifests":
		return to == "hub" || to == "agent" || to == "test"
	}
	return false
}

// assembly are the parts of a component that may know all its stages. What people see of a
// hub (view) is made of what the stages know, and whoever shows it (cli, dashboard,
// monitoring) reads it there.
var assembly = map[string]bool{"": true, "setup": true, "cli": true, "view": true, "operate": true, "dashboard": true, "monitoring": true}

// sideways reports whether one stage imports another stage of the same component.
func sideways(from, to place) bool {
	if from.component != to.component || (from.component != "hub" && from.component != "agent") {
		return false
	}
	return !assembly[from.stage] && from.stage != to.stage
}

// locate says where a package sits; nowhere if it is not ours.
func locate(module, path string) place {
	rel, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return place{}
	}
	parts := strings.Split(rel, "/")
	p := place{component: parts[0]}
	if len(parts) > 1 {
		p.stage = parts[1]
	}
	p.core = len(parts) > 2 && (p.component == "hub" || p.component == "agent")
	return p
}

// list returns our packages without their tests.
func list(t *testing.T, module string) []pkg {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(run(t, "list", "-json=ImportPath,Imports,Deps", module+"/..."))))
	var pkgs []pkg
	for {
		var p pkg
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs
		case err != nil:
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// run runs the go command.
func run(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
