package integration

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/hub/flow/binding/render"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/people/migrate"
	"fairlead.dev/hub/people/migrate/karmada"
	"fairlead.dev/test/cluster"
)

// karmadaShop returns the objects of a Karmada control plane for a Deployment, divided unlike any weights would, and a
// ConfigMap; and the objects that its agents applied in the members.
func karmadaShop(g Gomega) (held []string, made former) {
	const placement = `{clusterAffinity: {clusterNames: [edge-1, edge-2]}, replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: AvailableReplicas}}}`
	const everywhere = `{clusterAffinity: {clusterNames: [edge-1, edge-2]}}`
	const pods = `selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "nginx:1"}]}}`
	const settings = `data: {a: "1", old: "2"}`
	claim := `propagationpolicy.karmada.io/permanent-id: p1`
	held = []string{
		`{apiVersion: v1, kind: Namespace, metadata: {name: store}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: karmada-es-edge-1}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: karmada-es-edge-2}}`,
		`{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: edge-1}, spec: {syncMode: Pull}}`,
		`{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: edge-2}, spec: {syncMode: Pull}}`,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: store, labels: {` + claim + `}}, spec: {replicas: 5, ` + pods + `}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: store, labels: {` + claim + `}}, ` + settings + `}`,
		`{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: web, namespace: store}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}], placement: ` + placement + `}}`,
		`{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: settings, namespace: store}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: settings}], placement: ` + everywhere + `}}`,
		`{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: web-deployment, namespace: store, labels: {` + claim + `}}, spec: {resource: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: store}, replicas: 5, clusters: [{name: edge-1, replicas: 4}, {name: edge-2, replicas: 1}], placement: ` + placement + `}}`,
		`{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: settings-configmap, namespace: store, labels: {` + claim + `}}, spec: {resource: {apiVersion: v1, kind: ConfigMap, name: settings, namespace: store}, clusters: [{name: edge-1}, {name: edge-2}], placement: ` + everywhere + `}}`,
	}
	made = former{namespace: "store", made: map[string][]*unstructured.Unstructured{}}
	for member, replicas := range map[string]int{"edge-1": 4, "edge-2": 1} {
		send := func(kind, name, format string, args ...any) {
			namespace := "store"
			if kind == "Namespace" {
				namespace = ""
			}
			work := contract.WorkName(kind, namespace, name)
			manifest := parsed(g, fmt.Sprintf(format, args...))
			manifest.SetLabels(map[string]string{contract.ManagedLabel: contract.LabelTrue, contract.PropagationPolicyPermanentIDLabel: "p1", "work.karmada.io/permanent-id": "w1"})
			manifest.SetAnnotations(map[string]string{contract.WorkNamespaceAnnotation: "karmada-es-" + member, contract.WorkNameAnnotation: work, contract.TemplateUIDAnnotation: "old"})
			made.made[member] = append(made.made[member], manifest)
			raw, err := manifest.MarshalJSON()
			g.Expect(err).NotTo(HaveOccurred())
			held = append(held, fmt.Sprintf(`{"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": %q, "namespace": "karmada-es-%s"}, "spec": {"workload": {"manifests": [%s]}}}`, work, member, raw))
		}
		send("Namespace", "store", `{apiVersion: v1, kind: Namespace, metadata: {name: store}}`)
		send("Deployment", "web", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: store}, spec: {replicas: %d, `+pods+`}}`, replicas)
		send("ConfigMap", "settings", `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: store}, `+settings+`}`)
	}
	return held, made
}

// TestKarmadaIsLeftAndNothingMoves reads a Karmada control plane, finds that nothing in the members would change, and
// migrates everything to this hub.
func TestKarmadaIsLeftAndNothingMoves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const manager = "karmada-agent"
	held, f := karmadaShop(g)

	old := cluster.Start(t, cluster.Options{Profile: cluster.Hub})
	g.Expect(apiserver.Install(t.Context(), old.Config, apiserver.Options{})).To(Succeed())
	for _, text := range held {
		obj := parsed(g, text)
		eventually(t, func(g Gomega) {
			g.Expect(client.IgnoreAlreadyExists(old.Client(t).Create(t.Context(), obj.DeepCopy()))).To(Succeed(), text)
		})
	}
	documents, err := migrate.Read(t.Context(), old.Config, "old")
	g.Expect(err).NotTo(HaveOccurred())
	r := karmada.Convert(documents, karmada.Options{})
	g.Expect(r.Refused()).To(BeFalse(), "%v", r.Findings)
	g.Expect(r.Commands).To(Equal([]string{"hub token create --cluster edge-1", "hub token create --cluster edge-2"}))
	kinds, err := store.BuiltIn(vm.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	changes := karmada.Compare(documents, r, karmada.Options{}, func(kind schema.GroupVersionKind) render.Revise {
		if !kinds.Has(kind, interpreter.ReviseReplica) {
			return nil
		}
		return func(obj *unstructured.Unstructured, n int32) (*unstructured.Unstructured, error) {
			return kinds.ReviseReplicas(t.Context(), obj, n)
		}
	})
	g.Expect(changes).To(HaveLen(6))
	for _, c := range changes {
		g.Expect(c.Failed).To(BeEmpty(), c.Object)
		g.Expect(c.Object == "Namespace store" || c.Desired != nil).To(BeTrue(), c.Object)
	}

	s := shared(t)
	f.fill(t, s, manager)
	before := map[string]map[string]string{}
	for member := range f.made {
		before[member] = f.state(t, g, s, member)
	}
	apply := func(outcome migrate.Outcome) {
		all, err := migrate.Apply(t.Context(), s.hub.Client(t), r.Objects, func(step migrate.Step) {
			g.Expect(step.Outcome).To(Equal(outcome), "%s", step)
		})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(all).To(BeTrue())
	}
	apply(migrate.Created)
	f.adopted(t, s, before, manager)
	apply(migrate.Present) // including all fields that the hub and the API server have written since
	web := parsed(g, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: store}}`)
	g.Expect(s.binding(t, g, web).Spec.Clusters).To(ConsistOf(
		And(HaveField("Name", "edge-1"), HaveField("Replicas", int32(4))), And(HaveField("Name", "edge-2"), HaveField("Replicas", int32(1)))))

	settings := parsed(g, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: store}}`)
	s.update(t, settings, func(obj *unstructured.Unstructured) { unstructured.RemoveNestedField(obj.Object, "data", "old") })
	for member := range f.made {
		eventually(t, func(g Gomega) {
			data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, member, settings).Object, "data")
			g.Expect(data).To(Equal(map[string]string{"a": "1"}))
		})
	}
}
