package plan

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestWhatOutlivesItsWork(t *testing.T) {
	t.Parallel()
	work := func(preserve, going bool, intent string) *workv1alpha1.Work {
		out := &workv1alpha1.Work{}
		out.Spec.PreserveResourcesOnDeletion = &preserve
		if going {
			out.DeletionTimestamp = &metav1.Time{}
			*out.DeletionTimestamp = metav1.Now()
		}
		if intent != "" {
			out.Annotations = map[string]string{contract.DeletionIntentAnnotation: intent}
		}
		return out
	}
	tests := map[string]struct {
		work *workv1alpha1.Work
		want bool
	}{
		"of a Work that the hub does not have":          {work: nil, want: true},
		"of a Work that asks for it":                    {work: work(true, false, ""), want: true},
		"of one that asks for it and ends":              {work: work(true, true, contract.DeletionRemoved), want: true},
		"of one that somebody else deletes":             {work: work(false, true, ""), want: true},
		"not of one that the hub deletes":               {work: work(false, true, contract.DeletionRemoved)},
		"not of one that is there, whose turn may come": {work: work(false, false, "")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Outlives(tc.work)).To(Equal(tc.want))
		})
	}
}

func TestWhatIsForeignInAContainer(t *testing.T) {
	t.Parallel()
	object := func(name string, changes ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
		out := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		for _, change := range changes {
			change(out)
		}
		return out
	}
	annotated := func(key string) func(*metav1.PartialObjectMetadata) {
		return func(o *metav1.PartialObjectMetadata) { o.Annotations = map[string]string{key: "builder"} }
	}
	labelled := func(key, value string) func(*metav1.PartialObjectMetadata) {
		return func(o *metav1.PartialObjectMetadata) { o.Labels = map[string]string{key: value} }
	}
	going := func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = new(metav1.Now()) }
	tests := map[string]struct {
		kind   schema.GroupKind
		object *metav1.PartialObjectMetadata
		want   bool
	}{
		"somebody's settings":                             {schema.GroupKind{Kind: "ConfigMap"}, object("theirs"), true},
		"somebody's ServiceAccount":                       {schema.GroupKind{Kind: "ServiceAccount"}, object("theirs"), true},
		"somebody's password":                             {schema.GroupKind{Kind: "Secret"}, object("theirs"), true},
		"an object of the same name of another kind":      {schema.GroupKind{Kind: "Secret"}, object("kube-root-ca.crt"), true},
		"a custom resource":                               {schema.GroupKind{Group: "example.com", Kind: "ConfigMap"}, object("kube-root-ca.crt"), true},
		"what says that it is not from the hub":           {schema.GroupKind{Kind: "ConfigMap"}, object("theirs", labelled(contract.ManagedLabel, "false")), true},
		"not what is from the hub":                        {schema.GroupKind{Kind: "ConfigMap"}, object("ours", labelled(contract.ManagedLabel, "true")), false},
		"not what goes already":                           {schema.GroupKind{Kind: "ConfigMap"}, object("theirs", going), false},
		"not an event":                                    {schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}, object("e"), false},
		"not the addresses of a Service":                  {schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}, object("e"), false},
		"not the authority of Kubernetes":                 {schema.GroupKind{Kind: "ConfigMap"}, object("kube-root-ca.crt"), false},
		"not the authority of OpenShift":                  {schema.GroupKind{Kind: "ConfigMap"}, object("openshift-service-ca.crt"), false},
		"not the authority of Istio":                      {schema.GroupKind{Kind: "ConfigMap"}, object("istio-ca-root-cert"), false},
		"not the authorities of trust-manager":            {schema.GroupKind{Kind: "ConfigMap"}, object("ca", labelled("trust.cert-manager.io/bundle", "ca")), false},
		"not the authorities of trust-manager, if secret": {schema.GroupKind{Kind: "Secret"}, object("ca", labelled("trust.cert-manager.io/bundle", "ca")), false},
		"not the ServiceAccount of every namespace":       {schema.GroupKind{Kind: "ServiceAccount"}, object("default"), false},
		"not the ServiceAccounts of OpenShift":            {schema.GroupKind{Kind: "ServiceAccount"}, object("deployer"), false},
		"not the RoleBindings of OpenShift":               {schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}, object("system:image-pullers"), false},
		"not the token of a ServiceAccount":               {schema.GroupKind{Kind: "Secret"}, object("t", annotated("kubernetes.io/service-account.name")), false},
		"not the registry access of a ServiceAccount":     {schema.GroupKind{Kind: "Secret"}, object("t", annotated("openshift.io/internal-registry-auth-token.service-account")), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Foreign(tc.kind.WithVersion("v1"), tc.object)).To(Equal(tc.want))
		})
	}
}
