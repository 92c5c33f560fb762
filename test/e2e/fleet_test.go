package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

// Timeouts allow for a machine that does other work too.
const (
	waitTimeout = 2 * time.Minute
	poll        = 500 * time.Millisecond // most checks start a program
)

var shared = fleettest.Of(fleet.Options{Clusters: 3, Nodes: 2})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// up returns the fleet. Its deletion brakes are off, because no operator releases held deletions.
func up(t *testing.T) *fleet.Fleet {
	t.Helper()
	f := shared.Up(t)
	g := NewWithT(t)
	hub, err := f.Client(fleet.HubName)
	g.Expect(err).NotTo(HaveOccurred())
	for _, member := range f.Members() {
		off := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"deletionBrake":{"objects":0,"percent":100}}}`))
		g.Expect(hub.Patch(t.Context(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: member}}, off)).To(Succeed())
	}
	return f
}

func eventually(t *testing.T, check func(g Gomega)) {
	t.Helper()
	NewWithT(t).Eventually(check).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}

// kubectl runs kubectl on the hub or a member; it must succeed.
func kubectl(t *testing.T, g Gomega, f *fleet.Fleet, name string, args ...string) string {
	t.Helper()
	out, err := f.Kubectl(t.Context(), name, args...)
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

// read reads an object of the hub or a member.
func read(t *testing.T, g Gomega, f *fleet.Fleet, name string, key client.ObjectKey, live client.Object) {
	t.Helper()
	c, err := f.Client(name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Get(t.Context(), key, live)).To(Succeed())
}

// applied returns the condition FullyApplied of a namespace's ResourceBindings on the hub, by name: True if it is in
// all clusters.
func applied(t *testing.T, g Gomega, f *fleet.Fleet, namespace string) map[string]metav1.ConditionStatus {
	t.Helper()
	hub, err := f.Client(fleet.HubName)
	g.Expect(err).NotTo(HaveOccurred())
	var list workv1alpha2.ResourceBindingList
	g.Expect(hub.List(t.Context(), &list, client.InNamespace(namespace))).To(Succeed())
	out := map[string]metav1.ConditionStatus{}
	for i := range list.Items {
		out[list.Items[i].Name] = ""
		if c := meta.FindStatusCondition(list.Items[i].Status.Conditions, workv1alpha2.BindingFullyApplied); c != nil {
			out[list.Items[i].Name] = c.Status
		}
	}
	return out
}

// apply applies YAML to the hub.
func apply(t *testing.T, f *fleet.Fleet, yaml string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	g := NewWithT(t)
	g.Expect(os.WriteFile(file, []byte(yaml), 0o600)).To(Succeed())
	kubectl(t, g, f, fleet.HubName, "apply", "-f", file)
}
