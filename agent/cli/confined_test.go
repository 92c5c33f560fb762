package cli

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	"fairlead.dev/common/contract"
)

// What the chart refuses to make, `agent join --install --check` tells, before a token is used up for it.
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
