package install

import (
	"context"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/manifest"
)

// removeRights removes the agent's RBAC in namespaces to which it was confined before, except what stays. Bindings go
// first: if a Role were deleted before its binding, whoever creates a Role of that name would grant it to the agent.
func (i *Installer) removeRights(ctx context.Context, still []*unstructured.Unstructured) error {
	stays := namesOf(still)
	own := func(name string) bool { return name == manifest.Name }
	if err := i.removeOthers(ctx, &rbacv1.RoleBindingList{}, own, stays, "gives the agent rights"); err != nil {
		return err
	}
	return i.removeOthers(ctx, &rbacv1.RoleList{}, own, stays, "gives the agent rights")
}

// namesOf returns the kinds and names of objects, for removeOthers.
func namesOf(objects []*unstructured.Unstructured) map[string]bool {
	out := make(map[string]bool, len(objects))
	for _, u := range objects {
		out[u.GetKind()+" "+name(u)] = true
	}
	return out
}

// removeOthers removes the agent's objects of the list's kind whose names are ours, except those that stay. what
// describes the objects in errors.
func (i *Installer) removeOthers(ctx context.Context, list client.ObjectList, ours func(name string) bool, stays map[string]bool, what string) error {
	of, err := i.memberClient.GroupVersionKindFor(list)
	if err != nil {
		return fmt.Errorf("looking for what %s in the member: %w", what, err)
	}
	kind := strings.TrimSuffix(of.Kind, "List")
	if err := i.memberClient.List(ctx, list, ofAgent(list)...); err != nil {
		return fmt.Errorf("looking for what %s in the member: %w", what, err)
	}
	return meta.EachListItem(list, func(obj runtime.Object) error {
		o, ok := obj.(client.Object)
		if !ok || !ours(o.GetName()) {
			return nil
		}
		full := client.ObjectKeyFromObject(o).String()
		if o.GetNamespace() == "" {
			full = o.GetName()
		}
		if stays[kind+" "+full] {
			return nil
		}
		if err := i.memberClient.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing %s %s, which %s in the member: %w", kind, full, what, err)
		}
		return nil
	})
}
