package plan

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestOutlives(t *testing.T) {
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

func TestForeignContents(t *testing.T) {
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
		"a copy of what is from the hub":                  {schema.GroupKind{Kind: "ConfigMap"}, object("copy", labelled(contract.ManagedLabel, "true")), true},
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
		"not those, as OpenShift shows them as well":      {schema.GroupKind{Group: "authorization.openshift.io", Kind: "RoleBinding"}, object("system:deployers"), false},
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

func TestWhichObjectsAWorkHas(t *testing.T) {
	t.Parallel()
	work := &workv1alpha1.Work{}
	for _, manifest := range []string{
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"namespace":"shop","name":"web"}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"shop","generateName":"web"}}`,
	} {
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}})
	}
	tests := map[string]struct {
		version, kind, namespace, name string
		want                           bool
	}{
		"what it names":                        {"rbac.authorization.k8s.io/v1", "RoleBinding", "shop", "web", true},
		"in another version":                   {"rbac.authorization.k8s.io/v1beta1", "RoleBinding", "shop", "web", true},
		"in a group that shows the same":       {"authorization.openshift.io/v1", "RoleBinding", "shop", "web", true},
		"not of another group":                 {"example.com/v1", "RoleBinding", "shop", "web", false},
		"not of another kind":                  {"rbac.authorization.k8s.io/v1", "Role", "shop", "web", false},
		"not of another name":                  {"rbac.authorization.k8s.io/v1", "RoleBinding", "shop", "copy", false},
		"not in another namespace":             {"rbac.authorization.k8s.io/v1", "RoleBinding", "other", "web", false},
		"not what cannot be applied, as it is": {"v1", "Secret", "shop", "", false},
	}
	has := Objects(work)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(has(Object{schema.FromAPIVersionAndKind(tc.version, tc.kind), types.NamespacedName{Namespace: tc.namespace, Name: tc.name}})).To(Equal(tc.want))
		})
	}
}
