package scenario

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/common/override"
	"fairlead.dev/hub/flow/binding/fanout"
	"fairlead.dev/hub/flow/binding/render"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/status/aggregate"
	"fairlead.dev/hub/people/explain"
)

// schedule is the stage that picks clusters.
func (w *world) schedule() bool {
	changed := false
	for _, name := range names(w.apps) {
		a := w.apps[name]
		if w.unchanged(a, w.hub.scheduled[name]) {
			continue
		}
		b := a.binding.DeepCopy()
		d, waits := w.decide(a, b)
		if !waits {
			w.hub.scheduled[name] = w.inputs(a)
		}
		w.leave(a, b, d)
		w.record(b, d)
		if equal(b, a.binding) {
			continue
		}
		if b.Generation != a.binding.Generation {
			w.tell("%s is scheduled to %s", a.name, explain.Targets(b.Spec.Clusters))
		}
		if said := scheduled(a.binding); said != scheduled(b) {
			w.tell("%s is scheduled: %s", a.name, scheduled(b))
		}
		a.binding, changed = b, true
		w.place(a)
	}
	return changed
}

// decide returns the scheduler's decision. It uses a better placement only after that has existed for long enough. It
// also returns whether the decision may differ later although nothing changes.
func (w *world) decide(a *app, b *workv1alpha2.ResourceBinding) (d decide.Decision, waits bool) {
	in := w.placing(a, &b.Spec)
	d = decide.Decide(in)
	if d.FailbackReason == "" {
		delete(w.hub.better, a.name)
		return d, len(in.FailedIn) > 0
	}
	since, known := w.hub.better[a.name]
	if !known {
		since = w.now
		w.hub.better[a.name] = since
	}
	if at := since.Add(settle); w.now.Before(at) {
		w.again(at)
		return d, true
	}
	in.FailbackDue = true
	delete(w.hub.better, a.name)
	return decide.Decide(in), true
}

// settle is how long a better placement must have existed before it is used.
const settle = time.Minute

// leave records the clusters that the scheduler leaves or takes back, as the scheduler does.
func (w *world) leave(a *app, b *workv1alpha2.ResourceBinding, d decide.Decision) {
	mode := policyv1alpha1.PurgeGracefully
	if f := b.Spec.Failover; f != nil && f.Cluster != nil && f.Cluster.PurgeMode != "" {
		mode = f.Cluster.PurgeMode
	}
	past := evictions.Of(b)
	before := slices.Clone(b.Spec.Clusters)
	for _, cluster := range d.Return {
		b.Spec.GracefulEvictionTasks = slices.DeleteFunc(b.Spec.GracefulEvictionTasks, func(t workv1alpha2.GracefulEvictionTask) bool { return t.FromCluster == cluster })
		for i := range past {
			if past[i].From == cluster && past[i].Ended == nil {
				past[i].Ended, past[i].How = new(seen(w.now)), workv1alpha2.EvictionReturned
			}
		}
		delete(a.allowed, cluster)
		w.tell("%s is taken back in %s", a.name, cluster)
	}
	for _, l := range d.Leave {
		b.Spec.GracefulEvictionTasks = append(b.Spec.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{
			FromCluster: l.Cluster, Replicas: new(l.Replicas), PurgeMode: mode, Message: l.Why, CreationTimestamp: new(seen(w.now)),
			Reason: workv1alpha2.EvictionPreferred, Producer: workv1alpha2.ProducerScheduler,
		})
		a.allowed[l.Cluster] = "evicted"
		if mode == policyv1alpha1.PurgeDirectly {
			a.allowed[l.Cluster] = "at once"
		}
		past = append(past, workv1alpha2.Eviction{From: l.Cluster, At: seen(w.now), Reason: workv1alpha2.EvictionPreferred, Message: l.Why, Before: before})
		w.tell("%s leaves %s (%s): %s", a.name, l.Cluster, mode, l.Why)
	}
	if len(d.Leave)+len(d.Return) > 0 {
		if err := evictions.Set(b, past); err != nil {
			panic(err)
		}
	}
}

func (w *world) placing(a *app, spec *workv1alpha2.ResourceBindingSpec) decide.Input {
	in := decide.InputOf(a.binding, decide.World{Clusters: w.list(), Now: w.now})
	in.Spec, in.ReturnToPreferred = spec, a.returns
	return in
}

