package binding

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/binding/fanout"
	"fairlead.dev/hub/flow/binding/render"
)

// A mark says what a Work was rendered from (contract.RenderedFromAnnotation). It is outdated if another origin results in the same Work.
// The process remembers that, so that it does not render again, and writes nothing: otherwise a template that is touched often without a
// change, or a label of a Cluster, would cause writes of all Works. But after an upgrade of the hub nearly all marks are outdated, and
// without a write every later start would read and render the templates again, and so would another hub that becomes active. So marks of
// another version of the program are written, at a pace that does not burden the API server: one write per Work and version saves reading
// and rendering the template at each start. Agents ignore marks. The first quota in a namespace, or one for other resources, is like an
// upgrade for the Works of the namespace.
const (
	// markEvery is the time between two such writes of bindings of one kind. For 50,000 applications in three clusters each they take four
	// hours. A hub that restarts meanwhile loses nothing.
	markEvery = 100 * time.Millisecond
	// marksPerTurn is how many are written for a binding in one turn.
	marksPerTurn = 10
)

// marks are the marks that Works should have but do not have, as found by rendering. The zero value is ready; it is safe for concurrent
// use.
type marks struct {
	mu    sync.Mutex
	works map[types.NamespacedName]mark
}

// mark is the right mark of a Work.
type mark struct {
	text string
	// write says to write the mark, because another version of the program left the present one, or the quotas were others. It is not
	// written if another writer put a label or an annotation on the Work: if that happened at every change of the Work, the hub would write
	// every time.
	write bool
}

// outdated is a Work whose mark should be written.
type outdated struct {
	work *workv1alpha1.Work
	mark string
}

func (m *marks) put(key types.NamespacedName, of mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.works == nil {
		m.works = map[types.NamespacedName]mark{}
	}
	m.works[key] = of
}

// of returns the remembered mark of a Work; none if the Work has it by now.
func (m *marks) of(work *workv1alpha1.Work) mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := fanout.Key(work)
	known := m.works[key]
	if known.text != "" && known.text == work.Annotations[contract.RenderedFromAnnotation] {
		delete(m.works, key)
		return mark{}
	}
	return known
}

// giveUp stops writing a mark. It stays remembered.
func (m *marks) giveUp(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.works[key]; ok {
		known.write = false
		m.works[key] = known
	}
}

// forget forgets the mark of a deleted Work.
func (m *marks) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.works, key)
}

// rememberMarks remembers the marks of Works that are up to date but have another mark.
func (r *reconciler) rememberMarks(s *scope, desired rendering, plan fanout.Plan) {
	if s.fingerprint() == "" {
		return // the template is read anyway
	}
	written := sets.Set[string]{}
	for _, u := range plan.Update {
		written.Insert(u.Live.Namespace)
	}
	for _, w := range desired.works {
		own, text := s.live[w.Namespace], desired.marks[w.Namespace]
		if own == nil || own.Name != w.Name || !own.DeletionTimestamp.IsZero() || written.Has(w.Namespace) || text == "" {
			continue
		}
		said := own.Annotations[contract.RenderedFromAnnotation]
		if text == said {
			continue
		}
		found := mark{text: text, write: text == w.Annotations[contract.RenderedFromAnnotation] && !render.SameProgram(text, said)}
		r.marks.put(fanout.Key(own), found)
		if found.write {
			s.outdated = append(s.outdated, outdated{work: own, mark: text})
		}
	}
}

// refreshMarks writes some of the outdated marks of a binding if it is its turn, and requests a turn for the others.
func (r *reconciler) refreshMarks(ctx context.Context, req reconcile.Request, s *scope, isTurn bool) {
	rest := s.outdated
	if isTurn {
		now := rest[:min(len(rest), marksPerTurn)]
		rest = rest[len(now):]
		for _, o := range now {
			if !r.writeMark(ctx, o) {
				rest = append(rest, o)
			}
		}
	}
	if len(rest) > 0 {
		r.paced.Add(req, min(len(rest), marksPerTurn))
	}
}

// writeMark writes a mark, and returns whether it is done. If another writer changed the Work meanwhile, as its agent does, the Work is
// reconciled once more. Unlike other writes it is not in the expectations, because it does not change the desired content, and the watch
// ignores changes of marks.
func (r *reconciler) writeMark(ctx context.Context, o outdated) (done bool) {
	desired := o.work.DeepCopy()
	metav1.SetMetaDataAnnotation(&desired.ObjectMeta, contract.RenderedFromAnnotation, o.mark)
	patch, err := fanout.Update{Live: o.work, Desired: desired}.Patch()
	if err == nil {
		work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: o.work.Namespace, Name: o.work.Name}}
		err = r.hubClient.Patch(ctx, work, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerBinding))
	}
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return true
	case apierrors.IsConflict(err), apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsServiceUnavailable(err):
		return false
	}
	// It is not needed before the next start.
	r.marks.giveUp(fanout.Key(o.work))
	ctrl.LoggerFrom(ctx).V(1).Info("Not recording on a Work what it was rendered from, so it is rendered again after the next start",
		"Work", fanout.Key(o.work), "reason", err.Error())
	return true
}
