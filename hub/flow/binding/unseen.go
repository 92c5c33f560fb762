package binding

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// unseen remembers of bindings whose templates have edits that the detector has not seen which template it did see. The zero value is
// ready; it is safe for use by many goroutines.
type unseen struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]string
}

// waits says whether an edit waits for the detector, given the template that the detector has seen. It does until the detector has
// seen another one, even if that is not the last by now: a template that is edited all the time would never reach a cluster.
func (u *unseen) waits(key types.NamespacedName, seen string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if before, known := u.seen[key]; known && before != seen {
		delete(u.seen, key)
		return false
	}
	if u.seen == nil {
		u.seen = map[types.NamespacedName]string{}
	}
	u.seen[key] = seen
	return true
}

func (u *unseen) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.seen, key)
}

// isUnseen says whether the template that was read has an edit of which the detector has yet to find out how it reaches clusters: in
// waves, maybe. A hub that starts reads templates before the detector has looked at them, and what is sent to all clusters does not come back.
func (r *reconciler) isUnseen(s *scope) bool {
	key, seen := client.ObjectKeyFromObject(s.binding), bindings.FingerprintOn(s.binding)
	if seen == "" || seen == bindings.Fingerprint(s.template) || onlyFollows(s.binding) {
		r.unseen.forget(key)
		return false
	}
	return r.unseen.waits(key, seen)
}

// onlyFollows says whether the object of a binding is needed by workloads and no policy has it any more: the detector tells no more of its
// edits, and what needs it says how they reach clusters.
func onlyFollows(b workv1alpha2.Binding) bool {
	labels := b.GetLabels()
	claimed := labels[contract.PropagationPolicyPermanentIDLabel] != "" || labels[contract.ClusterPropagationPolicyPermanentIDLabel] != ""
	return !claimed && len(b.BindingSpec().RequiredBy) > 0
}
