package cli

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	"fairlead.dev/common/contract"
)

// TestACheckTellsWhatTheChartRefuses checks that `agent join --install --check` reports what the chart would refuse,
// before a token is used up.
func TestACheckTellsWhatTheChartRefuses(t *testing.T) {
	t.Parallel()
	operators := operatorFlags{who: []string{"off"}}
	for name, tc := range map[string]struct {
		namespaces, kinds, safe []string
		want                    string
	}{
		"all kinds beside itself":           {namespaces: []string{contract.SystemNamespace}, want: "kinds is empty"},
		"a custom kind beside itself":       {namespaces: []string{contract.SystemNamespace}, kinds: []string{"widgets.example.com"}, want: "widgets.example.com"},
		"a custom kind that is known":       {namespaces: []string{contract.SystemNamespace}, kinds: []string{"widgets.example.com"}, safe: []string{"widgets.example.com"}},
		"a custom kind in other namespaces": {namespaces: []string{"shop"}, kinds: []string{"widgets.example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			f := installFlags{image: "agent:v1", volume: manifest.VolumeNone, namespaces: tc.namespaces, kinds: tc.kinds, safeKinds: tc.safe}
			found, err := f.refused(t.Context(), nil, "", operators)
			g.Expect(err).NotTo(HaveOccurred())
			if tc.want == "" {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(HaveLen(1))
			g.Expect(found[0].Failed()).To(BeTrue())
			g.Expect(found[0].Is).To(ContainSubstring(tc.want))
			g.Expect(found[0].Advice).To(ContainSubstring("--namespaces"))
			var out bytes.Buffer
			err = checkJoin(t.Context(), registration.Options{}, found, &out)
			g.Expect(err).To(HaveOccurred())
			g.Expect(out.String()).To(And(ContainSubstring("FAIL  install"), ContainSubstring(tc.want)))
		})
	}
}

// TestPullSecretsOfAnInstalledAgentAreNotCheckedAgain joins again by a command that names no pull Secret: what the owner's Deployment names
// stays as it is, though a Secret of it may be gone, which the kubelet tolerates.
func TestPullSecretsOfAnInstalledAgentAreNotCheckedAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := installFlags{
		image: "agent:v1", volume: manifest.VolumeNone, given: func(string) bool { return false },
		pod: podFlags{pod: manifest.Pod{PullSecrets: []string{"gone"}}},
	}
	var nobody *install.Installer // to ask it would panic
	found, err := f.refused(t.Context(), nobody, "", operatorFlags{who: []string{"off"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(BeEmpty())
}
