package cli

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestEveryCommandThatTakesArgumentsCompletesThem(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			visit(child)
		}
		if cmd.HasParent() && (cmd.Args == nil || cmd.Args(cmd, []string{"a:1"}) == nil) {
			g.Expect(cmd.ValidArgsFunction).NotTo(BeNil(), cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, is := cmd.GetFlagCompletionFunc(f.Name)
			few := f.Name == "context" || regexp.MustCompile(`\bkeep or remove\b|\btext or json\b`).MatchString(f.Usage)
			g.Expect(is || !few).To(BeTrue(), "%s --%s", cmd.CommandPath(), f.Name)
		})
	}
	visit(newRoot(Environment{}))
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	config := clientcmdapi.NewConfig()
	config.Contexts["edge"], config.Contexts["other"] = &clientcmdapi.Context{}, &clientcmdapi.Context{}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	for words, want := range map[string]string{
		"operators ":       "off user: group:",
		"operators off ":   "",
		"leave --objects ": "keep remove",
		"run --kubeconfig " + file + " --context ": "edge other",
		"comp": "completion",
	} {
		var out, said bytes.Buffer
		g.Expect(Run(t.Context(), Environment{Out: &out, Err: &said}, append([]string{"__complete"}, strings.Split(words, " ")...))).To(BeZero())
		offered, _, _ := strings.Cut(regexp.MustCompile(`\t[^\n]*`).ReplaceAllString(out.String(), ""), "\n:")
		g.Expect(strings.Join(strings.Fields(strings.TrimPrefix(offered, ":4\n")), " ")).To(Equal(want), "%q", words)
	}
}
