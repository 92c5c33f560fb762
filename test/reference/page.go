package reference

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/test/cluster"
)

var update = flag.Bool("update", false, "write FLAGS.md anew")

// Check fails the test if the page in a program's directory differs from the reference of the program.
func Check(t *testing.T, directory string, program *cobra.Command) {
	t.Helper()
	g := gomega.NewWithT(t)
	root, err := cluster.Root()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	path := filepath.Join(root, directory, "FLAGS.md")
	want := Page(program)
	if *update {
		g.Expect(os.WriteFile(path, []byte(want), 0o600)).To(gomega.Succeed())
		g.Expect(os.Chmod(path, 0o644)).To(gomega.Succeed())
		return
	}
	got, err := os.ReadFile(path)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(string(got)).To(gomega.Equal(want), "%s is out of date; `make generate` writes it anew", path)
}

// Page returns the reference of a program: each command with its flags, in the order of its help.
func Page(program *cobra.Command) string {
	var out strings.Builder
	fmt.Fprintf(&out, "<!-- Generated from the program by `make generate`; change the flags instead. -->\n\n# Flags of %s\n", program.Name())
	section(&out, program)
	return out.String()
}

func section(out *strings.Builder, cmd *cobra.Command) {
	if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
		return
	}
	if cmd.HasParent() {
		fmt.Fprintf(out, "\n## %s\n\n%s.\n", cmd.UseLine(), cmd.Short)
		table(out, cmd.LocalNonPersistentFlags(), cmd.PersistentFlags())
	}
	for _, child := range cmd.Commands() {
		section(out, child)
	}
}

func table(out *strings.Builder, sets ...*pflag.FlagSet) {
	head := "\n| flag | default | what it does |\n|---|---|---|\n"
	for _, set := range sets {
		set.VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			name := "`--" + f.Name
			if f.Value.Type() != "bool" {
				name += " " + f.Value.Type()
			}
			name += "`"
			if f.Shorthand != "" {
				name = "`-" + f.Shorthand + "`, " + name
			}
			value := ""
			if f.DefValue != "" && f.DefValue != "[]" {
				value = "`" + cell(f.DefValue) + "`"
			}
			fmt.Fprintf(out, "%s| %s | %s | %s |\n", head, name, value, cell(strings.ReplaceAll(f.Usage, "`", "")))
			head = ""
		})
	}
}

// cell escapes a text so that it does not end a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
