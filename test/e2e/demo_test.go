package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/fleet"
)

func TestMembersJoinByTokenAndAreReady(t *testing.T) {
	g := NewWithT(t)
	f := up(t)
	lines := table(kubectl(t, g, f, fleet.HubName, "get", "clusters"))
	g.Expect(lines).To(HaveLen(3))
	for i, fields := range lines {
		g.Expect(fields[:4]).To(Equal([]string{f.Members()[i], "v1.36.3", "Pull", "True"}))
	}
	eventually(t, func(g Gomega) { // the first report of an agent does not wait long for the nodes
		summary := kubectl(t, g, f, fleet.HubName, "get", "cluster", "edge-1", "-o",
			"jsonpath={.status.nodeSummary.readyNum} {.status.resourceSummary.allocatable.cpu} {.status.apiEnablements[*].groupVersion}")
		g.Expect(summary).To(HavePrefix("2 16 "))
		g.Expect(summary).To(ContainSubstring("apps/v1"))
	})
}

func TestTheExamples(t *testing.T) {
	g := NewWithT(t)
	f := up(t)
	root, err := cluster.Root()
	g.Expect(err).NotTo(HaveOccurred())
	kubectl(t, g, f, fleet.HubName, "apply", "--recursive", "-f", filepath.Join(root, "manifests", "examples"))

	eventually(t, func(g Gomega) {
		lines := table(kubectl(t, g, f, fleet.HubName, "get", "deployment", "nginx"))
		g.Expect(lines[0][:2]).To(Equal([]string{"nginx", "3/1"}))
	})
	g.Expect(pods(t, g, f, "edge-1", "app=nginx")).To(HaveLen(1))
	g.Expect(pods(t, g, f, "edge-2", "app=nginx")).To(HaveLen(2))
	g.Expect(pods(t, g, f, "edge-3", "app=nginx")).To(BeEmpty())

	// kubectl asks for a dozen kinds in each member, so wait until the hub says that all of them are there.
	eventually(t, func(g Gomega) {
		all := applied(t, g, f, "shop")
		g.Expect(all).To(HaveLen(16))
		g.Expect(all).To(HaveEach(metav1.ConditionTrue))
	})
	eventually(t, func(g Gomega) {
		for _, member := range f.Members() {
			names := strings.Fields(kubectl(t, g, f, member, "get", "-n", "shop", "-l", "app.kubernetes.io/part-of=shop", "-o", "name",
				"deployments,statefulsets,services,configmaps,secrets,serviceaccounts,roles,rolebindings,ingresses,cronjobs,poddisruptionbudgets,horizontalpodautoscalers"))
			g.Expect(names).To(HaveLen(16), member)
		}
		deployments := table(kubectl(t, g, f, fleet.HubName, "get", "deployments", "-n", "shop"))
		g.Expect(deployments).To(HaveLen(2))
		for _, fields := range deployments {
			want := map[string]string{"web": "6/2", "stock": "3/1"}[fields[0]]
			g.Expect(fields[1]).To(Equal(want), fields[0])
		}
		states := strings.Fields(kubectl(t, g, f, fleet.HubName, "get", "resourcebindings", "-n", "shop", "-o",
			`jsonpath={.items[*].status.conditions[?(@.type=="FullyApplied")].status}`))
		g.Expect(states).To(HaveLen(16))
		g.Expect(states).To(HaveEach("True"))
	})
}

// table returns the fields of kubectl's output lines, without the header.
func table(out string) [][]string {
	var lines [][]string
	for line := range strings.Lines(out) {
		lines = append(lines, strings.Fields(line))
	}
	if len(lines) == 0 {
		return nil
	}
	return lines[1:]
}

func pods(t *testing.T, g Gomega, f *fleet.Fleet, member, label string) []string {
	t.Helper()
	return strings.Fields(kubectl(t, g, f, member, "get", "pods", "-l", label, "--field-selector", "status.phase=Running", "-o", "name"))
}
