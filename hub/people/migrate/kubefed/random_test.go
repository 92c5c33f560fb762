package kubefed_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/people/migrate/conversion"
	"fairlead.dev/hub/people/migrate/kubefed"
	"fairlead.dev/test/builder"
)

// cases is how many random cases a test tries: a few, or the number in FAIRLEAD_MIGRATE_CASES, such as 10000. They are
// the same in each run.
func cases(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("FAIRLEAD_MIGRATE_CASES")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("FAIRLEAD_MIGRATE_CASES: %v", err)
	}
	return n
}

// fleet maps clusters to their labels.
type fleet map[string]map[string]string

func (f fleet) names() []string { return slices.Sorted(maps.Keys(f)) }

func (f fleet) documents() []conversion.Document {
	var out []conversion.Document
	for _, name := range f.names() {
		out = append(out, document("core.kubefed.io/v1beta1", "KubeFedCluster", "kube-federation-system", name, f[name], map[string]any{"apiEndpoint": "https://x"}))
	}
	return out
}

// clusters returns the same clusters on the hub, where every Deployment fits.
func (f fleet) clusters() []*clusterv1alpha1.Cluster {
	var out []*clusterv1alpha1.Cluster
	for _, name := range f.names() {
		c := builder.MakeCluster(name).Obj()
		c.Labels = f[name]
		c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}}}
		out = append(out, c)
	}
	return out
}

func document(apiVersion, kind, namespace, name string, labels map[string]string, spec map[string]any) conversion.Document {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetLabels(labels)
	return conversion.Document{File: "f.yaml", Object: obj}
}

func randomFleet(random *rand.Rand) fleet {
	out := fleet{}
	for n := range 1 + random.IntN(6) {
		labels := map[string]string{}
		for _, key := range []string{"k", "l"} {
			if random.IntN(3) > 0 {
				labels[key] = []string{"x", "y"}[random.IntN(2)]
			}
		}
		out[fmt.Sprintf("m%d", n)] = labels
	}
	return out
}

// randomPlacement returns a placement as a person may have written it.
func randomPlacement(random *rand.Rand) map[string]any {
	out := map[string]any{}
	if random.IntN(2) == 0 {
		list := []any{}
		for n := range 7 { // one more than there are clusters
			if random.IntN(3) == 0 {
				list = append(list, map[string]any{"name": fmt.Sprintf("m%d", n)})
			}
		}
		out["clusters"] = list
	}
	if random.IntN(3) > 0 {
		s := map[string]any{}
		for _, key := range []string{"k", "l"} {
			if random.IntN(3) == 0 {
				s["matchLabels"] = map[string]any{key: []string{"x", "y"}[random.IntN(2)]}
			}
			if random.IntN(4) == 0 {
				s["matchExpressions"] = []any{map[string]any{"key": key, "operator": []string{"Exists", "DoesNotExist"}[random.IntN(2)]}}
			}
		}
		out["clusterSelector"] = s
	}
	return out
}

// picks is a second implementation of KubeFed's rule: names win, no selector selects no cluster, an empty one selects
// all.
func picks(g Gomega, p map[string]any, name string, labels map[string]string) bool {
	if list, ok := p["clusters"].([]any); ok {
		return slices.ContainsFunc(list, func(e any) bool {
			ref, ok := e.(map[string]any)
			return ok && ref["name"] == name
		})
	}
	s, ok := p["clusterSelector"].(map[string]any)
	if !ok {
		return false
	}
	raw, err := json.Marshal(s)
	g.Expect(err).NotTo(HaveOccurred())
	var typed metav1.LabelSelector
	g.Expect(json.Unmarshal(raw, &typed)).To(Succeed())
	parsed, err := metav1.LabelSelectorAsSelector(&typed)
	g.Expect(err).NotTo(HaveOccurred())
	return parsed.Matches(selectable(labels))
}

type selectable map[string]string

func (s selectable) Has(key string) bool              { _, ok := s[key]; return ok }
func (s selectable) Get(key string) string            { return s[key] }
func (s selectable) Lookup(key string) (string, bool) { v, ok := s[key]; return v, ok }

func TestPlacementsPickTheSameClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(7, 8))
	for range cases(t, 300) {
		f := randomFleet(random)
		of, in, namespaced := randomPlacement(random), randomPlacement(random), random.IntN(4) == 0
		documents := append(f.documents(),
			document("types.kubefed.io/v1beta1", "FederatedNamespace", "shop", "shop", nil, map[string]any{"template": map[string]any{}, "placement": in}),
			document("types.kubefed.io/v1beta1", "FederatedConfigMap", "shop", "c", nil, map[string]any{"template": map[string]any{}, "placement": of}))
		r := kubefed.Convert(documents, kubefed.Options{Replicas: kubefed.Freeze, Namespaced: namespaced})
		g.Expect(refusals(r)).To(BeEmpty())
		p, _ := policyOf(g, r)
		var got, want []string
		for _, c := range f.clusters() {
			if picks(g, of, c.Name, c.Labels) && (namespaced || picks(g, in, c.Name, c.Labels)) {
				want = append(want, c.Name)
			}
			if p == nil {
				continue
			}
			matcher, err := selector.CompileCluster(p.Spec.Placement.ClusterAffinity)
			g.Expect(err).NotTo(HaveOccurred())
			if matcher.Matches(c) {
				got = append(got, c.Name)
			}
		}
		g.Expect(got).To(Equal(want), "%v in %v among %v", of, in, f)
	}
}

// policyOf returns the policy of the object in namespace shop, nil if there is none, and its template.
func policyOf(g Gomega, r conversion.Result) (*policyv1alpha1.PropagationPolicy, *unstructured.Unstructured) {
	var p *policyv1alpha1.PropagationPolicy
	var template *unstructured.Unstructured
	for _, obj := range r.Objects {
		switch {
		case obj.GetKind() == policyv1alpha1.KindPropagationPolicy:
			raw, err := json.Marshal(obj.Object)
			g.Expect(err).NotTo(HaveOccurred())
			p = &policyv1alpha1.PropagationPolicy{}
			g.Expect(json.Unmarshal(raw, p)).To(Succeed())
		case obj.GetNamespace() != "" && obj.GetKind() != policyv1alpha1.KindOverridePolicy:
			template = obj
		}
	}
	return p, template
}

// TestFrozenReplicasStay checks that the scheduler assigns every cluster what KubeFed assigned to it, whatever the
// preference and the tie-break.
func TestFrozenReplicasStay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(9, 10))
	nowhere, all := 0, cases(t, 200)
	for range all {
		f := randomFleet(random)
		preferences := randomPreferences(random)
		total := int64(1 + random.IntN(40))
		spec := map[string]any{"targetKind": "FederatedDeployment", "totalReplicas": total, "rebalance": random.IntN(2) == 0, "intersectWithClusterSelector": random.IntN(2) == 0}
		if len(preferences) > 0 {
			spec["clusters"] = preferences
		}
		of, in := randomPlacement(random), randomPlacement(random)
		delete(of, "clusters") // the preference names them
		var before map[string]int64
		if random.IntN(3) == 0 {
			before = randomShares(random, f) // what KubeFed wrote when it last divided
			of["clusters"] = clustersOf(before)
		}
		documents := append(f.documents(),
			document("types.kubefed.io/v1beta1", "FederatedNamespace", "shop", "shop", nil, map[string]any{"template": map[string]any{}, "placement": in}),
			document("types.kubefed.io/v1beta1", "FederatedDeployment", "shop", "web", nil, map[string]any{
				"template": map[string]any{"spec": map[string]any{}}, "placement": of, "overrides": overridesOf(before),
			}),
			document("scheduling.kubefed.io/v1alpha1", "ReplicaSchedulingPreference", "shop", "web", nil, spec))
		r := kubefed.Convert(documents, kubefed.Options{Replicas: kubefed.Freeze})
		g.Expect(refusals(r)).To(BeEmpty())

		want := before
		if len(before) == 0 {
			want = asKubeFed(g, f, of, preferences, total, spec["intersectWithClusterSelector"] == true)
		}
		for name := range want {
			if want[name] == 0 || !picks(g, in, name, f[name]) {
				delete(want, name)
			}
		}
		p, template := policyOf(g, r)
		if len(want) == 0 {
			nowhere++
			g.Expect(p).To(BeNil())
			continue
		}
		g.Expect(p).NotTo(BeNil(), "%v of %v", want, spec)
		replicas, _, err := unstructured.NestedInt64(template.Object, "spec", "replicas")
		g.Expect(err).NotTo(HaveOccurred())
		d := decide.Decide(decide.Input{
			Spec: &workv1alpha2.ResourceBindingSpec{
				Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: types.UID(fmt.Sprint(random.Int()))},
				Replicas: int32(replicas), Placement: &p.Spec.Placement,
			},
			Clusters: f.clusters(),
		})
		got := map[string]int64{}
		for _, t := range d.Targets {
			got[t.Name] = int64(t.Replicas)
		}
		g.Expect(got).To(Equal(want), "%v among %v: %s", spec, f, d.Message)
		g.Expect(d.Message).To(BeEmpty())
	}
	g.Expect(nowhere).To(BeNumerically("<", all*2/3), "most are somewhere")
}

