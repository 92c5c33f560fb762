package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigOf writes a kubeconfig for a server to a file.
func kubeconfigOf(t *testing.T, path, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "it"
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it"}
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: server}
	NewWithT(t).Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

func TestWhichHubIsSpokenTo(t *testing.T) {
	t.Parallel()
	const hub, theirs, named = "https://hub:6443", "https://theirs:6443", "https://named:6443"
	own, elsewhere, homes := t.TempDir(), t.TempDir(), t.TempDir()
	kubeconfigOf(t, adminKubeconfig(own), hub)
	home := kubeconfigOf(t, filepath.Join(homes, ".kube", "config"), theirs)
	same := t.TempDir()
	kubeconfigOf(t, filepath.Join(same, ".kube", "config"), hub)
	flag := kubeconfigOf(t, filepath.Join(elsewhere, "named"), named)
	cases := map[string]struct {
		args    []string
		dataDir string
		env     map[string]string
		local   bool
		want    string
		warns   bool
		fails   string
	}{
		"the flag comes first":                          {args: []string{"--kubeconfig", flag}, dataDir: own, env: map[string]string{"KUBECONFIG": home, "HOME": homes}, want: named},
		"then the environment":                          {dataDir: own, env: map[string]string{"KUBECONFIG": flag, "HOME": homes}, want: named},
		"then the hub of this machine":                  {dataDir: own, env: map[string]string{}, want: hub},
		"where kubectl goes elsewhere, that is said":    {dataDir: own, env: map[string]string{"HOME": homes}, want: hub, warns: true},
		"where kubectl goes there too, it is not":       {dataDir: own, env: map[string]string{"HOME": same}, want: hub},
		"without one it is the person's, as of kubectl": {dataDir: elsewhere, env: map[string]string{"HOME": homes}, want: theirs},
		"who names a data directory means that one":     {args: []string{"--data-dir", own}, env: map[string]string{"HOME": homes}, want: hub},
		"and no other if it has no hub":                 {args: []string{"--data-dir", elsewhere}, env: map[string]string{"HOME": homes}, fails: "no hub was found on this machine"},
		"who works on the files of a hub means that":    {dataDir: elsewhere, env: map[string]string{"HOME": homes}, local: true, fails: "no hub was found on this machine"},
		"there is none at all":                          {dataDir: elsewhere, env: map[string]string{"HOME": elsewhere}, fails: "no hub was found on this machine"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var f hubFlags
			cmd := &cobra.Command{}
			if tc.local {
				f.addLocal(Environment{}, cmd)
			} else {
				f.add(Environment{}, cmd)
			}
			g.Expect(cmd.ParseFlags(tc.args)).To(Succeed())
			if tc.dataDir != "" {
				f.dataDir = tc.dataDir
			}
			k, err := f.find(Environment{Getenv: func(key string) string { return tc.env[key] }})
			if tc.fails != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.fails)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(k.server()).To(Equal(tc.want))
			g.Expect(k.warning != "").To(Equal(tc.warns), k.warning)
		})
	}
}

func TestAnUnreadableKubeconfigOfTheHubIsExplained(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	denied := &fs.PathError{Op: "open", Path: "/hub/admin.kubeconfig", Err: os.ErrPermission}
	_, err := hubFlags{}.choose("/hub/admin.kubeconfig", denied, "")
	g.Expect(err).To(MatchError(ContainSubstring("run the command as its user or as root, or name a kubeconfig of your own with --kubeconfig")))
	home := kubeconfigOf(t, filepath.Join(t.TempDir(), "config"), "https://theirs:6443")
	k, err := hubFlags{}.choose("/hub/admin.kubeconfig", denied, home)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(k.server()).To(Equal("https://theirs:6443"))
	g.Expect(k.warning).To(ContainSubstring("because you may not read /hub/admin.kubeconfig"))
}
