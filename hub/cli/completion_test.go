package cli

import (
	"crypto/rand"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// completed matches flags that name something a shell can complete, by their names.
var completed = regexp.MustCompile(`^(hub-)?(namespace|context|cluster|between|rejoin|strategy|output|approval)$|-dir$`)

// notYet are flags of that kind whose values cannot be completed: names that do not exist yet, or that exist on another
// control plane.
var notYet = map[string]bool{
	"hub token create --cluster": true, "hub migrate karmada --cluster": true, "hub migrate karmada --context": true, "hub migrate kubefed --cluster": true,
	"hub serve --context": true, "hub kubeconfig --output": true, "hub rollout history --between": true, // revisions
}

func TestEveryCommandThatTakesArgumentsCompletesThem(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	count := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			visit(child)
		}
		argument := regexp.MustCompile(`^\S+ (\[?[A-Z])`).MatchString(cmd.Use)
		for _, args := range [][]string{{"a"}, {"a", "b"}} {
			argument = argument || !cmd.HasSubCommands() && (cmd.Args == nil || cmd.Args(cmd, args) == nil)
		}
		if argument {
			count++
			g.Expect(cmd.ValidArgsFunction).NotTo(BeNil(), cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !completed.MatchString(f.Name) || notYet[cmd.CommandPath()+" --"+f.Name] {
				return
			}
			_, is := cmd.GetFlagCompletionFunc(f.Name)
			g.Expect(is).To(BeTrue(), "%s --%s", cmd.CommandPath(), f.Name)
		})
	}
	visit(newRoot(Environment{}))
	g.Expect(count).To(BeNumerically(">", 30), "it went through the commands")
}

// completes checks what a shell would offer.
func (l *lookout) completes(g *WithT) {
	token, err := bootstrap.New(rand.Reader, "edge-9", time.Now().Add(time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	l.create(bootstrap.NewSecret(token), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: contract.RetiredName("edge-0")}})
	shop := l.in("shop")
	for words, want := range map[string]string{
		"explain dep":                           "deployment/web",
		"explain configmap/al":                  "configmap/alone",
		"explain cm al":                         "alone",
		"get deployment ":                       "web",
		"get deployment/web ":                   "",
		"tree dep":                              "deployment/web",
		"exec dep":                              "deployment/web",
		"wait cluster/edge-":                    "cluster/edge-1 cluster/edge-2 cluster/edge-3",
		"wait cluster edge-":                    "edge-1 edge-2 edge-3",
		"wait d":                                "deployment/web",
		"cordon e":                              "edge-1 edge-2 edge-3",
		"uncordon edge-1 e":                     "edge-2 edge-3",
		"forget e":                              "edge-1 edge-2 edge-3",
		"forget edge-1 e":                       "",
		"forget --release e":                    "edge-0",
		"clusters e":                            "edge-1 edge-2 edge-3",
		"clusters describe e":                   "edge-1 edge-2 edge-3",
		"clusters approve e":                    "",
		"token revoke " + token.ID[:2]:          token.ID,
		"token create --rejoin edge-":           "edge-1 edge-2 edge-3",
		"diff deployment/web --cluster edge-":   "edge-1 edge-2 edge-3",
		"get -n kube-p":                         "kube-public",
		"rollout abort deployment/web -n kube-": "kube-node-lease kube-public kube-system",
		"get --context ":                        "look",
		"get -o ":                               "table wide json yaml",
		"explain -o ":                           "text json yaml",
	} {
		args := append([]string{"__complete"}, strings.Split(words, " ")...)
		out, _ := l.run(ExitDone, args...)
		offered, _, _ := strings.Cut(out, ":")
		g.Expect(strings.Join(strings.Fields(offered), " ")).To(Equal(want), "%q", words)
	}
	out, _ := shop.run(ExitDone, "__complete", "explain", "cm/al")
	g.Expect(out).To(HavePrefix(":"), "what is in another namespace would not be found")
}
