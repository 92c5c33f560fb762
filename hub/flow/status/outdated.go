package status

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// madeOfEvery is the time between two writes that change only templateStatusOf. Its value changes with each upgrade of the hub although
// the status is the same, and unless it is written, every later start reads and aggregates all templates again. At this pace the writes
// for 50,000 applications take an hour and a half, a load that the API server does not notice.
const madeOfEvery = 100 * time.Millisecond

// outdated holds, by binding, the new value of templateStatusOf where that is the only outdated field of the binding's status.
type outdated struct {
	mu sync.Mutex
	of map[types.NamespacedName]string
}

func newOutdated() *outdated {
	return &outdated{of: map[types.NamespacedName]string{}}
}

func (o *outdated) put(key types.NamespacedName, of string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of[key] = of
}

func (o *outdated) get(key types.NamespacedName) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of[key]
}

// forget drops a binding that is deleted or up to date.
func (o *outdated) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.of, key)
}

// noteMadeOf schedules a write of templateStatusOf, whose value of was computed just now, if the binding has another.
func (r *Reconciler) noteMadeOf(req reconcile.Request, b kube.Binding, of, unshown string) {
	r.outdated.forget(req.NamespacedName)
	if of != "" && of != b.BindingStatus().TemplateStatusOf && of == r.madeOfBinding(b, unshown) {
		r.outdated.put(req.NamespacedName, of)
		r.paced.Add(req, 1)
	}
}

// writeMadeOf writes templateStatusOf if that is the binding's only outdated field and it is the binding's turn. If it is not, it
// requests one.
func (r *Reconciler) writeMadeOf(ctx context.Context, req reconcile.Request, b kube.Binding, unshown string, isTurn bool) error {
	key := req.NamespacedName
	of := r.outdated.get(key)
	switch {
	case of == "":
		return nil
	case of == b.BindingStatus().TemplateStatusOf:
		r.outdated.forget(key)
		return nil
	case !isTurn:
		r.paced.Add(req, 1)
		return nil
	}
	r.outdated.forget(key)
	if of != r.madeOfBinding(b, unshown) {
		return nil // the template has changed
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	b.BindingStatus().TemplateStatusOf = of
	for _, deferred := range r.deferred {
		deferred.Include(b)
	}
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerStatus)
	switch {
	case apierrors.IsConflict(err):
		r.outdated.put(key, of)
		return err
	case err != nil: // only the next start needs it
		ctrl.LoggerFrom(ctx).V(1).Info("Not recording the reports that the status of a template was made of, so it is made again after the next start", "reason", err.Error())
		return nil
	case wrote:
		b.SetManagedFields(nil)
		r.bindings.Put(key, b)
	}
	return nil
}
