package connect

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

// recorded returns the entries of a file of JSON lines that contain a text.
func recorded(g Gomega, file, text string) (found []map[string]any) {
	f, err := os.Open(file)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), text) {
			continue
		}
		entry := map[string]any{}
		if json.Unmarshal(lines.Bytes(), &entry) == nil { // the last line may be incomplete
			found = append(found, entry)
		}
	}
	return found
}

func TestWhatOperatorsDoIsRecordedAtBothEndsUnderOneID(t *testing.T) {
	w := up(t)
	out, err := w.does(open, "alice", "exec", "web", "--", "echo", "for-the-record")
	w.G.Expect(err).NotTo(HaveOccurred(), out)
	w.Eventually(func(g Gomega) {
		atMember := recorded(g, filepath.Join(w.StateDir(open), "access", "changes.jsonl"), "for-the-record")
		g.Expect(atMember).To(ContainElement(And(HaveKeyWithValue("phase", "begun"), HaveKeyWithValue("user", "alice"), HaveKeyWithValue("as", "fairlead:alice"),
			HaveKeyWithValue("object", "pods/exec default/web"))))
		g.Expect(atMember).To(ContainElement(And(HaveKeyWithValue("phase", "ended"), HaveKeyWithValue("status", BeEquivalentTo(101)))))
		id, ok := atMember[0]["auditID"].(string)
		g.Expect(ok).To(BeTrue())
		g.Expect(id).NotTo(BeEmpty())
		atHub := recorded(g, filepath.Join(w.Dir, fleet.HubName, "audit", "audit.log"), id)
		g.Expect(atHub).To(ContainElement(And(
			HaveKeyWithValue("objectRef", And(HaveKeyWithValue("resource", "clusters"), HaveKeyWithValue("subresource", "proxy"), HaveKeyWithValue("name", open))),
			HaveKeyWithValue("impersonatedUser", HaveKeyWithValue("username", "alice")),
		)))
	})
}

// byTheHub are objects with which a compromised hub would try to get access.
const byTheHub = `
apiVersion: work.karmada.io/v1alpha1
kind: Work
metadata: {name: lets-mallory-in, namespace: karmada-es-edge-1}
spec:
  workload:
    manifests:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: fairlead-connect, namespace: karmada-system}, data: {operators: "user:mallory", may: "exec"}}
`

func TestAHostileHubDoesNotLetItselfIn(t *testing.T) {
	w := up(t)
	rules := func() string {
		return w.MustKubectl(open, "get", "configmap", "-n", contract.SystemNamespace, contract.ConnectName, "-o", "jsonpath={.data}")
	}
	before := rules()
	w.applyTo(fleet.HubName, byTheHub)
	t.Cleanup(func() {
		w.MustKubectl(fleet.HubName, "delete", "work", "-n", "karmada-es-edge-1", "lets-mallory-in", "--ignore-not-found", "--wait=false")
	})
	w.Eventually(func(g Gomega) {
		out, err := w.Kubectl(t.Context(), fleet.HubName, "get", "work", "-n", "karmada-es-edge-1", "lets-mallory-in", "-o", `jsonpath={.status.conditions[?(@.type=="Applied")].status} {.status.conditions[?(@.type=="Applied")].message}`)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out).To(And(HavePrefix("False "), ContainSubstring(contract.ConnectName)))
	})
	w.G.Expect(rules()).To(Equal(before))
	out, err := w.does(open, "mallory", "get", "--raw", "/api/v1/namespaces/default/pods")
	w.G.Expect(err).To(HaveOccurred(), out)
	w.G.Expect(out).To(ContainSubstring("owner"))
}
