package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/migrate/conversion"
	"fairlead.dev/test/builder"
)

func parsed(t *testing.T, texts ...string) []*unstructured.Unstructured {
	t.Helper()
	out, err := builder.Objects(strings.Join(texts, "\n---\n"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out
}

// shop is the result of a conversion, in an order that cannot be applied.
func shop(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	return parsed(t,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, labels: {app: web}}, data: {a: "1"}}`,
		`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gizmos.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Gizmo, plural: gizmos}}}`,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 5}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`,
		`{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: web-deployment, namespace: shop}, spec: {resource: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: shop}, clusters: [{name: edge-1, replicas: 4}, {name: edge-2, replicas: 1}]}}`,
		`{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: web, namespace: shop}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]}}`,
	)
}

// given is a hub, and the names created on it in order.
type given struct {
	client.Client

	created []string
	// fails says whether a creation fails, and whether it fails after the object was created.
	fails func(name string) (fails, after bool)
	// updates returns the error of an update; written counts those that are no dry run.
	updates func(*unstructured.Unstructured) error
	written int
}

var errLost = errors.New("the connection is gone")

func newGiven(t *testing.T) *given {
	t.Helper()
	scheme := runtime.NewScheme() // knows no other kinds, so that objects stay as they are written
	NewWithT(t).Expect(clusterv1alpha1.AddToScheme(scheme)).To(Succeed())
	out := &given{
		fails:   func(string) (fails, after bool) { return false, false },
		updates: func(*unstructured.Unstructured) error { return nil },
	}
	build := fake.NewClientBuilder().WithScheme(scheme).WithTypeConverters(managedfields.NewDeducedTypeConverter()).
		WithObjects(builder.MakeCluster("edge-1").Obj(), builder.MakeCluster("edge-2").Obj())
	out.Client = build.WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.CreateOption) error {
			u, ok := obj.(*unstructured.Unstructured)
			if !ok {
				return c.Create(ctx, obj, options...)
			}
			name := conversion.NameOf(u)
			fails, after := out.fails(name)
			if fails && !after {
				return errLost
			}
			if err := c.Create(ctx, obj, options...); err != nil {
				return err
			}
			out.created = append(out.created, name)
			if fails {
				return errLost
			}
			return nil
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.UpdateOption) error {
			if !slices.Contains(options, client.UpdateOption(client.DryRunAll)) {
				out.written++
			} else if u, ok := obj.(*unstructured.Unstructured); ok {
				if err := out.updates(u); err != nil {
					return err
				}
			}
			return c.Update(ctx, obj, options...)
		},
	}).Build()
	return out
}

// apply applies objects to a hub, and returns what is reported for each.
func (h *given) apply(t *testing.T, objects []*unstructured.Unstructured) (lines []string, all bool, err error) {
	t.Helper()
	all, err = Apply(t.Context(), h, objects, func(s Step) { lines = append(lines, s.String()) })
	return lines, all, err
}

