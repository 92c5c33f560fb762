package hollow

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// task is an item of the work queue: a Work, or the agent's Cluster if work is empty.
type task struct {
	agent *agent
	work  string
}

// work processes the queue until the fleet ends.
func (f *Fleet) work() {
	for {
		t, shutdown := f.queue.Get()
		if shutdown {
			return
		}
		if err := t.do(); err != nil {
			f.queue.AddRateLimited(t)
		} else {
			f.queue.Forget(t)
		}
		f.queue.Done(t)
	}
}

func (t task) do() error {
	l := t.agent.alive()
	if l == nil {
		return nil // when it talks again it lists everything anew
	}
	var err error
	if t.work == "" {
		err = t.agent.tellCluster(l)
	} else {
		err = t.agent.tellWork(l, t.work)
	}
	if l.ctx.Err() != nil {
		return nil //nolint:nilerr // It was cut off.
	}
	return err
}

// workStore receives the agent's Works from their watch.
type workStore struct {
	ignore

	agent *agent
}

func (s *workStore) Add(obj any) error { return s.Update(obj) }

func (s *workStore) Update(obj any) error {
	if work, ok := obj.(*workv1alpha1.Work); ok {
		s.agent.seeWork(work)
	}
	return nil
}

func (s *workStore) Delete(obj any) error {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if work, ok := obj.(*workv1alpha1.Work); ok {
		s.agent.mu.Lock()
		delete(s.agent.works, work.Name)
		s.agent.mu.Unlock()
		s.agent.use(work.Name, nil)
	}
	return nil
}

func (s *workStore) Replace(objs []any, _ string) error {
	s.agent.mu.Lock()
	gone := maps.Clone(s.agent.used)
	clear(s.agent.works)
	s.agent.mu.Unlock()
	for _, obj := range objs {
		_ = s.Update(obj) // it never fails
		if work, ok := obj.(*workv1alpha1.Work); ok {
			delete(gone, work.Name)
		}
	}
	for name := range gone {
		s.agent.use(name, nil)
	}
	return nil
}

func (a *agent) seeWork(work *workv1alpha1.Work) {
	work.ManagedFields = nil
	a.mu.Lock()
	known := a.works[work.Name]
	old := known != nil && known.UID == work.UID && contract.Older(work.ResourceVersion, known.ResourceVersion)
	if !old {
		a.works[work.Name] = work
	}
	a.mu.Unlock()
	if !old {
		a.fleet.queue.AddAfter(task{agent: a, work: work.Name}, a.fleet.options.Delay)
	}
}

// tellWork reconciles a Work: it adds or removes the finalizer, and writes the status.
func (a *agent) tellWork(l *life, name string) error {
	a.mu.Lock()
	work := a.works[name]
	a.mu.Unlock()
	switch {
	case work == nil:
		return nil
	case !work.DeletionTimestamp.IsZero():
		return a.setFinalizer(l, work, false)
	case !controllerutil.ContainsFinalizer(work, contract.ExecutionFinalizer):
		if err := a.setFinalizer(l, work, true); err != nil {
			return err
		}
	}
	want, asks, err := a.fleet.report(l.ctx, a.name, work)
	if err != nil {
		return err
	}
	if !suspended(work) {
		a.use(name, asks)
	}
	news := difference(&work.Status, &want)
	if len(news) == 0 {
		return nil
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": work.UID}, "status": news})
	if err != nil {
		return err //nolint:wrapcheck // It is tried again, and nobody reads it.
	}
	answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: work.Namespace, Name: work.Name}}
	answer.SetGroupVersionKind(workv1alpha1.GroupVersion.WithKind("Work"))
	err = l.hubClient.Status().Patch(l.ctx, answer, client.RawPatch(types.MergePatchType, data), client.FieldOwner(contract.FieldManagerAgent))
	if err != nil {
		return ignoreGone(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.works[name]; now != nil && now.UID == work.UID && contract.Older(now.ResourceVersion, answer.ResourceVersion) {
		told := *now
		told.ResourceVersion, told.Status = answer.ResourceVersion, want
		a.works[name] = &told
	}
	return nil
}

// difference returns the changes of a Work's status as a merge patch. It copies the unchanged conditions of has into
// want.
func difference(has, want *workv1alpha1.WorkStatus) map[string]any {
	now := metav1.Now().Rfc3339Copy()
	conditions := slices.Clone(has.Conditions)
	for _, condition := range want.Conditions {
		condition.LastTransitionTime = now
		meta.SetStatusCondition(&conditions, condition)
	}
	want.Conditions = conditions
	news := map[string]any{}
	if !equality.Semantic.DeepEqual(has.Conditions, want.Conditions) {
		news["conditions"] = want.Conditions
	}
	same := func(x, y workv1alpha1.ManifestStatus) bool {
		return x.Identifier == y.Identifier && x.Health == y.Health && equality.Semantic.DeepEqual(decoded(x), decoded(y))
	}
	if !slices.EqualFunc(has.ManifestStatuses, want.ManifestStatuses, same) {
		news["manifestStatuses"] = want.ManifestStatuses
	}
	if has.ObservedGeneration != want.ObservedGeneration {
		news["observedGeneration"] = want.ObservedGeneration
	}
	if len(news) > 0 {
		want.ReportTime = &now
		news["reportTime"] = now
	}
	return news
}

// decoded returns the status of an object in a form that compares equal regardless of its encoding.
func decoded(m workv1alpha1.ManifestStatus) any {
	var out any
	if m.Status != nil && json.Unmarshal(m.Status.Raw, &out) != nil {
		return string(m.Status.Raw)
	}
	return out
}

// setFinalizer adds or removes the agent's finalizer.
func (a *agent) setFinalizer(l *life, work *workv1alpha1.Work, hold bool) error {
	is := work.DeepCopy()
	if hold {
		controllerutil.AddFinalizer(is, contract.ExecutionFinalizer)
	} else if !controllerutil.RemoveFinalizer(is, contract.ExecutionFinalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(work, client.MergeFromWithOptimisticLock{})
	return ignoreGone(l.hubClient.Patch(l.ctx, is, patch, client.FieldOwner(contract.FieldManagerAgent)))
}

// ignoreGone ignores that a Work is gone or has changed: its watch delivers the new state.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return nil
	}
	return err
}
