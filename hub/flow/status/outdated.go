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

// madeOfEvery is the time between two writes that say nothing but what the status of a template was made of. It is another after each
// upgrade of the hub, though the status is the same, and unless that is written every later start reads and adds up all templates
// again. Those of 50,000 applications take an hour and a half, which the API server does not notice.
const madeOfEvery = 100 * time.Millisecond

// outdated is what the statuses of templates were made of, by binding, where that is all that their bindings do not say.
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

// forget drops what is known of a binding that is gone, or says it.
func (o *outdated) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.of, key)
}

// noteMadeOf remembers what the status of a template was made of, as it was now, if its binding says anything else.
func (r *Reconciler) noteMadeOf(req reconcile.Request, b kube.Binding, of, unshown string) {
	r.outdated.forget(req.NamespacedName)
	if of != "" && of != b.BindingStatus().TemplateStatusOf && of == r.madeOfBinding(b, unshown) {
		r.outdated.put(req.NamespacedName, of)
		r.paced.Add(req, 1)
	}
}

// writeMadeOf has a binding say what its template's status was made of, if that is all that it does not say, and if it is its turn;
// otherwise it asks for one.
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
		return nil // the template is another one by now
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
	case err != nil: // nobody misses it before the next start
		ctrl.LoggerFrom(ctx).V(1).Info("Not writing what the status of a template was made of, it is made again after the next start", "reason", err.Error())
		return nil
	case wrote:
		b.SetManagedFields(nil)
		r.bindings.Put(key, b)
	}
	return nil
}