func TestApplyCreatesInAnOrderThatWorks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h := newGiven(t)
	lines, all, err := h.apply(t, shop(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(BeTrue())
	want := []string{
		"Namespace shop", "CustomResourceDefinition gizmos.example.com", "ConfigMap shop/settings", "Deployment shop/web",
		"ResourceBinding shop/web-deployment", "PropagationPolicy shop/web",
	}
	g.Expect(h.created).To(Equal(want))
	var created, present []string
	for _, name := range want {
		created, present = append(created, name+": created"), append(present, name+": already there, and equal")
	}
	g.Expect(lines).To(Equal(created))

	lines, all, err = h.apply(t, shop(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(Equal(present))
	g.Expect(all).To(BeTrue())
	g.Expect(h.created).To(HaveLen(len(want)), "nothing is created twice")
	g.Expect(h.written).To(BeZero())
}

// TestApplyGoesOnWhereItWasStopped checks that wherever the connection breaks, before or after an object is created,
// the next run creates the rest and reverts nothing that the hub did meanwhile.
func TestApplyGoesOnWhereItWasStopped(t *testing.T) {
	t.Parallel()
	for _, obj := range shop(t) {
		for _, after := range []bool{false, true} {
			g := NewWithT(t)
			h := newGiven(t)
			h.fails = func(name string) (bool, bool) { return name == conversion.NameOf(obj), after }
			_, all, err := h.apply(t, shop(t))
			g.Expect(err).To(MatchError(errLost))
			g.Expect(err).To(MatchError(ContainSubstring(conversion.NameOf(obj))))
			g.Expect(all).To(BeFalse())

			seen := len(h.created)
			b := &unstructured.Unstructured{}
			b.SetGroupVersionKind(schema.GroupVersionKind{Group: "work.karmada.io", Version: "v1alpha2", Kind: "ResourceBinding"})
			if slices.Contains(h.created, "ResourceBinding shop/web-deployment") {
				g.Expect(h.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-deployment"}, b)).To(Succeed())
				b.SetFinalizers([]string{"example.com/hub"})
				g.Expect(unstructured.SetNestedField(b.Object, int64(5), "spec", "replicas")).To(Succeed())
				g.Expect(h.Update(t.Context(), b)).To(Succeed())
			}
			h.fails = func(string) (bool, bool) { return false, false }
			lines, all, err := h.apply(t, shop(t))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(all).To(BeTrue(), "%v", lines)
			g.Expect(h.created).To(HaveLen(6))
			for n, line := range lines {
				g.Expect(line).To(HaveSuffix(map[bool]string{true: "already there, and equal", false: "created"}[n < seen]))
			}
			if b.GetName() != "" {
				was := b.GetResourceVersion()
				g.Expect(h.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
				g.Expect(b.GetResourceVersion()).To(Equal(was))
			}
		}
	}
}

func TestApplyRefusesWhatDiffers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		there string
		want  string
	}{
		"fields, of which some are on the hub only": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 4, paused: true}}`,
			"Deployment shop/web: refused: the hub has another version of it, which differs in spec.paused, spec.replicas",
		},
		"a label": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, labels: {app: till, of: hub}}, data: {a: "1"}}`,
			"ConfigMap shop/settings: refused: the hub has another version of it, which differs in metadata.labels.app",
		},
		"where a binding has something": {
			`{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: web-deployment, namespace: shop}, spec: {replicas: 5, resource: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: shop}, clusters: [{name: edge-2, replicas: 1}, {name: edge-1, replicas: 3}, {name: edge-3}]}}`,
			"ResourceBinding shop/web-deployment: refused: the hub has another version of it, which differs in spec.clusters.edge-1.replicas, spec.clusters.edge-3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			h := newGiven(t)
			there := parsed(t, tc.there)[0]
			g.Expect(h.Create(t.Context(), there)).To(Succeed())
			h.created = nil
			lines, all, err := h.apply(t, shop(t))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(all).To(BeFalse())
			g.Expect(lines).To(Equal([]string{tc.want}))
			g.Expect(h.created).To(BeEmpty())
			live := there.DeepCopy()
			g.Expect(h.Get(t.Context(), client.ObjectKeyFromObject(there), live)).To(Succeed())
			g.Expect(live.GetResourceVersion()).To(Equal(there.GetResourceVersion()), "nothing is written")
		})
	}
}

