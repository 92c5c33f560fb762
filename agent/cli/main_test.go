package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: edge-1, user: u}}
- {name: two, context: {cluster: edge-2, user: u}}
clusters:
- {name: edge-1, cluster: {server: "https://127.0.0.1:1"}}
- {name: edge-2, cluster: {server: "https://127.0.0.1:1"}}
users:
- {name: u, user: {token: t}}
`

func TestBadInputIsOneSentenceAndAFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "member.kubeconfig")
	NewWithT(t).Expect(os.WriteFile(file, []byte(kubeconfig), 0o600)).To(Succeed())
	state := filepath.Join(dir, "state")

	cases := map[string]struct {
		args []string
		want string
	}{
		"an unknown command":         {[]string{"walk"}, `unknown command "walk"`},
		"an unknown flag":            {[]string{"run", "--fast"}, "unknown flag: --fast"},
		"two hubs":                   {[]string{"run", "a:1", "b:2"}, `unexpected argument "b:2"`},
		"events of no kind":          {[]string{"run", "--events", "some"}, `--events is "some"`},
		"a log of no format":         {[]string{"run", "--log-format", "xml"}, `"xml"`},
		"less memory than any":       {[]string{"run", "--memory-limit", "-1Mi"}, "--memory-limit"},
		"no such kubeconfig":         {[]string{"run", "--kubeconfig", dir + "/none"}, "no such file"},
		"no such context":            {[]string{"run", "--kubeconfig", file, "--context", "three"}, "three"},
		"no identity":                {[]string{"run", "--kubeconfig", file, "--state-dir", state}, "agent join"},
		"a token without a hub":      {[]string{"run", "--kubeconfig", file, "--token", "x"}, "the address of the hub is missing"},
		"a join without a hub":       {[]string{"join", "--kubeconfig", file}, "the address of the hub is missing"},
		"a join without a token":     {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--state-dir", state}, "token"},
		"a join with two tokens":     {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--state-dir", state, "--token", "x", "--token-file", file}, "--token and --token-file exclude each other"},
		"a join without a time":      {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--discovery-timeout", "0s"}, "--discovery-timeout must be positive"},
		"an image of no Deployment":  {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--image", "r.example/agent:v1"}, "--image applies to the Deployment"},
		"a volume of no sort":        {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--install", "--state-volume", "disk"}, `--state-volume is "disk"`},
		"a place of no Deployment":   {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--node-selector", "a=b"}, "--node-selector applies to the Deployment"},
		"a pull of no policy":        {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--install", "--image-pull-policy", "always"}, `--image-pull-policy is "always"`},
		"a user of no sort":          {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--install", "--run-as", "0"}, `--run-as is "0"`},
		"a label without a value":    {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--install", "--node-selector", "amd64"}, `--node-selector "amd64" is not of the form KEY=VALUE`},
		"a taint of no effect":       {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--install", "--tolerations", "a:Never"}, `--tolerations "a:Never" is not of the form`},
		"an amount of nothing":       {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--install", "--requests", "memory"}, `--requests "memory" is not of the form`},
		"less than nothing":          {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--install", "--limits", "memory=-1Mi"}, `--limits "memory=-1Mi" is not of the form`},
		"values beside others":       {[]string{"join", "127.0.0.1:1", "--print", "values", "--operators", "off"}, "--print values prints the agent that is installed, as it is: leave out 127.0.0.1:1, --operators"},
		"an end of no sort":          {[]string{"join", "127.0.0.1:1", "--print", "manifests", "--cluster-name", "c", "--token", "abcdef.0123456789abcdef", "--discovery-token-unsafe-skip-ca-verification", "--on-retire", "burn"}, `--on-retire is "burn"`},
		"a key of no process":        {[]string{"leave", "--kubeconfig", file, "--objects", "keep", "--installed", "--journal-key-file", file}, "leave it out with --installed"},
		"a key of no process either": {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--install", "--journal-key-file", file}, "for an agent that runs as a process"},
		"a directory of no process":  {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--install", "--state-dir", state}, "--state-dir is for an agent that runs as a process"},
		"a directory of manifests":   {[]string{"join", "127.0.0.1:1", "--print", "manifests", "--state-dir", state}, "--state-dir is for an agent that runs as a process"},
		"a directory of nobody":      {[]string{"leave", "--kubeconfig", file, "--objects", "keep", "--installed", "--state-dir", state}, "leave it out with --installed"},
		"operators who are nobody":   {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--operators", ""}, "off lets nobody in"},
		"an identity of no operator": {[]string{"join", "127.0.0.1:1", "--kubeconfig", file, "--operators-identity", "same"}, "no operators are named"},
		"a status of nobody":         {[]string{"status", "--state-dir", state}, "agent join"},
		"a status of no format":      {[]string{"status", "-o", "xml"}, `--output is "xml"`},
		"an identity of nobody":      {[]string{"operators", "--kubeconfig", file, "--identity", "same"}, "no operators are named"},
		"an argument to the version": {[]string{"version", "please"}, "please"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var out, problems bytes.Buffer
			env := Environment{Out: &out, Err: &problems, SetLogger: func(logr.Logger) {}}
			g.Expect(Run(t.Context(), env, tc.args)).To(Equal(1))
			g.Expect(problems.String()).To(And(HavePrefix("Error: "), ContainSubstring(tc.want)))
			g.Expect(bytes.Count(problems.Bytes(), []byte("\n"))).To(Equal(1))
			g.Expect(out.String()).To(BeEmpty())
		})
	}
}

func TestTheNameOfTheClusterIsThatOfTheKubeconfig(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "member.kubeconfig")
	g.Expect(os.WriteFile(file, []byte(kubeconfig), 0o600)).To(Succeed())
	one, two := memberFlags{kubeconfig: file}, memberFlags{kubeconfig: file, context: "two"}
	g.Expect(one.clusterName()).To(Equal("edge-1"))
	g.Expect(two.clusterName()).To(Equal("edge-2"))
	g.Expect(two.typed()).To(Equal(" --kubeconfig " + file + " --context two"))
	missing := memberFlags{kubeconfig: file + "-not"}
	g.Expect(missing.clusterName()).To(BeEmpty())
}

func TestVersionPrintsSomething(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var out, problems bytes.Buffer
	g.Expect(Run(t.Context(), Environment{Out: &out, Err: &problems}, []string{"version"})).To(Equal(0))
	g.Expect(out.String()).To(HavePrefix("agent "))
}
