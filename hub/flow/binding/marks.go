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

// A mark is what a Work says that it was rendered from (contract.RenderedFromAnnotation). It is outdated where another origin comes to
// the same Work. The process remembers that, so that it does not render once more, and nothing is written: a template that is touched all
// the time without a change, or a label of a Cluster, would have all of its Works written each time. But after an upgrade of the hub nearly all
// marks are outdated, and without a write every later start reads and renders the templates again, as does whichever hub takes over from this
// one. So those that another program left are written, at a pace that the API server does not notice: one write of a Work for each program
// saves a read of the template and a rendering at each start. No agent acts upon it. A namespace that gets its first quota, or one about
// other resources, is like an upgrade for what is in it.
const (
	// markEvery is the time between two such writes of bindings of one kind: those of 50,000 applications in three clusters each take
	// four hours, of which a hub that starts meanwhile loses nothing.
	markEvery = 100 * time.Millisecond
	// marksPerTurn is how many are written of a binding before it is another's turn.
	marksPerTurn = 10
)

// marks are those that Works should have and do not say, as found by rendering. The zero value is ready; it is safe for use by many
// goroutines.
type marks struct {
	mu    sync.Mutex
	works map[types.NamespacedName]mark
}

// mark is that of a Work as it is.
type mark struct {
	text string
	// write says that the mark is to be written: another program left the one that there is, or one under other quotas. If somebody else put a label or an
	// annotation on the Work, it is not: whoever does so whenever the Work changes would keep us writing.
	write bool
}

// outdated is a Work whose mark is to be written.
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

// of returns what is known of a Work; nothing if it says so by now.
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

// giveUp has a mark written no more. It is remembered.
func (m *marks) giveUp(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.works[key]; ok {
		known.write = false
		m.works[key] = known
	}
}

// forget drops what is known of a Work that is gone.
func (m *marks) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.works, key)
}

// rememberMarks remembers the marks of Works that are what was rendered and do not say so.
func (r *reconciler) rememberMarks(s *scope, desired rendering, plan fanout.Plan) {
	if s.fingerprint() == "" {
		return // the template is read in any case
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

// refreshMarks writes some of the outdated marks of a binding if it is its turn, and asks for a turn for the others.
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

// writeMark writes a mark, and says whether nothing is left to be done: if somebody else has written the Work meanwhile, as its agent
// does, it is looked at once more. Unlike other writes it is not expected: it does not change what the binding is to have, and the watch
// tells of nothing but the mark.
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
	// Nobody misses it before the next start.
	r.marks.giveUp(fanout.Key(o.work))
	ctrl.LoggerFrom(ctx).V(1).Info("Not recording on a Work what it was rendered from, so it is rendered again after the next start",
		"Work", fanout.Key(o.work), "reason", err.Error())
	return true
}