func randomPreferences(random *rand.Rand) map[string]any {
	out := map[string]any{}
	for _, name := range []string{"m0", "m1", "m2", "m3", "*"} {
		if random.IntN(2) == 0 {
			continue
		}
		least := int64(random.IntN(4))
		p := map[string]any{"weight": int64(random.IntN(5)), "minReplicas": least}
		if random.IntN(2) == 0 {
			p["maxReplicas"] = least + int64(random.IntN(9))
		}
		out[name] = p
	}
	return out
}

func randomShares(random *rand.Rand, f fleet) map[string]int64 {
	out := map[string]int64{}
	for _, name := range f.names() {
		if random.IntN(2) == 0 {
			out[name] = int64(random.IntN(18))
		}
	}
	return out
}

func clustersOf(shares map[string]int64) []any {
	out := []any{}
	for name := range shares {
		out = append(out, map[string]any{"name": name})
	}
	return out
}

func overridesOf(shares map[string]int64) []any {
	out := []any{}
	for name, n := range shares {
		out = append(out, map[string]any{"clusterName": name, "clusterOverrides": []any{map[string]any{"path": "/spec/replicas", "value": n}}})
	}
	return out
}

// asKubeFed is KubeFed's planner, step by step, for the case that nothing runs yet and everything fits.
func asKubeFed(g Gomega, f fleet, of map[string]any, preferences map[string]any, total int64, intersect bool) map[string]int64 {
	type named struct {
		name          string
		weight, least int64
		most          *int64
		hash          uint32
	}
	if len(preferences) == 0 {
		preferences = map[string]any{"*": map[string]any{"weight": int64(1)}}
	}
	var list []named
	for _, name := range f.names() {
		if intersect && !picks(g, map[string]any{"clusterSelector": of["clusterSelector"]}, name, f[name]) {
			continue
		}
		p, ok := preferences[name].(map[string]any)
		if !ok {
			if p, ok = preferences["*"].(map[string]any); !ok {
				continue
			}
		}
		h := fnv.New32()
		_, _ = h.Write([]byte(name))
		_, _ = h.Write([]byte("shop/web"))
		n := named{name: name, hash: h.Sum32()}
		n.weight, _ = p["weight"].(int64)
		n.least, _ = p["minReplicas"].(int64)
		if most, ok := p["maxReplicas"].(int64); ok {
			n.most = &most
		}
		list = append(list, n)
	}
	sort.Slice(list, func(i, j int) bool {
		return list[i].weight > list[j].weight || list[i].weight == list[j].weight && list[i].hash < list[j].hash
	})
	out, remaining := map[string]int64{}, total
	for _, n := range list {
		out[n.name] = min(n.least, remaining)
		remaining -= out[n.name]
	}
	for modified := true; modified && remaining > 0; {
		modified = false
		var sum int64
		for _, n := range list {
			sum += n.weight
		}
		var next []named
		distribute := remaining
		for _, n := range list {
			if sum <= 0 {
				continue
			}
			start := out[n.name]
			all := start + min((distribute*n.weight+sum-1)/sum, remaining)
			full := false
			if n.most != nil && all > *n.most {
				all, full = *n.most, true
			}
			if !full {
				next = append(next, n)
			}
			remaining -= all - start
			out[n.name] = all
			modified = modified || all > start
		}
		list = next
	}
	return out
}
