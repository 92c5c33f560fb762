package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

// How long things may take on a machine that does other work too.
const (
	patience = 2 * time.Minute
	poll     = 500 * time.Millisecond // most checks start a program
)

var shared = fleettest.Of(fleet.Options{Clusters: 3, Nodes: 2})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// up returns the fleet. Its deletion brakes are off: there is no operator to release what they hold.
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
	NewWithT(t).Eventually(check).WithTimeout(patience).WithPolling(poll).Should(Succeed())
}

// kubectl runs kubectl on the hub or a member, which must succeed.
func kubectl(t *testing.T, g Gomega, f *fleet.Fleet, name string, args ...string) string {
	t.Helper()
	out, err := f.Kubectl(t.Context(), name, args...)
	g.Expect(err).NotTo(HaveOccurred())
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
