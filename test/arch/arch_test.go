// Package arch tests import rules that a linter cannot express: the modules linked into a binary, the packages
// reachable from a core package, and dependencies between stages. It also tests where package comments are.
package arch

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pkg is the output of `go list` for a package.
type pkg struct {
	ImportPath, Dir        string
	GoFiles, Imports, Deps []string
}

// TestPackageComments checks that a package's comment is in doc.go if it has several files, and otherwise in its only
// file.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, strings.TrimSpace(string(run(t, "list", "-m")))) {
		if len(p.GoFiles) == 0 {
			continue // it has only tests
		}
		want := "doc.go"
		if len(p.GoFiles) == 1 {
			want = p.GoFiles[0]
		}
		var got []string
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if file.Doc != nil && (strings.HasPrefix(file.Doc.Text(), "Package ") || strings.HasPrefix(file.Doc.Text(), "Command ")) {
				got = append(got, name)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s has its package comment in %v, want it in %s", p.ImportPath, got, want)
		}
	}
}

// place is the location of a package in the tree. hub/flow/scheduler/assign is {hub, flow, scheduler, core},
// agent/execution is {agent, "", execution}.
type place struct {
	component, group, stage string
	core                    bool
}

// unreachable lists packages that core packages must not reach, directly or indirectly, with the reason.
var unreachable = map[string]string{
	"k8s.io/client-go/rest":                     "it can dial an API server",
	"sigs.k8s.io/controller-runtime/pkg/client": "it can dial an API server",
}

// heavy lists modules that must never enter the main module, with the reason.
var heavy = map[string]string{
	"k8s.io/kubernetes": "it belongs into the nested module hub/machinery/controlplane",
	"go.etcd.io/etcd":   "it belongs into the nested module hub/machinery/controlplane",
	"sigs.k8s.io/kwok":  "it belongs into the nested module hub/machinery/controlplane",
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
		if from.component == "hub" && from.group == "" && !assembly[from.stage] {
			t.Errorf("%s is in none of the groups of the hub", p.ImportPath)
		}
		for _, dep := range p.Imports {
			to := locate(module, dep)
			if sideways(from, to) {
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

// TestSideways tests the rules themselves: the tree alone does not show that they reject anything.
func TestSideways(t *testing.T) {
	t.Parallel()
	const module = "fairlead.dev"
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{from: "hub/flow/detector", to: "hub/flow/detector/plan"},
		{from: "hub/flow/detector", to: "hub/flow/scheduler", want: true},
		{from: "hub/flow/detector", to: "hub/flow/scheduler/fit", want: true},
		{from: "hub/flow/detector", to: "hub/setup", want: true},
		{from: "hub/people/view", to: "hub/flow/scheduler/fit"},
		{from: "hub/people/view", to: "hub/flow/scheduler", want: true},
		{from: "hub/people/view", to: "hub/machinery/apiserver"},
		{from: "hub/people/view", to: "hub/cli/table", want: true},
		{from: "hub/setup", to: "hub/flow/scheduler"},
		{from: "hub/setup", to: "hub/cli", want: true},
		{from: "hub/cli", to: "hub/setup"},
		{from: "hub/cli", to: "hub/flow/scheduler"},
		{from: "agent/execution", to: "agent/execution/plan"},
		{from: "agent/execution", to: "agent/status", want: true},
		{from: "agent/setup", to: "agent/execution"},
		{from: "agent/setup", to: "agent/cli", want: true},
	} {
		if got := sideways(locate(module, module+"/"+tt.from), locate(module, module+"/"+tt.to)); got != tt.want {
			t.Errorf("%s imports %s: sideways is %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
}

// groups are those of the hub, and what each may import beside its own stages' cores: of people
// the cores of every group, since what people see is made of what the stages know, and the
// roots of machinery. What is in no group (cli, setup) knows all.
var groups = map[string]func(to place) bool{
	"people": func(to place) bool {
		return to.group == "people" || to.group == "machinery" || to.group != "" && to.core
	},
	"flow":      nil,
	"adjust":    nil,
	"fleet":     nil,
	"machinery": nil,
}

// assembly are the parts of a component that may know all its stages.
var assembly = map[string]bool{"": true, "setup": true, "cli": true}

// sideways reports whether one stage imports packages of another, or the setup of all of them imports the commands'
// packages.
func sideways(from, to place) bool {
	if from.component != to.component || (from.component != "hub" && from.component != "agent") {
		return false
	}
	if from.stage == "setup" && from.group == "" {
		return to.stage == "cli" && to.group == ""
	}
	if assembly[from.stage] && from.group == "" || from.group == to.group && from.stage == to.stage {
		return false
	}
	if may := groups[from.group]; may != nil {
		return !may(to)
	}
	return true
}

// locate returns the place of a package; the zero place if it is not ours.
func locate(module, path string) place {
	rel, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return place{}
	}
	parts := strings.Split(rel, "/")
	p := place{component: parts[0]}
	parts = parts[1:]
	if _, grouped := groups[head(parts)]; grouped && p.component == "hub" {
		p.group, parts = parts[0], parts[1:]
	}
	p.stage = head(parts)
	p.core = len(parts) > 1 && (p.component == "hub" || p.component == "agent")
	return p
}

// head returns the first element, or the zero value.
func head(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return parts[0]
}

// list returns our packages without their tests.
func list(t *testing.T, module string) []pkg {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(run(t, "list", "-json=ImportPath,Dir,GoFiles,Imports,Deps", module+"/..."))))
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
