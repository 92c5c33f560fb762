package dependencies

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/dependencies/attach"
)

// TestAffected changes an object that three workloads need, mostly by moving one of them.
func TestAffected(t *testing.T) {
	t.Parallel()
	req := func(name string) request { return request{Namespace: "shop", Name: name} }
	web, api, job := req("web-deployment"), req("api-deployment"), req("job-deployment")
	needs := configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	entry := func(by request, clusters ...string) workv1alpha2.BindingSnapshot {
		out := workv1alpha2.BindingSnapshot{Namespace: by.Namespace, Name: by.Name}
		for _, name := range clusters {
			out.Clusters = append(out.Clusters, workv1alpha2.TargetCluster{Name: name})
		}
		return out
	}
	label := func(by request) string { return attach.Label(by.Namespace, by.Name) }
	before := &workv1alpha2.ResourceBinding{}
	before.Namespace, before.Name, before.ResourceVersion = "shop", "settings-configmap", "7"
	before.Labels = map[string]string{contract.ResourceBindingPermanentIDLabel: "id", label(web): "web", label(api): "api", label(job): "job"}
	before.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings", ResourceVersion: "1"}
	before.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{entry(api, "a"), entry(job, "a"), entry(web, "a")}
	move := func(b *workv1alpha2.ResourceBinding) { b.Spec.RequiredBy[2] = entry(web, "b") }
	leave := func(b *workv1alpha2.ResourceBinding) { b.Spec.RequiredBy = b.Spec.RequiredBy[:2] }
	all := []request{web, api, job}
	tests := map[string]struct {
		change func(*workv1alpha2.ResourceBinding)
		// ours says that the stage made the change, unnamed that no workload names the object in this version.
		ours, unnamed bool
		want          []request
	}{
		"a field that the stage does not write":        {change: func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = entry(web, "c").Clusters }},
		"one moved":                                    {change: move, ours: true},
		"another writer moved one workload":            {change: move, want: []request{web}},
		"a workload left, and others name the version": {change: leave, ours: true},
		"a workload left that alone named the version": {change: leave, ours: true, unnamed: true, want: all},
		"one went": {change: leave, want: []request{web}},
		"another writer removed the label of one workload":          {change: func(b *workv1alpha2.ResourceBinding) { delete(b.Labels, label(api)) }, want: []request{api}},
		"another writer changed another label":                      {change: func(b *workv1alpha2.ResourceBinding) { b.Labels["more"] = "x" }, want: all},
		"another writer changed an option":                          {change: func(b *workv1alpha2.ResourceBinding) { b.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite }, want: all},
		"the stage wrote a change of the object":                    {change: func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = "2" }, ours: true},
		"another writer changed the object's UID":                   {change: func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.UID = "other" }, want: all},
		"another writer changed a finalizer and moved one workload": {change: func(b *workv1alpha2.ResourceBinding) { move(b); b.Finalizers = []string{"x"} }, want: all},
		"another writer changed the preservation of one workload":   {change: func(b *workv1alpha2.ResourceBinding) { b.Spec.RequiredBy[0].Preserve = new(true) }, want: []request{api}},
		"a policy selects the object in any version":                {change: func(b *workv1alpha2.ResourceBinding) { b.Spec.Placement = &policyv1alpha1.Placement{} }, unnamed: true, want: all},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := &Reconciler{wants: &attach.Wants{}, wrote: kube.NewWritten[types.NamespacedName, kube.Binding](clocktesting.NewFakePassiveClock(time.Unix(0, 0)))}
			if !tt.unnamed {
				g.Expect(r.wants.Set(web, []configv1alpha1.DependentObjectReference{needs})).To(Succeed())
			}
			after := before.DeepCopy()
			tt.change(after)
			after.ResourceVersion = "8"
			if tt.ours {
				r.wrote.Put(client.ObjectKeyFromObject(after), after)
			}
			got := map[request]bool{}
			for _, by := range r.affected(before, after) {
				got[by] = true
			}
			want := map[request]bool{}
			for _, by := range tt.want {
				want[by] = true
			}
			g.Expect(got).To(Equal(want))
		})
	}
}
