package detector

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/hub/flow/detector/claim"
)

// TestStories runs the stories in testdata/stories, line by line, with the stage on a real API server. What a line expects must become
// true; "steady" waits until the queue is empty.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txt")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			s := start(t)
			for number, line := range strings.Split(string(text), "\n") {
				line, _, _ = strings.Cut(line, "#")
				if line = strings.TrimSpace(line); line != "" {
					t.Logf("%d: %s", number+1, line)
					s.tell(t, line)
				}
			}
		})
	}
}

// tell executes one line of a story.
func (s *stage) tell(t *testing.T, line string) {
	t.Helper()
	for pattern, do := range map[string]func(t *testing.T, words []string){
		`^policy (\S+) selects (.+)$`: func(t *testing.T, words []string) {
			t.Helper()
			s.create(t, s.told(t, words[1], words[2]))
		},
		`^change policy (\S+) selects (.+)$`: func(t *testing.T, words []string) {
			t.Helper()
			next := s.told(t, words[1], words[2])
			s.change(t, next.DeepCopy(), func(spec *policyv1alpha1.PropagationSpec) { *spec = next.Spec })
		},
		`^delete policy (\S+)$`: func(t *testing.T, words []string) {
			t.Helper()
			NewWithT(t).Expect(s.client.Delete(t.Context(), s.policy(words[1]))).To(Succeed())
		},
		`^template (\S+)$`: func(t *testing.T, words []string) {
			t.Helper()
			s.create(t, s.configMap(words[1]))
		},
		`^edit (\S+)$`: func(t *testing.T, words []string) {
			t.Helper()
			patch := fmt.Sprintf(`{"data":{"edited":"%d"}}`, len(s.writes.requests()))
			NewWithT(t).Expect(s.client.Patch(t.Context(), s.configMap(words[1]), client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
		},
		`^steady$`: func(t *testing.T, _ []string) {
			t.Helper()
			s.settle(t)
		},
		`^expect (\S+) (?:claimed by (\S+)|unclaimed), to (\S+)$`: func(t *testing.T, words []string) {
			t.Helper()
			s.expect(t, words[1], words[2], words[3])
		},
	} {
		if words := regexp.MustCompile(pattern).FindStringSubmatch(line); words != nil {
			do(t, words)
			return
		}
	}
	t.Fatalf("unknown line: %q", line)
}

// told creates the policy that a line describes.
func (s *stage) told(t *testing.T, name, what string) *policyv1alpha1.PropagationPolicy {
	t.Helper()
	parts := strings.Split(what, ", ")
	p := s.policy(name)
	switch selected := strings.Fields(parts[0]); selected[0] {
	case "every":
		p.Spec.ResourceSelectors = append(p.Spec.ResourceSelectors, named("v1", selected[1], ""))
	default:
		p.Spec.ResourceSelectors = append(p.Spec.ResourceSelectors, named("v1", selected[0], selected[1]))
	}
	for _, part := range parts[1:] {
		switch words := strings.Fields(part); words[0] {
		case "to":
			p.Spec.Placement.ClusterAffinity.ClusterNames = words[1:]
		case "priority":
			n, err := strconv.ParseInt(words[1], 10, 32)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			p.Spec.Priority = new(int32(n))
		case "preempt":
			p.Spec.Preemption = policyv1alpha1.PreemptAlways
		case "lazy":
			p.Spec.ActivationPreference = policyv1alpha1.LazyActivation
		default:
			t.Fatalf("unknown part of a policy: %q", part)
		}
	}
	return p
}

// expect waits until the claims on the template and its binding name the policy, and the binding has its clusters.
func (s *stage) expect(t *testing.T, template, policy, cluster string) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		obj := s.configMap(template)
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		onTemplate, _ := claim.On(obj)
		g.Expect(onTemplate.Name).To(Equal(policy), "policy on the template")
		b, err := s.binding(t.Context(), template+"-configmap")
		g.Expect(err).NotTo(HaveOccurred())
		onBinding, _ := claim.On(b)
		g.Expect(onBinding.Name).To(Equal(policy), "policy on the binding")
		g.Expect(b.Spec.Placement.ClusterAffinity.ClusterNames).To(ConsistOf(cluster))
	}, "1m", "50ms").Should(Succeed())
}
