package binding

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/override"
)

// The objects in a namespace that is being deleted are deleted kind by kind, in no particular order. OverridePolicies, quotas and rollouts
// may be gone before the templates that they are for. What is rendered then is not what anybody asked for, and would stay in the members
// where objects are preserved. So Works of such a namespace get no new content, and none is created, just as Kubernetes creates nothing
// there. They are deleted with their bindings as usual.

// errNamespaceTerminating is the reason for Works that stay as they are because their namespace is being deleted.
var errNamespaceTerminating = errors.New("the namespace is being deleted")

// readTerminating determines whether the namespace of a binding is being deleted. The watches of OverridePolicies and quotas may be ahead
// of that of Namespaces. So the Namespace is read live if a policy is gone that a Work has, or a quota that held one back.
func (r *reconciler) readTerminating(ctx context.Context, s *scope) error {
	name := s.binding.GetNamespace()
	if name == "" {
		return nil
	}
	ns, err := kube.NamespaceNamed(ctx, r.hubClient, r.hubReader, name)
	if err != nil {
		return err
	}
	s.terminating = ns == nil || !ns.DeletionTimestamp.IsZero()
	if s.terminating {
		r.bounded.forget(name)
		return nil
	}
	if !s.lacksOverride() && !s.lacksQuota() {
		return nil
	}
	if s.terminating, err = kube.NamespaceEnds(ctx, r.hubReader, name); err == nil && !s.terminating {
		r.bounded.settle(name, s.boundBefore, boundBy(s.quotas))
	}
	return err
}

// lacksOverride returns whether a Work has an OverridePolicy that does not apply to the template any more, or is gone.
func (s *scope) lacksOverride() bool {
	are, same := sets.Set[string]{}, "" // most Works have the same policies
	for i := range s.policies.Namespaced {
		are.Insert(s.policies.Namespaced[i].Name)
	}
	for _, work := range s.live {
		text := work.Annotations[contract.AppliedOverridesAnnotation]
		if text == same {
			continue
		}
		same = text
		_, applied := override.Read(work.Annotations)
		for i := range applied {
			if !are.Has(applied[i].PolicyName) {
				return true
			}
		}
	}
	return false
}

// terminatingNote is the sentence about a binding whose Works are not written any more.
func (s *scope) terminatingNote() string {
	return fmt.Sprintf("Namespace %q is being deleted, so nothing new is sent to any cluster. What the clusters have stays as it is until the template is deleted with its namespace. "+
		"If the namespace remains, its conditions say why: kubectl get namespace %s -o yaml.", s.binding.GetNamespace(), s.binding.GetNamespace())
}
