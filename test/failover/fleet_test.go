package failover

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

// Timeouts allow for a machine that does other work too.
const (
	waitTimeout = 5 * time.Minute // longer than the hub suspects itself, should the other clusters stall as well
	poll        = 100 * time.Millisecond
)

// fastFailover gives up its clusters after seconds, but more than an agent or a starting hub may stall on a busy
// machine.
var fastFailover = fleettest.Of(fleet.Options{
	Clusters: 2, Nodes: 1, AgentArgs: []string{"--cluster-lease-duration=4s"},
	HubArgs: []string{"--cluster-monitor-period=2s", "--cluster-monitor-grace-period=15s", "--resource-eviction-rate=0"},
})

func TestMain(m *testing.M) { os.Exit(fastFailover.Main(m)) }

// world is a fleet and its clients.
type world struct {
	*fleet.Fleet
	g       *WithT
	hub     client.Client
	members map[string]client.Client
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{Fleet: fastFailover.Up(t), g: NewWithT(t), members: map[string]client.Client{}}
	var err error
	w.hub, err = w.Client(fleet.HubName)
	w.g.Expect(err).NotTo(HaveOccurred())
	for _, name := range w.Members() {
		config, err := w.Config(name)
		w.g.Expect(err).NotTo(HaveOccurred())
		w.members[name], err = client.New(config, client.Options{}) // has the built-in kinds
		w.g.Expect(err).NotTo(HaveOccurred())
	}
	return w
}

// apply applies YAML to the hub. When the test ends it is deleted, in the members as well.
func (w *world) apply(t *testing.T, yaml string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	w.g.Expect(os.WriteFile(file, []byte(yaml), 0o600)).To(Succeed())
	_, err := w.Kubectl(t.Context(), fleet.HubName, "apply", "-f", file)
	w.g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		w.g.Expect(w.Up(ctx)).To(Succeed(), "whatever was killed")
		_, err := w.Kubectl(ctx, fleet.HubName, "delete", "-f", file)
		w.g.Expect(err).NotTo(HaveOccurred())
		w.g.Eventually(func(g Gomega) {
			for _, member := range w.members {
				var left appsv1.DeploymentList
				g.Expect(member.List(ctx, &left, client.InNamespace(corev1.NamespaceDefault))).To(Succeed())
				g.Expect(left.Items).To(BeEmpty())
			}
		}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
	})
}

func (w *world) eventually(t *testing.T, check func(g Gomega)) {
	t.Helper()
	w.g.Eventually(check).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}

// ready returns the status of the condition Ready of edge-1.
func (w *world) ready(tb testing.TB, g Gomega) metav1.ConditionStatus {
	tb.Helper()
	c := &clusterv1alpha1.Cluster{}
	g.Expect(w.hub.Get(tb.Context(), client.ObjectKey{Name: "edge-1"}, c)).To(Succeed())
	if found := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady); found != nil {
		return found.Status
	}
	return ""
}

// binding returns the binding of a Deployment.
func (w *world) binding(t *testing.T, g Gomega, name string) *workv1alpha2.ResourceBinding {
	t.Helper()
	b := &workv1alpha2.ResourceBinding{}
	key := client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: contract.BindingName("Deployment", name)}
	g.Expect(w.hub.Get(t.Context(), key, b)).To(Succeed())
	return b
}

// where returns the clusters of a Deployment.
func (w *world) where(t *testing.T, g Gomega, name string) []string {
	t.Helper()
	var out []string
	for _, target := range w.binding(t, g, name).Spec.Clusters {
		out = append(out, target.Name)
	}
	return out
}

// evicting returns the condition Evicting of a Deployment's binding.
func (w *world) evicting(t *testing.T, g Gomega, name string) string {
	t.Helper()
	if c := meta.FindStatusCondition(w.binding(t, g, name).Status.Conditions, workv1alpha2.BindingEvicting); c != nil {
		return c.Reason
	}
	return ""
}

// deployment returns a Deployment in a member; nil if it does not exist.
func (w *world) deployment(t *testing.T, g Gomega, member, name string) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	err := w.members[member].Get(t.Context(), client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: name}, d)
	if apierrors.IsNotFound(err) {
		return nil
	}
	g.Expect(err).NotTo(HaveOccurred())
	return d
}

// image returns the image of a Deployment's only container.
func image(d *appsv1.Deployment) string { return d.Spec.Template.Spec.Containers[0].Image }

// awaitRollout waits until the newest revision of a Deployment has a number and a phase.
func (w *world) awaitRollout(t *testing.T, name string, number int64, phase fairleadv1alpha1.RolloutPhase) {
	t.Helper()
	key := client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: contract.BindingName("Deployment", name)}
	w.eventually(t, func(g Gomega) {
		r := &fairleadv1alpha1.StagedRollout{}
		g.Expect(w.hub.Get(t.Context(), key, r)).To(Succeed())
		g.Expect(r.Status.Revision).To(Equal(number), "%+v", r.Status)
		g.Expect(r.Status.Phase).To(Equal(phase), "%+v", r.Status)
	})
}

// works returns the Deployments with a Work for a cluster, and whether the Work stays.
func (w *world) works(t *testing.T, g Gomega, cluster string) map[string]bool {
	t.Helper()
	var list workv1alpha1.WorkList
	namespace := contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, cluster)
	g.Expect(w.hub.List(t.Context(), &list, client.InNamespace(namespace))).To(Succeed())
	out := map[string]bool{}
	for i := range list.Items {
		if name := list.Items[i].Annotations[contract.ResourceBindingNameAnnotation]; name != "" {
			out[name] = list.Items[i].DeletionTimestamp.IsZero()
		}
	}
	return out
}

// uids returns the UIDs of a member's Deployments.
func (w *world) uids(t *testing.T, g Gomega, member string) map[string]types.UID {
	t.Helper()
	var list appsv1.DeploymentList
	g.Expect(w.members[member].List(t.Context(), &list, client.InNamespace(corev1.NamespaceDefault))).To(Succeed())
	out := map[string]types.UID{}
	for i := range list.Items {
		out[list.Items[i].Name] = list.Items[i].UID
	}
	return out
}

// pool adds or removes the label that the applications select on the nodes of a member.
func (w *world) pool(t *testing.T, member string, has bool) {
	t.Helper()
	label := "pool-"
	if has {
		label = "pool=shop"
	}
	_, err := w.Kubectl(t.Context(), member, "label", "nodes", "--all", "--overwrite", label)
	w.g.Expect(err).NotTo(HaveOccurred())
}
