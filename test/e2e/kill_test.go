package e2e

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/fleet"
)

// configMaps returns YAML of ConfigMaps first to last with a label, and of the policy that propagates them everywhere.
func configMaps(label string, first, last int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: %[1]s, namespace: default}
spec:
  resourceSelectors:
    - {apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {test: %[1]s}}}
  placement: {clusterAffinity: {clusterNames: [edge-1, edge-2, edge-3]}}
`, label)
	for i := first; i <= last; i++ {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %[1]s-%[2]d, namespace: default, labels: {test: %[1]s}}\ndata: {n: \"%[2]d\"}\n", label, i)
	}
	return b.String()
}

// backups returns the names of ConfigMaps labelled backup.
func backups(first, last int) []string {
	var out []string
	for i := first; i <= last; i++ {
		out = append(out, fmt.Sprintf("backup-%d", i))
	}
	return out
}

// count returns how many ConfigMaps with a label the hub or a member has.
func count(t *testing.T, g Gomega, f *fleet.Fleet, name, label string) int {
	t.Helper()
	return len(uids(t, g, f, name, label))
}

// uids returns the UIDs of the ConfigMaps with a label in the hub or a member: a recreated one has a new UID. It is
// called often, so it does not run kubectl.
func uids(t *testing.T, g Gomega, f *fleet.Fleet, name, label string) map[string]types.UID {
	t.Helper()
	c, err := f.Client(name)
	g.Expect(err).NotTo(HaveOccurred())
	var list corev1.ConfigMapList
	g.Expect(c.List(t.Context(), &list, client.InNamespace(corev1.NamespaceDefault), client.MatchingLabels{"test": label})).To(Succeed())
	out := map[string]types.UID{}
	for i := range list.Items {
		out[list.Items[i].Name] = list.Items[i].UID
	}
	return out
}

func TestAHubThatIsKilledGoesOn(t *testing.T) {
	g := NewWithT(t)
	f := up(t)
	apply(t, f, configMaps("hub", 1, 30))
	wave := beginWave(t, f)
	g.Expect(f.Kill(t.Context(), fleet.HubName)).To(Succeed())
	g.Expect(f.Up(t.Context())).To(Succeed(), "on the same data, with agents that come back by themselves")
	wave.goesOn(t)
	apply(t, f, configMaps("hub", 31, 40))
	eventually(t, func(g Gomega) {
		for _, member := range f.Members() {
			g.Expect(count(t, g, f, member, "hub")).To(Equal(40), member)
		}
	})
	kubectl(t, g, f, fleet.HubName, "delete", "configmaps", "-l", "test=hub")
	eventually(t, func(g Gomega) {
		for _, member := range f.Members() {
			g.Expect(count(t, g, f, member, "hub")).To(BeZero(), member)
		}
	})
}

func TestAnAgentThatIsKilledGoesOn(t *testing.T) {
	g := NewWithT(t)
	f := up(t)
	apply(t, f, configMaps("agent", 1, 30))
	agent := fleet.AgentName("edge-2")
	g.Expect(f.Kill(t.Context(), agent)).To(Succeed())
	apply(t, f, configMaps("agent", 31, 40))
	eventually(t, func(g Gomega) {
		g.Expect(count(t, g, f, "edge-1", "agent")).To(Equal(40), "the others are served")
	})
	g.Expect(f.Up(t.Context())).To(Succeed(), "with the identity that it has")
	eventually(t, func(g Gomega) {
		g.Expect(count(t, g, f, "edge-2", "agent")).To(Equal(40))
	})
}

func TestAMemberWhoseAPIIsKilledGoesOn(t *testing.T) {
	g := NewWithT(t)
	f := up(t)
	g.Expect(f.Kill(t.Context(), "edge-3")).To(Succeed())
	apply(t, f, configMaps("member", 1, 10))
	eventually(t, func(g Gomega) { g.Expect(count(t, g, f, "edge-1", "member")).To(Equal(10)) })
	g.Expect(f.Up(t.Context())).To(Succeed())
	eventually(t, func(g Gomega) { g.Expect(count(t, g, f, "edge-3", "member")).To(Equal(10)) })
}
