package execution

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/execution/plan"
)

// servedKinds is a member that serves kinds, by group and version. It does not answer for a version that has none.
type servedKinds struct {
	groups []metav1.APIGroup
	kinds  map[string][]string
	err    error
	// ready is nil if it is.
	ready error
}

var errSilent = errors.New("nobody answers")

func (s servedKinds) ServerGroupsWithContext(context.Context) (*metav1.APIGroupList, error) {
	return &metav1.APIGroupList{Groups: s.groups}, s.err
}

func (s servedKinds) ServerResourcesForGroupVersionWithContext(_ context.Context, groupVersion string) (*metav1.APIResourceList, error) {
	out := &metav1.APIResourceList{}
	for _, kind := range s.kinds[groupVersion] {
		out.APIResources = append(out.APIResources, metav1.APIResource{Name: "things", Kind: kind}, metav1.APIResource{Name: "things/scale", Kind: "Scale"})
	}
	if len(out.APIResources) == 0 {
		return nil, errSilent
	}
	return out, nil
}

func (s servedKinds) Ready(context.Context) error { return s.ready }

func TestInWhichVersionAKindIsServed(t *testing.T) {
	t.Parallel()
	object := plan.Object{
		GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Widget"},
		NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "w"},
	}
	group := func(preferred string, versions ...string) []metav1.APIGroup {
		out := metav1.APIGroup{Name: "example.com", PreferredVersion: metav1.GroupVersionForDiscovery{Version: preferred}}
		for _, v := range versions {
			out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{Version: v})
		}
		return []metav1.APIGroup{{Name: "other.example.com", Versions: []metav1.GroupVersionForDiscovery{{Version: "v9"}}}, out}
	}
	for name, tc := range map[string]struct {
		member servedKinds
		want   string
		err    error
	}{
		"its own":                        {member: servedKinds{groups: group("v1", "v1", "v1beta1"), kinds: map[string][]string{"example.com/v1": {"Widget"}, "example.com/v1beta1": {"Widget"}}}, want: "v1beta1"},
		"another":                        {member: servedKinds{groups: group("v1", "v2alpha1", "v1"), kinds: map[string][]string{"example.com/v1": {"Widget"}, "example.com/v2alpha1": {"Widget"}}}, want: "v1"},
		"one that is not preferred":      {member: servedKinds{groups: group("v1", "v1", "v2alpha1"), kinds: map[string][]string{"example.com/v1": {"Gadget"}, "example.com/v2alpha1": {"Widget"}}}, want: "v2alpha1"},
		"none, and the group has others": {member: servedKinds{groups: group("v1", "v1"), kinds: map[string][]string{"example.com/v1": {"Gadget"}}}},
		"no group":                       {member: servedKinds{}},
		"a subresource is no object":     {member: servedKinds{groups: group("v1", "v1"), kinds: map[string][]string{"example.com/v1": {"Scales"}}}},
		"a group that does not answer":   {member: servedKinds{groups: group("v1", "v1", "v1beta1")}, err: errSilent},
		"a version that does not":        {member: servedKinds{groups: group("v1beta1", "v1beta1", "v1"), kinds: map[string][]string{"example.com/v1": {"Widget"}}}, want: "v1"},
		"a version that does not, and the kind is in no other": {
			member: servedKinds{groups: group("v1beta1", "v1beta1", "v1"), kinds: map[string][]string{"example.com/v1": {"Gadget"}}}, err: errSilent,
		},
		"a member that does not answer":            {member: servedKinds{err: errSilent}, err: errSilent},
		"no group so far, of a member that starts": {member: servedKinds{ready: errSilent}, err: errSilent},
		"its own, of a member that starts": {
			member: servedKinds{groups: group("v1beta1", "v1beta1"), kinds: map[string][]string{"example.com/v1beta1": {"Widget"}}, ready: errSilent}, want: "v1beta1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, ok, err := (&Reconciler{discovery: tc.member, memberClient: fakeClient(t, interceptor.Funcs{})}).served(t.Context(), object)
			g.Expect(ok).To(Equal(tc.want != ""))
			if tc.err != nil {
				g.Expect(err).To(MatchError(tc.err))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			if ok {
				g.Expect(got.Version).To(Equal(tc.want))
				g.Expect(got.NamespacedName).To(Equal(object.NamespacedName))
			}
		})
	}
}
