package cli

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/agent/install/manifest"
)

// TestAmountsThatAreNotNamedStayAsTheInstalledAgentHasThem joins again with a flag that names some resources only.
func TestAmountsThatAreNotNamedStayAsTheInstalledAgentHasThem(t *testing.T) {
	t.Parallel()
	of := func(amounts ...string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for i := 0; i < len(amounts); i += 2 {
			out[corev1.ResourceName(amounts[i])] = resource.MustParse(amounts[i+1])
		}
		return out
	}
	for name, tc := range map[string]struct {
		installed corev1.ResourceList
		given     bool
		said      []string
		want      corev1.ResourceList
	}{
		"nothing is said":                        {installed: of("cpu", "1"), want: of("cpu", "1")},
		"another resource":                       {installed: of("cpu", "1"), given: true, said: []string{"memory=1Gi"}, want: of("cpu", "1", "memory", "1Gi")},
		"the same resource":                      {installed: of("cpu", "1", "memory", "1Gi"), given: true, said: []string{"cpu=2"}, want: of("cpu", "2", "memory", "1Gi")},
		"one that the installed agent has not":   {installed: of("memory", "0"), given: true, said: []string{"cpu=2"}, want: of("cpu", "2", "memory", "0")},
		"one that is to be taken away":           {installed: of("cpu", "1", "memory", "1Gi"), given: true, said: []string{"cpu=0"}, want: of("cpu", "0", "memory", "1Gi")},
		"an installed agent that is the chart's": {given: true, said: []string{"cpu=2"}, want: of("cpu", "2")},
		"those of the chart again":               {installed: of("cpu", "1"), given: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, flag := range []string{"requests", "limits"} {
				g := NewWithT(t)
				installed := manifest.Pod{Requests: tc.installed.DeepCopy(), Limits: tc.installed.DeepCopy()}
				f := podFlags{runAs: manifest.RunAsAuto}
				if flag == "requests" {
					f.requests = tc.said
				} else {
					f.limits = tc.said
				}
				g.Expect(f.read()).To(Succeed())
				f.keep(&installed, func(name string) bool { return tc.given && name == flag })
				got, other := f.pod.Requests, f.pod.Limits
				if flag == "limits" {
					got, other = other, got
				}
				g.Expect(got).To(BeComparableTo(tc.want))
				g.Expect(other).To(BeComparableTo(tc.installed), "the other flag was not given")
				g.Expect(installed.Requests).To(BeComparableTo(tc.installed), "what was read of the installed agent does not change")
				g.Expect(installed.Limits).To(BeComparableTo(tc.installed))
			}
		})
	}
}
