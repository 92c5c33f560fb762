package reference

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"fairlead.dev/test/cluster"
)

// foreign are names in the pages that belong to other programs.
var foreign = map[string]string{
	"etcd_disk_wal_fsync_duration_seconds": "a metric of etcd",
	"apiserver_audit_error_total":          "a metric of kube-apiserver",
	"etcd/member/snap/db":                  "a file of etcd",
	"kubefed.io/sync-controller":           "a finalizer of KubeFed",
	"kustomize.toolkit.fluxcd.io/name":     "a label of Flux",
	"_demo/edge-N.kubeconfig":              "as many files as the demo has members",
	"argocd.argoproj.io/tracking-id":       "an annotation of Argo CD",
}

// theirs matches the beginning of a command line of another program, which has flags of its own.
var theirs = regexp.MustCompile(`^(\$ )?(etcdutl|etcdctl|helm|curl|docker|openssl|useradd) `)

var (
	fence   = regexp.MustCompile("(?ms)^```\\w*\n(.*?)^```")
	span    = regexp.MustCompile("`([^`]+)`")
	link    = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	flagged = regexp.MustCompile(`(?:^|[^\w-])--([a-z][a-z0-9-]*)`)
	target  = regexp.MustCompile(`^make ([a-z-]+)`)
	command = regexp.MustCompile(`^(?:\$ )?(?:bin/)?((?:hub|agent)(?: [a-z][a-z-]*)+)`)
	path    = regexp.MustCompile(`^[\w.-]+(/[\w.*-]+)+/?$`)
	file    = regexp.MustCompile(`^[\w-]+\.(go|md|yaml|json|lua|sh|txt)$`)
	name    = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(\))?$`)
	word    = regexp.MustCompile(`\w+`)
)

// tree is the content of the repository that pages may name: everything except handwritten pages.
type tree struct {
	root  string
	pages []string
	// base has the names of files, words the words in the files, and text their content.
	base, words map[string]bool
	text        string
	// commands are the commands in the pages of flags, makefile is the content of the Makefile.
	commands []string
	makefile string
}

func readTree(t *testing.T) *tree {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	w := &tree{root: root, base: map[string]bool{}, words: map[string]bool{}}
	var text strings.Builder
	err = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "_demo", "_artifacts", "_bench", "node_modules"}, d.Name()):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		w.base[d.Name()] = true
		switch {
		case filepath.Ext(at) == ".md" && d.Name() != "FLAGS.md":
			w.pages = append(w.pages, at)
			return nil
		case slices.Contains([]string{".png", ".sum"}, filepath.Ext(at)), d.Name() == "names_test.go":
			return nil
		}
		data, err := os.ReadFile(at)
		text.Write(data)
		if d.Name() == "FLAGS.md" {
			for _, heading := range regexp.MustCompile(`(?m)^## ([a-z]+(?: [a-z][a-z-]*)*)`).FindAllStringSubmatch(string(data), -1) {
				w.commands = append(w.commands, heading[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.text = text.String()
	for _, found := range strings.FieldsFunc(w.text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		w.words[found] = true
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	w.makefile = "\n" + string(makefile)
	return w
}

func TestPages(t *testing.T) {
	t.Parallel()
	w := readTree(t)
	t.Run("name what there is", w.pagesNameWhatThereIs)
	t.Run("show the tree as it is", w.contributingShowsTheTree)
}

// pagesNameWhatThereIs checks that the names in code spans and blocks of the pages exist in the tree: files, folders, commands, flags,
// targets of make, and names of the API, of metrics and of Go.
func (w *tree) pagesNameWhatThereIs(t *testing.T) {
	if len(w.pages) < 20 || len(w.commands) < 20 {
		t.Fatalf("%d pages and %d commands: the rules below would hold of nothing", len(w.pages), len(w.commands))
	}
	for _, page := range w.pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		shown, _ := filepath.Rel(w.root, page)
		for _, to := range link.FindAllStringSubmatch(string(data), -1) {
			if !exists(filepath.Dir(page), to[1]) {
				t.Errorf("%s links %s, which is not there", shown, to[1])
			}
		}
		for _, block := range fence.FindAllStringSubmatch(string(data), -1) {
			for line := range strings.Lines(block[1]) {
				line = strings.TrimSpace(line)
				if missing := w.missingOfCommand(line); missing != "" {
					t.Errorf("%s shows %q: there is no %s", shown, line, missing)
				}
			}
		}
		for _, quoted := range span.FindAllStringSubmatch(fence.ReplaceAllString(string(data), ""), -1) {
			text := strings.Join(strings.Fields(quoted[1]), " ")
			if missing := w.missing(filepath.Dir(page), text); missing != "" {
				t.Errorf("%s names `%s`: there is no %s", shown, text, missing)
			}
		}
	}
}

// missing describes the first name in a code span that does not exist; empty if all exist.
func (w *tree) missing(from, text string) string {
	if foreign[text] != "" {
		return ""
	}
	switch {
	case path.MatchString(text):
		// The sources concatenate keys of labels, and paths below a directory of data.
		last := filepath.Base(text)
		if !exists(from, text) && !exists(w.root, text) && !exists(filepath.Join(w.root, "hub"), text) && !exists(filepath.Join(w.root, "agent"), text) &&
			!exists(filepath.Join(w.root, "common/interpreter/lua"), text) && !strings.Contains(w.text, text) && !strings.Contains(w.text, last+`"`) {
			return "such path"
		}
	case file.MatchString(text):
		if !w.base[text] && !strings.Contains(w.text, text) {
			return "such file"
		}
	case name.MatchString(text):
		for _, part := range word.FindAllString(text, -1) {
			if !w.words[part] {
				return part
			}
		}
	}
	return w.missingOfCommand(text)
}

// missingOfCommand describes the first word or flag of a command that does not exist; empty if all exist.
func (w *tree) missingOfCommand(line string) string {
	if found := target.FindStringSubmatch(line); found != nil && !regexp.MustCompile(`\n[\w ./-]*\b`+regexp.QuoteMeta(found[1])+`\b[\w ./-]*:`).MatchString(w.makefile) {
		return "target " + found[1]
	}
	if found := command.FindStringSubmatch(line); found != nil && !strings.Contains(found[1], " completion") && !slices.ContainsFunc(w.commands, func(c string) bool {
		return found[1] == c || strings.HasPrefix(found[1], c+" ")
	}) {
		return "command " + found[1]
	}
	if theirs.MatchString(line) {
		return ""
	}
	for _, found := range flagged.FindAllStringSubmatch(line, -1) {
		if !strings.Contains(w.text, "--"+found[1]) && !strings.Contains(w.text, `"`+found[1]+`"`) {
			return "flag --" + found[1]
		}
	}
	return ""
}

// exists returns whether a path, which may be a pattern, exists below a directory.
func exists(below, path string) bool {
	found, err := filepath.Glob(filepath.Join(below, path))
	return err == nil && len(found) > 0
}

// contributingShowsTheTree checks that CONTRIBUTING shows every part of the tree, and no other.
func (w *tree) contributingShowsTheTree(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(w.root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	var above []string
	for line := range strings.Lines(fence.FindStringSubmatch(string(data))[1]) {
		entry := regexp.MustCompile(`^( *)([a-z]\w*)/(?:\s|$)`).FindStringSubmatch(line)
		if entry == nil {
			continue
		}
		depth := len(entry[1]) / 2
		if len(above) > 2 && above[0] == "hub" && depth > 2 { // shown below its neighbour, as it follows it
			depth = 2
		}
		above = append(above[:min(depth, len(above))], entry[2])
		at := filepath.Join(above...)
		shown[at] = true
		if !exists(w.root, at) {
			t.Errorf("CONTRIBUTING shows %s, which is not there", at)
		}
	}
	for _, pattern := range []string{"common/*", "hub/*", "hub/people/*", "hub/flow/*", "hub/adjust/*", "hub/fleet/*", "hub/machinery/*", "agent/*", "test/*"} {
		found, err := filepath.Glob(filepath.Join(w.root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range found {
			info, err := os.Stat(at)
			if err != nil {
				t.Fatal(err)
			}
			if at, _ := filepath.Rel(w.root, at); info.IsDir() && !shown[at] && filepath.Base(at) != "testdata" {
				t.Errorf("CONTRIBUTING does not show %s", at)
			}
		}
	}
}