// record writes a decision, as the scheduler does.
func (w *world) record(b *workv1alpha2.ResourceBinding, d decide.Decision) {
	moved := false
	if d.Outcome == decide.Scheduled || d.Outcome == decide.NoClusterFit {
		byName := slices.SortedFunc(slices.Values(b.Spec.Clusters), func(a, b workv1alpha2.TargetCluster) int { return strings.Compare(a.Name, b.Name) })
		if !equal(byName, d.Targets) {
			b.Spec.Clusters, moved = d.Targets, true
			b.Generation++
		}
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.AppliedPlacementAnnotation, d.Placement)
	}
	c := metav1.Condition{
		Type: workv1alpha2.BindingScheduled, Status: metav1.ConditionFalse, ObservedGeneration: b.Generation, Message: d.Message, LastTransitionTime: metav1.NewTime(w.now),
	}
	switch d.Outcome {
	case decide.NoClusterFit:
		c.Reason = workv1alpha2.ReasonNoClusterFit
	case decide.Unschedulable:
		c.Reason = workv1alpha2.ReasonUnschedulable
	case decide.Refused:
		c.Reason = workv1alpha2.ReasonSchedulerError
	default:
		c.Status, c.Reason = metav1.ConditionTrue, workv1alpha2.ReasonScheduledSuccess
		b.Status.SchedulerObservedGeneration, b.Status.SchedulerObservedAffinityName = b.Generation, d.Affinity
	}
	meta.SetStatusCondition(&b.Status.Conditions, c)
	if c.Status == metav1.ConditionTrue && (moved || b.Status.LastScheduledTime == nil) {
		b.Status.LastScheduledTime = new(seen(w.now))
	}
}

func scheduled(b *workv1alpha2.ResourceBinding) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingScheduled); c != nil {
		return c.Reason
	}
	return ""
}

// bind is the stage that renders Works.
func (w *world) bind() bool {
	changed := false
	for _, name := range names(w.apps) {
		changed = w.bindOne(w.apps[name]) || changed
	}
	return changed
}

func (w *world) bindOne(a *app) bool {
	if w.unchanged(a, w.hub.bound[a.name]) {
		return false
	}
	w.hub.bound[a.name] = w.inputs(a)
	live := a.works
	in := fanout.Input{ID: a.id(), Keep: sets.Set[string]{}, Purge: sets.Set[string]{}}
	in.Reasons.Evict(evictions.Of(a.binding), namespaceOf)
	for _, cluster := range names(live) {
		in.Live = append(in.Live, live[cluster])
	}
	for i := range a.binding.Spec.GracefulEvictionTasks {
		task := &a.binding.Spec.GracefulEvictionTasks[i]
		if task.PurgeMode.Canonical() == policyv1alpha1.PurgeDirectly {
			in.Purge.Insert(namespaceOf(task.FromCluster))
		} else {
			in.Keep.Insert(namespaceOf(task.FromCluster))
		}
	}
	purging := render.Purging(&a.binding.Spec, func(cluster string) bool { return live[cluster] != nil })
	for _, target := range bindings.Targets(&a.binding.Spec) {
		c := w.clusters[target.Name]
		if c == nil || !c.DeletionTimestamp.IsZero() {
			in.Keep.Insert(namespaceOf(target.Name))
			continue
		}
		target.Replicas = render.Hold(target.Replicas, live[target.Name], purging)
		work, err := render.Work(render.Input{
			Template: a.template, Binding: a.binding, Target: target, Cluster: c, ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix,
			Overrides: override.Plan{}, Revise: revise,
		})
		if err != nil {
			panic(err)
		}
		in.Desired = append(in.Desired, work)
	}
	return w.execute(a, fanout.Decide(in))
}

func revise(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	out := obj.DeepCopy()
	return out, unstructured.SetNestedField(out.Object, int64(replicas), "spec", "replicas")
}

// execute executes a plan.
func (w *world) execute(a *app, plan fanout.Plan) bool {
	for _, d := range plan.Delete {
		w.deleteWork(a, clusterOf(d.Live), d.Live, d.Intent)
	}
	for _, work := range plan.Withdraw {
		w.tell("%s: the Work in %s is to stay after all", a.name, clusterOf(work))
		work = work.DeepCopy()
		delete(work.Annotations, contract.DeletionIntentAnnotation)
		a.put(work)
	}
	for _, u := range plan.Update {
		work := u.Desired.DeepCopy()
		work.Status, work.Generation, work.CreationTimestamp = u.Live.Status, u.Live.Generation, u.Live.CreationTimestamp
		if u.Spec {
			work.Generation++
		}
		a.put(work)
	}
	for _, work := range plan.Create {
		w.mayCreate(a, clusterOf(work))
		work = work.DeepCopy()
		work.Generation, work.CreationTimestamp = 1, seen(w.now)
		a.put(work)
	}
	return len(plan.Delete)+len(plan.Withdraw)+len(plan.Update)+len(plan.Create) > 0
}

// report is the stage that aggregates statuses.
func (w *world) report() bool {
	changed := false
	for _, name := range names(w.apps) {
		a := w.apps[name]
		if w.unchanged(a, w.hub.added[name]) {
			continue
		}
		in := aggregate.Input{Generation: a.binding.Generation, Spec: &a.binding.Spec, Status: &a.binding.Status, Now: w.now}
		for cluster, work := range a.works {
			in.Reports = append(in.Reports, aggregate.Report{Cluster: cluster, Work: work})
		}
		d := aggregate.Decide(in)
		w.after(d.Wait)
		if !d.Early {
			w.hub.added[name] = w.inputs(a)
		}
		if d.Early || !d.Changed {
			continue
		}
		b := a.binding.DeepCopy()
		b.Status.AggregatedStatus = d.Items
		meta.SetStatusCondition(&b.Status.Conditions, d.FullyApplied)
		a.binding, changed = b, true
	}
	return changed
}
