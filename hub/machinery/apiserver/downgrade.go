package apiserver

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/manifests"
)

// selfEnforcedKinds returns the kinds that take effect without any program acting on them, in the order of their
// removal: rights before the policies that restrict them, and bindings before what they bind. The versions are those
// that API servers may serve.
func selfEnforcedKinds() []servedKind {
	rights := []schema.GroupVersion{{Group: "rbac.authorization.k8s.io", Version: "v1"}}
	admission := []schema.GroupVersion{{Group: "admissionregistration.k8s.io", Version: "v1"}, {Group: "admissionregistration.k8s.io", Version: "v1beta1"}}
	return []servedKind{
		{"ClusterRoleBinding", rights},
		{"RoleBinding", rights},
		{"ClusterRole", rights},
		{"Role", rights},
		{"ValidatingAdmissionPolicyBinding", admission},
		{"MutatingAdmissionPolicyBinding", admission},
		{"ValidatingAdmissionPolicy", admission},
		{"MutatingAdmissionPolicy", admission},
	}
}

// servedKind is a kind, and the versions in which it may be served.
type servedKind struct {
	kind     string
	versions []schema.GroupVersion
}

// removeNewer removes RBAC objects and policies that a newer version installed and this one does not have: they would
// remain in force without anybody knowing why. CRDs stay, since removing them would delete the stored objects.
func (i *installer) removeNewer(ctx context.Context) error {
	own, err := ownNames()
	if err != nil {
		return err
	}
	for _, of := range selfEnforcedKinds() {
		list, err := i.installedOf(ctx, of)
		if err != nil {
			return err
		}
		for n := range list {
			obj := &list[n]
			if !byInstaller(obj) || own.Has(nameOf(of.kind, obj)) {
				continue
			}
			if err := i.hubClient.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("removing %s %q of a newer version: %w", of.kind, obj.GetName(), err)
			}
			ctrl.LoggerFrom(ctx).Info("Removed what a newer hub installed and this one does not have", "kind", of.kind, "namespace", obj.GetNamespace(), "name", obj.GetName())
		}
	}
	return nil
}

// installedOf lists the installed objects of a kind, in the first version that the API server serves; none if it serves
// none.
func (i *installer) installedOf(ctx context.Context, of servedKind) ([]metav1.PartialObjectMetadata, error) {
	for _, version := range of.versions {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(version.WithKind(of.kind + "List"))
		err := i.hubClient.List(ctx, list, client.MatchingLabels{contract.SystemLabel: contract.LabelTrue})
		switch {
		case meta.IsNoMatchError(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("listing each %s that hubs installed: %w", of.kind, err)
		}
		for n := range list.Items {
			list.Items[n].SetGroupVersionKind(version.WithKind(of.kind))
		}
		return list.Items, nil
	}
	return nil, nil
}

// byInstaller says whether a hub applied an object during an installation. Objects of others with the same label are
// left alone.
func byInstaller(obj client.Object) bool {
	return slices.ContainsFunc(obj.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == contract.FieldManagerInstall && e.Operation == metav1.ManagedFieldsOperationApply
	})
}

// ownNames returns the RBAC objects and policies of this version.
func ownNames() (sets.Set[string], error) {
	out := sets.New[string]()
	for _, read := range []func() ([]*unstructured.Unstructured, error){manifests.RBAC, manifests.Policies} {
		objects, err := read()
		if err != nil {
			return nil, err
		}
		for _, obj := range objects {
			out.Insert(nameOf(obj.GetKind(), obj))
		}
	}
	return out, nil
}

func nameOf(kind string, obj client.Object) string {
	return kind + " " + obj.GetNamespace() + "/" + obj.GetName()
}
