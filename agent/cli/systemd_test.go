package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/registration"
)

func TestAUnitNamesEverythingByItsWholePath(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example.com:3128/100%")
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(printUnit(&out, &joinCommand{
		member: memberFlags{kubeconfig: "/etc/member.kubeconfig", context: "one"}, join: joinFlags{stateDir: "/var/lib/agent", account: "tenant"},
		journalKey: "/etc/journal.key", webhooks: true,
	})).To(Succeed())
	g.Expect(out.String()).To(And(
		MatchRegexp(`(?m)^ExecStart=/\S+ run --kubeconfig /etc/member.kubeconfig --context one --state-dir /var/lib/agent --as-service-account tenant --journal-key-file /etc/journal.key$`),
		MatchRegexp(`(?m)^Environment="HTTPS_PROXY=http://proxy.example.com:3128/100%%"$`),
		MatchRegexp(`(?m)^ReadWritePaths=/var/lib/agent$`),
		MatchRegexp(`(?m)^Restart=on-failure$`),
		Not(ContainSubstring("NO_PROXY"))))
}

// TestAUnitFindsAKubeconfigThatWasNamedFromHere has $KUBECONFIG name files of the present directory, from which no unit starts.
func TestAUnitFindsAKubeconfigThatWasNamedFromHere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "of edge 1")
	g := NewWithT(t)
	g.Expect(os.Mkdir(dir, 0o700)).To(Succeed())
	t.Chdir(dir)
	t.Setenv("KUBECONFIG", "edge.kubeconfig:/etc/other.kubeconfig")
	var out bytes.Buffer
	g.Expect(printUnit(&out, &joinCommand{join: joinFlags{stateDir: "/var/lib/agent"}, webhooks: true})).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring("\nEnvironment=\"KUBECONFIG=" + dir + "/edge.kubeconfig:/etc/other.kubeconfig\"\n"))
}

func TestAFindingIsALineAndAdviceIsAnother(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var out bytes.Buffer
	printFinding(&out, registration.Finding{Check: "DNS", Is: "hub is 10.0.0.1"})
	printFinding(&out, registration.Finding{Check: "TCP", Is: "10.0.0.1:443 does not answer", Advice: "open it"})
	printFinding(&out, registration.Finding{Check: "proxy", Is: "not looked at", Skipped: true})
	g.Expect(out.String()).To(Equal("ok    DNS     hub is 10.0.0.1\n" +
		"FAIL  TCP     10.0.0.1:443 does not answer\n" +
		"              -> open it\n" +
		"-     proxy   not looked at\n"))
}
