package revocation

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	"k8s.io/client-go/tools/cache"
)

// Follow ends requests when their rights are revoked.
func (r *Requests) Follow(rights rbacinformers.Interface) error {
	handler := cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) { r.End(removed(subjectsOf(before), subjectsOf(after))) },
		DeleteFunc: func(gone any) {
			if tombstone, ok := gone.(cache.DeletedFinalStateUnknown); ok {
				gone = tombstone.Obj
			}
			r.End(subjectsOf(gone))
		},
	}
	for _, informer := range []cache.SharedIndexInformer{rights.RoleBindings().Informer(), rights.ClusterRoleBindings().Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("following role bindings: %w", err)
		}
	}
	return nil
}

// subjectsOf returns the subjects of a binding. As RBAC has it, a service account without a namespace is in that of its RoleBinding.
func subjectsOf(binding any) []rbacv1.Subject {
	switch b := binding.(type) {
	case *rbacv1.RoleBinding:
		out := slices.Clone(b.Subjects)
		for i := range out {
			if s := &out[i]; s.Kind == rbacv1.ServiceAccountKind && s.Namespace == "" {
				s.Namespace = b.Namespace
			}
		}
		return out
	case *rbacv1.ClusterRoleBinding:
		return b.Subjects
	default:
		return nil
	}
}

// removed returns the subjects that were removed from a binding.
func removed(before, after []rbacv1.Subject) []rbacv1.Subject {
	return slices.DeleteFunc(slices.Clone(before), func(s rbacv1.Subject) bool { return slices.Contains(after, s) })
}
