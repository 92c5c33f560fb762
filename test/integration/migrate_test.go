package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/migrate/conversion"
	"fairlead.dev/hub/people/migrate/kubefed"
	"fairlead.dev/test/builder"
)

// former is a system that managed the members before this hub: its inputs, and the resulting objects in each member.
type former struct {
	namespace string
	documents []conversion.Document
	made      map[string][]*unstructured.Unstructured
}

// kubeFedShop returns a shop of 50 objects managed by KubeFed: its inputs, and the resulting objects, written by hand.
func kubeFedShop(g Gomega, members []string) former {
	out := former{namespace: "shop", made: map[string][]*unstructured.Unstructured{}}
	give := func(format string, args ...any) {
		out.documents = append(out.documents, conversion.Document{File: "kubefed.yaml", Object: parsed(g, fmt.Sprintf(format, args...))})
	}
	fill := func(member, format string, args ...any) {
		obj := parsed(g, fmt.Sprintf(format, args...))
		labels := obj.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["kubefed.io/managed"] = "true"
		obj.SetLabels(labels)
		out.made[member] = append(out.made[member], obj)
	}
	give(`{apiVersion: types.kubefed.io/v1beta1, kind: FederatedNamespace, metadata: {name: shop, namespace: shop}, spec: {template: {}, placement: {clusterSelector: {}}}}`)
	for _, m := range members {
		give(`{apiVersion: core.kubefed.io/v1beta1, kind: KubeFedCluster, metadata: {name: %s, namespace: kube-federation-system}, spec: {apiEndpoint: "https://%s"}}`, m, m)
		fill(m, `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`)
	}
	// Five over two clusters, which KubeFed divided into 4 and 1.
	shares := []int{4, 1}
	const pods = `selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: c, image: "nginx:1"}]}}`
	for n := range 10 {
		name := fmt.Sprintf("web-%d", n)
		var clusters, overrides []string
		for i, m := range members {
			replicas := shares[(i+n)%2]
			clusters = append(clusters, "{name: "+m+"}")
			overrides = append(overrides, fmt.Sprintf("{clusterName: %s, clusterOverrides: [{path: /spec/replicas, value: %d}]}", m, replicas))
			fill(m, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: %[1]s, namespace: shop, labels: {app: %[1]s}}, spec: {replicas: %[2]d, `+strings.ReplaceAll(pods, "%[1]s", name)+`}}`, name, replicas)
		}
		give(`{apiVersion: types.kubefed.io/v1beta1, kind: FederatedDeployment, metadata: {name: %[1]s, namespace: shop}, spec: {template: {metadata: {labels: {app: %[1]s}}, spec: {`+strings.ReplaceAll(pods, "%[1]s", name)+`}}, placement: {clusters: [%[2]s]}, overrides: [%[3]s]}}`,
			name, strings.Join(clusters, ", "), strings.Join(overrides, ", "))
		give(`{apiVersion: scheduling.kubefed.io/v1alpha1, kind: ReplicaSchedulingPreference, metadata: {name: %s, namespace: shop}, spec: {targetKind: FederatedDeployment, totalReplicas: 5, clusters: {"*": {weight: 1, maxReplicas: 4}}}}`, name)
	}
	for n := range 40 {
		kind := []string{"ConfigMap", "Secret", "Service", "ServiceAccount"}[n%4]
		name := fmt.Sprintf("thing-%d", n)
		body := map[string]string{
			"ConfigMap": `data: {a: "1", old: "2"}`, "Secret": `data: {a: eA==}`,
			"Service": `spec: {selector: {app: web-0}, ports: [{name: http, port: 80}]}`, "ServiceAccount": `automountServiceAccountToken: false`,
		}[kind]
		give(`{apiVersion: types.kubefed.io/v1beta1, kind: Federated%s, metadata: {name: %s, namespace: shop}, spec: {template: {%s}, placement: {clusterSelector: {}}}}`, kind, name, body)
		for _, m := range members {
			fill(m, `{apiVersion: v1, kind: %s, metadata: {name: %s, namespace: shop}, %s}`, kind, name, body)
		}
	}
	return out
}

func parsed(g Gomega, text string) *unstructured.Unstructured {
	out, err := builder.Objects(text)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(HaveLen(1), text)
	return out[0]
}

// fill creates the former system's objects in the members, and waits until all pods run.
func (f *former) fill(t *testing.T, s *system, manager string) {
	t.Helper()
	for member, objects := range f.made {
		for _, obj := range objects {
			if err := s.member(member).Client(t).Create(t.Context(), obj.DeepCopy(), client.FieldOwner(manager)); err != nil {
				t.Fatalf("making %s in %q: %v", conversion.NameOf(obj), member, err)
			}
		}
	}
	for member, objects := range f.made {
		eventually(t, func(g Gomega) {
			for _, obj := range objects {
				if obj.GetKind() == "Deployment" {
					live := s.inMember(t, g, member, obj)
					g.Expect(integer(live, "status", "readyReplicas")).To(Equal(integer(live, "spec", "replicas")), obj.GetName())
				}
			}
		})
	}
}

// state returns everything that must not change: the UID and content of each object, and the pods with their restart
// counts.
func (f *former) state(t *testing.T, g Gomega, s *system, member string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, obj := range f.made[member] {
		live := s.inMember(t, g, member, obj)
		content := live.DeepCopy().Object
		delete(content, "metadata")
		delete(content, "status")
		text, err := yaml.Marshal(content)
		g.Expect(err).NotTo(HaveOccurred())
		out[conversion.NameOf(obj)] = fmt.Sprintf("%s:\n%s", live.GetUID(), text)
	}
	var pods corev1.PodList
	g.Expect(s.member(member).Client(t).List(context.WithoutCancel(t.Context()), &pods, client.InNamespace(f.namespace))).To(Succeed())
	for _, p := range pods.Items {
		restarts := int32(0)
		for _, c := range p.Status.ContainerStatuses {
			restarts += c.RestartCount
		}
		out["Pod "+p.Name] = fmt.Sprintf("%s with %d restarts", p.UID, restarts)
	}
	return out
}

// adopted waits until this hub manages every object in the members, with no field owned by another manager, and checks
// that no object was recreated.
func (f *former) adopted(t *testing.T, s *system, before map[string]map[string]string, manager string) {
	t.Helper()
	for member, objects := range f.made {
		eventually(t, func(g Gomega) {
			for _, obj := range objects {
				live := s.inMember(t, g, member, obj)
				g.Expect(live.GetLabels()).To(HaveKeyWithValue(contract.ManagedLabel, contract.LabelTrue), conversion.NameOf(obj))
				g.Expect(live.GetManagedFields()).NotTo(ContainElement(And(HaveField("Manager", manager), HaveField("Subresource", ""))), conversion.NameOf(obj))
			}
		})
		g := NewWithT(t)
		g.Expect(f.state(t, g, s, member)).To(BeComparableTo(before[member]), member)
	}
}

// TestKubeFedIsLeftAndNothingMoves migrates members full of KubeFed's objects: everything is converted and applied, and
// no object in the members is recreated.
func TestKubeFedIsLeftAndNothingMoves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	const manager = "controller-manager"
	f := kubeFedShop(g, []string{"edge-1", "edge-2"})
	f.fill(t, s, manager)
	before := map[string]map[string]string{}
	for member := range f.made {
		before[member] = f.state(t, g, s, member)
		g.Expect(len(before[member])).To(BeNumerically(">", 51+10), "objects and pods")
	}

	r := kubefed.Convert(f.documents, kubefed.Options{Replicas: kubefed.Freeze})
	g.Expect(r.Refused()).To(BeFalse(), "%v", r.Findings)
	for _, obj := range r.Objects {
		s.create(t, obj)
	}
	f.adopted(t, s, before, manager)

	// The next change does not restart anything either, and removes the fields owned by KubeFed that are not in the
	// templates.
	for n := range 10 {
		web := parsed(g, fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web-%d, namespace: shop}}", n))
		s.update(t, web, func(obj *unstructured.Unstructured) {
			obj.SetLabels(map[string]string{"app": obj.GetName(), "tier": "front"})
		})
		for member := range f.made {
			eventually(t, func(g Gomega) {
				live := s.inMember(t, g, member, web)
				g.Expect(live.GetLabels()).To(And(HaveKeyWithValue("tier", "front"), Not(HaveKey("kubefed.io/managed"))))
				g.Expect(integer(live, "status", "observedGeneration")).To(Equal(live.GetGeneration()))
			})
		}
	}
	for member := range f.made {
		g.Expect(f.state(t, g, s, member)).To(BeComparableTo(before[member]), member)
	}

	// A field set by KubeFed is removed when its template drops it.
	settings := parsed(g, "{apiVersion: v1, kind: ConfigMap, metadata: {name: thing-0, namespace: shop}}")
	s.update(t, settings, func(obj *unstructured.Unstructured) { unstructured.RemoveNestedField(obj.Object, "data", "old") })
	for member := range f.made {
		eventually(t, func(g Gomega) {
			data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, member, settings).Object, "data")
			g.Expect(data).To(Equal(map[string]string{"a": "1"}))
		})
	}
}