func TestApplyPlacesNothingWhereNobodyJoined(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h := newGiven(t)
	g.Expect(h.Delete(t.Context(), builder.MakeCluster("edge-2").Obj())).To(Succeed())
	lines, all, err := h.apply(t, shop(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(BeFalse())
	g.Expect(lines).To(Equal([]string{"ResourceBinding shop/web-deployment: refused: spec.clusters: edge-2 did not join yet; without it, the hub would place the object from scratch"}))
	g.Expect(h.created).To(BeEmpty())
}

// TestApplyDividesNothingWhileAClusterIsAway checks that no cluster gets the replicas of one that is absent or silent
// and still runs them.
func TestApplyDividesNothingWhileAClusterIsAway(t *testing.T) {
	t.Parallel()
	const (
		policy  = `{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: web, namespace: shop}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}], placement: {%s}}}`
		copied  = `{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: settings, namespace: shop}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: settings}], placement: {clusterAffinity: {clusterNames: [edge-3]}}}}`
		refusal = "PropagationPolicy shop/web: refused: spec.placement: %s, so the hub would give its replicas to the other clusters, while it keeps running its own; apply when all clusters are there"
		absent  = "edge-3 did not join yet"
		silent  = "edge-3 is not Ready"

		divided   = `replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {staticWeightList: [%s]}}`
		named     = `clusterAffinity: {clusterNames: [edge-1, edge-2, edge-3]}, ` + divided
		third     = `{targetCluster: {clusterNames: [edge-3]}, weight: 3}`
		first     = `{targetCluster: {clusterNames: [edge-1]}, weight: 2}`
		allOthers = first + `, {targetCluster: {excludeClusters: [edge-1]}, weight: 1}` // the * of KubeFed
		labelled  = `clusterAffinity: {labelSelector: {matchLabels: {tier: shop}}}, ` + divided
		byLabel   = `{targetCluster: {labelSelector: {matchLabels: {tier: shop}}}, weight: 1}`
	)
	makeThird := func() *builder.Cluster { return builder.MakeCluster("edge-3").Label("tier", "shop") }
	notReady := makeThird().Taint(contract.TaintClusterNotReady, "NoSchedule").Obj()
	unheard := makeThird().Obj()
	unheard.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionUnknown}}
	for name, c := range map[string]struct {
		third     *clusterv1alpha1.Cluster
		placement string
		why       string
	}{
		"absent":      {placement: fmt.Sprintf(named, third), why: absent},
		"not ready":   {third: notReady, placement: fmt.Sprintf(named, third), why: silent},
		"unreachable": {third: makeThird().Taint(contract.TaintClusterUnreachable, "NoSchedule").Obj(), placement: fmt.Sprintf(named, third), why: silent},
		"not heard":   {third: unheard, placement: fmt.Sprintf(named, third), why: silent},
		"there":       {third: makeThird().Obj(), placement: fmt.Sprintf(named, third)},

		"named by the weights, absent":                {placement: fmt.Sprintf(divided, third), why: absent},
		"named by the weights, not ready":             {third: notReady, placement: fmt.Sprintf(divided, third), why: silent},
		"one of all others, not ready":                {third: notReady, placement: fmt.Sprintf(divided, allOthers), why: silent},
		"one of all others, there":                    {third: makeThird().Obj(), placement: fmt.Sprintf(divided, allOthers)},
		"one of all others, absent: nobody can know":  {placement: fmt.Sprintf(divided, allOthers)},
		"matched by a label, not ready":               {third: notReady, placement: fmt.Sprintf(labelled, allOthers), why: silent},
		"not matched by the label, not ready":         {third: builder.MakeCluster("edge-3").Taint(contract.TaintClusterNotReady, "NoSchedule").Obj(), placement: fmt.Sprintf(labelled, allOthers)},
		"matched by a label of a weight, not ready":   {third: notReady, placement: fmt.Sprintf(divided, byLabel), why: silent},
		"of no weight, not ready":                     {third: notReady, placement: fmt.Sprintf(divided, first)},
		"without weights, not ready":                  {third: notReady, placement: `replicaScheduling: {replicaSchedulingType: Divided}`, why: silent},
		"in the first of two groups, not ready":       {third: notReady, placement: `clusterAffinities: [{affinityName: a, clusterNames: [edge-1, edge-3]}, {affinityName: b, clusterNames: [edge-2]}], replicaScheduling: {replicaSchedulingType: Divided}`, why: silent},
		"in groups, one of which is not meant":        {third: notReady, placement: `clusterAffinities: [{affinityName: a, clusterNames: [edge-1]}, {affinityName: b, clusterNames: [edge-2]}], replicaScheduling: {replicaSchedulingType: Divided}`},
		"weights that what fits overrules, not ready": {third: notReady, placement: `replicaScheduling: {replicaSchedulingType: Divided, weightPreference: {dynamicWeight: AvailableReplicas, staticWeightList: [` + first + `]}}`, why: silent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			h := newGiven(t)
			if c.third != nil {
				g.Expect(h.Create(t.Context(), c.third.DeepCopy())).To(Succeed())
			}
			lines, all, err := h.apply(t, parsed(t, fmt.Sprintf(policy, c.placement), copied))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(all).To(Equal(c.why == ""), "%v", lines)
			if c.why != "" {
				g.Expect(lines).To(Equal([]string{fmt.Sprintf(refusal, c.why)}), "copies take nothing from anybody")
				g.Expect(h.created).To(BeEmpty())
			}
		})
	}
}

