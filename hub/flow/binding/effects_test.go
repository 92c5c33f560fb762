package binding

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/override"
)

// A policy that names several objects is meant for those that have the fields that it changes.
func TestIsOnlyNamed(t *testing.T) {
	t.Parallel()
	named := func(namespace, name string) policyv1alpha1.ResourceSelector {
		return policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name}
	}
	type selectors = []policyv1alpha1.ResourceSelector
	const why = "argsOverrider[0]: no container \"app\""
	for name, tc := range map[string]struct {
		selectors                     selectors
		mistakeOfCluster, mistakeOfNS bool
	}{
		"the policy names the template":                           {selectors{named("", "web")}, false, true},
		"the policy names the template with its namespace":        {selectors{named("shop", "web")}, true, true},
		"the policy names the template twice":                     {selectors{named("shop", "web"), named("shop", "web")}, true, true},
		"the policy names another object as well":                 {selectors{named("shop", "web"), named("shop", "worker")}, false, false},
		"the policy names an object of another namespace as well": {selectors{named("shop", "web"), named("lab", "web")}, false, false},
		"the policy also selects all objects of the kind":         {selectors{named("shop", "web"), named("shop", "")}, false, false},
		"the policy selects everything":                           {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			binding := &workv1alpha2.ResourceBinding{}
			binding.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
			spec := policyv1alpha1.OverrideSpec{ResourceSelectors: tc.selectors}
			s := &scope{binding: binding, policies: override.Policies{
				Cluster:    []policyv1alpha1.ClusterOverridePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: spec}},
				Namespaced: []policyv1alpha1.OverridePolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}, Spec: spec}},
			}}
			applied := []override.Applied{{PolicyName: "p", WithoutEffect: []string{why}, Ineffective: true}}
			annotations, err := override.Result{Cluster: applied, Namespaced: applied}.Annotations()
			g.Expect(err).NotTo(HaveOccurred())
			var wantMistakes, wantOthers []string
			want := func(kind string, isMistake bool) {
				if isMistake {
					wantMistakes = append(wantMistakes, kind+" p, "+why)
				} else {
					wantOthers = append(wantOthers, kind+" p, "+why)
				}
			}
			want("ClusterOverridePolicy", tc.mistakeOfCluster)
			want("OverridePolicy", tc.mistakeOfNS)
			mistakes, others := s.withoutEffect(&workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}})
			g.Expect(mistakes).To(Equal(wantMistakes))
			g.Expect(others).To(Equal(wantOthers))
		})
	}
}