// TestApplyLooksAgain checks that an object created by somebody else in between is compared like any other, and stops
// the run if it differs.
func TestApplyLooksAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h := newGiven(t)
	other := parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {a: "2"}}`)[0]
	done := false
	h.fails = func(name string) (bool, bool) {
		if name == "Namespace shop" && !done {
			done = true
			g.Expect(h.Create(t.Context(), other)).To(Succeed())
		}
		return false, false
	}
	lines, all, err := h.apply(t, shop(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(BeFalse())
	g.Expect(lines[len(lines)-1]).To(Equal("ConfigMap shop/settings: refused: the hub has another version of it, which differs in data.a, metadata.labels.app"))
	g.Expect(h.created).NotTo(ContainElement("Deployment shop/web"))
}

// TestApplyAsksTheServer checks that conflicts with the hub are retried, and that fields which a server generates and
// does not let anybody remove do not count as a difference.
func TestApplyAsksTheServer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h := newGiven(t)
	g.Expect(h.Create(t.Context(), parsed(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: shop}, spec: {selector: {a: b}, parallelism: 1}}`)[0])).To(Succeed())
	job := schema.GroupKind{Group: "batch", Kind: "Job"}
	conflicts := 0
	h.updates = func(obj *unstructured.Unstructured) error {
		if conflicts++; conflicts == 1 {
			return apierrors.NewConflict(schema.GroupResource{Group: "batch", Resource: "jobs"}, "j", errLost)
		}
		if _, has, _ := unstructured.NestedMap(obj.Object, "spec", "selector"); !has {
			return apierrors.NewInvalid(job, "j", field.ErrorList{field.Required(field.NewPath("spec", "selector"), "")})
		}
		if n, _, _ := unstructured.NestedInt64(obj.Object, "spec", "parallelism"); n > 1 {
			return apierrors.NewInvalid(job, "j", field.ErrorList{field.Forbidden(field.NewPath("spec", "parallelism"), "field is immutable")})
		}
		return nil
	}
	lines, all, err := h.apply(t, parsed(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: shop}, spec: {parallelism: 1}}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(Equal([]string{"Job shop/j: already there, and equal"}))
	g.Expect(all).To(BeTrue())
	g.Expect(conflicts).To(Equal(3))

	lines, all, err = h.apply(t, parsed(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: shop}, spec: {parallelism: 2}}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(BeFalse())
	g.Expect(lines).To(HaveLen(1))
	g.Expect(lines[0]).To(ContainSubstring("spec.parallelism: Forbidden: field is immutable"))
	g.Expect(h.written).To(BeZero())
}

func TestApplyKeepsWhatNobodyCanWriteOver(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	wanted := parsed(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: shop}, spec: {template: {metadata: {labels: {app: j}}}}}`)[0]
	live := parsed(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: shop, uid: u}, status: {active: 1}, spec: {selector: {matchLabels: {uid: u}}, template: {metadata: {labels: {app: j, uid: u}}}}}`)[0]
	g.Expect(contentDiffers(merged(wanted, live), live)).To(BeEmpty())
	g.Expect(contentDiffers(replaced(wanted, live), live)).To(Equal([]string{"spec.selector", "spec.template.metadata.labels.uid"}))
	g.Expect(replaced(wanted, live).GetUID()).To(Equal(live.GetUID()))
}
