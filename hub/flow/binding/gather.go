package binding

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/common/override"
	"fairlead.dev/common/quota"
	"fairlead.dev/common/revision"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/binding/fanout"
)

// scope is what one binding is rendered from.
type scope struct {
	binding kube.Binding
	targets []workv1alpha2.TargetCluster
	// template is nil if there are no targets, or if the template is gone, another object, or not in the namespace of the binding, or if
	// that namespace is being deleted. Then nothing is rendered, and the Works stay until the binding is deleted. It is also nil if all
	// targets are unchanged.
	template *unstructured.Unstructured
	// terminating says that the namespace of the binding is being deleted: no Work is created or gets another content.
	terminating bool
	// unseen is the edit that has waited for the detector for the longest time.
	unseen edits.Unseen
	// unstaged are the bindings of workloads that need the object and have no rollout.
	unstaged []kube.Binding
	// unchanged are the namespaces of targets whose Works are known to be up to date. They stay as they are.
	unchanged sets.Set[string]
	// outdated are Works that are up to date, but with a mark of another origin.
	outdated []outdated
	// clusters are the Clusters of the targets that exist and are not being deleted.
	clusters map[string]*clusterv1alpha1.Cluster
	// refused are clusters that were targets, but that the namespace may not use.
	refused []failure
	// policies are the override policies that may apply to the template.
	policies override.Policies
	// rollouts say which content the clusters get; none if all get the present template.
	rollouts []*followed
	// materials are what the Works are rendered from; nil if the template is nil.
	materials *materials
	// quotas limit what the Works may request together. boundBefore are the resources that they bounded before, if these are more.
	quotas      []quota.Quota
	boundBefore sets.Set[corev1.ResourceName]
	// works are the existing Works, live the same by namespace.
	works   []*workv1alpha1.Work
	live    map[string]*workv1alpha1.Work
	suspect sets.Set[types.NamespacedName]
	// keep and purge are the namespaces of clusters that the application is leaving: gracefully, and at once.
	keep, purge sets.Set[string]
	// reasons are why Works are deleted that are not wanted any more.
	reasons fanout.Reasons
}

// gather reads the scope of a binding. Objects from the cache must not be modified.
func (r *reconciler) gather(ctx context.Context, id string, binding kube.Binding) (*scope, error) {
	spec := binding.BindingSpec()
	s := &scope{
		binding:   binding,
		targets:   bindings.Targets(spec),
		unchanged: sets.Set[string]{},
		clusters:  map[string]*clusterv1alpha1.Cluster{},
		keep:      sets.Set[string]{},
		purge:     sets.Set[string]{},
	}
	for i := range spec.GracefulEvictionTasks {
		task := &spec.GracefulEvictionTasks[i]
		namespace := contract.ExecutionNamespace(r.prefix, task.FromCluster)
		if task.PurgeMode.Canonical() == policyv1alpha1.PurgeDirectly {
			s.purge.Insert(namespace)
		} else {
			s.keep.Insert(namespace)
		}
	}

	if err := r.readWorks(ctx, id, s); err != nil {
		return nil, err
	}
	var err error
	if s.reasons, err = r.reasons(ctx, s); err != nil {
		return nil, err
	}
	if len(s.targets) == 0 {
		return s, nil
	}
	if spec.Resource.Namespace != binding.GetNamespace() {
		// Users who may write bindings in one namespace need not have the right to read the Secrets of others.
		ctrl.LoggerFrom(ctx).V(1).Info("Rendering nothing because the template is not in the namespace of the binding")
		return s, nil
	}
	if err := r.readTargets(ctx, s); err != nil {
		return nil, err
	}
	if err := r.findUnchanged(s); err != nil || len(s.unchanged) == len(s.targets) {
		return s, err
	}
	if err := r.readTerminating(ctx, s); s.terminating || err != nil {
		return s, err
	}
	if r.awaitDetector(s, ""); s.waits() && len(s.rollouts) == 0 {
		return s, nil // nothing can be written before the detector has seen the edit
	}
	if s.template, err = r.readTemplate(ctx, &spec.Resource); err == nil && s.template != nil {
		r.awaitDetector(s, bindings.Fingerprint(s.template))
		s.materials = r.materials(ctx, s)
		if !s.waits() && r.madeOf(s) != s.fingerprint() {
			s.unchanged, s.outdated = sets.Set[string]{}, nil // the detector has not seen this state yet, and all clusters get it together
		}
	}
	return s, err
}

// readWorks reads the Works of a binding, including all writes.
func (r *reconciler) readWorks(ctx context.Context, id string, s *scope) error {
	written := r.expectations.pending(id)
	cached, err := kube.WorksOf(ctx, r.hubClient, s.binding)
	if err != nil {
		return err
	}
	s.works = latestWorks(s.binding, written, r.executing(cached))
	s.live, s.suspect = byNamespace(s.works), written.suspect
	for _, f := range s.rollouts {
		if f.name == "" {
			f.works = s.live
		}
	}
	return nil
}

// leaving counts the Works in clusters that are no targets any more.
func (r *reconciler) leaving(s *scope) int {
	n := len(s.live)
	for _, target := range s.targets {
		if s.live[contract.ExecutionNamespace(r.prefix, target.Name)] != nil {
			n--
		}
	}
	return n
}

// reasons determines why the Works are deleted that are for no target.
func (r *reconciler) reasons(ctx context.Context, s *scope) (fanout.Reasons, error) {
	namespace := func(cluster string) string { return contract.ExecutionNamespace(r.prefix, cluster) }
	out := fanout.Reasons{Removed: len(s.targets) == 0 && s.binding.BindingSpec().Placement == nil, Departed: sets.Set[string]{}}
	wanted := sets.Set[string]{}
	for _, target := range s.targets {
		wanted.Insert(namespace(target.Name))
	}
	going := false
	for _, w := range s.works {
		name, ok := contract.ClusterOf(r.prefix, w.Namespace)
		if !ok || wanted.Has(w.Namespace) {
			continue
		}
		going = true
		cluster := &clusterv1alpha1.Cluster{}
		err := r.hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return out, fmt.Errorf("reading cluster %q: %w", name, err)
		}
		// If the cache does not show the Cluster, the live read before the deletion decides whether it left, since the cache may be stale.
		if err == nil && !cluster.DeletionTimestamp.IsZero() {
			out.Departed.Insert(w.Namespace)
		}
	}
	if !going {
		return out, nil
	}
	out.Evict(evictions.Of(s.binding), namespace)
	return out, r.followEvictions(ctx, s.binding, &out)
}

// followEvictions adds the evictions of the bindings that need this one: a dependency leaves a cluster for the same reason as the workload.
func (r *reconciler) followEvictions(ctx context.Context, b kube.Binding, to *fanout.Reasons) error {
	for _, needs := range b.BindingSpec().RequiredBy {
		if needs.Name == "" {
			continue // the entry is for the objects in a namespace, which leaves no cluster, or common to several workloads
		}
		kind := kube.ResourceBindings()
		if needs.Namespace == "" {
			kind = kube.ClusterResourceBindings()
		}
		other := kind.New()
		err := r.hubClient.Get(ctx, client.ObjectKey{Namespace: needs.Namespace, Name: needs.Name}, other, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading %s %q: %w", kind.Kind, needs.Name, err)
		}
		if err == nil {
			to.Evict(evictions.Of(other), func(cluster string) string { return contract.ExecutionNamespace(r.prefix, cluster) })
		}
	}
	return nil
}

func byNamespace(works []*workv1alpha1.Work) map[string]*workv1alpha1.Work {
	out := make(map[string]*workv1alpha1.Work, len(works))
	for _, w := range works {
		out[w.Namespace] = w
	}
	return out
}

// target is the template for selectors, and ref its reference in a revision.
func (s *scope) target() selector.Target { return selector.TargetOf(s.template) }
func (s *scope) ref() revision.Ref       { return revision.Part{Object: s.template}.Ref() }

// latestWorks returns the Works of a binding according to the cache and the writes since. Writes are recorded by the permanent id, which a
// copied binding shares with the original, so Works of the other binding are dropped: neither may delete them.
func latestWorks(b kube.Binding, written pending, cached []*workv1alpha1.Work) []*workv1alpha1.Work {
	return slices.DeleteFunc(written.latest(cached), func(w *workv1alpha1.Work) bool { return !bindings.IsOwn(b, w) })
}

// executing drops Works that are not in an execution namespace. If the prefix was changed, this hub must not delete Works under the former
// prefix.
func (r *reconciler) executing(works []*workv1alpha1.Work) []*workv1alpha1.Work {
	out := works[:0]
	for _, w := range works {
		if _, ok := contract.ClusterOf(r.prefix, w.Namespace); ok {
			out = append(out, w)
		}
	}
	return out
}

// readTemplate reads the template live. It returns nil if the template is gone, or another object of the same name, which the detector will
// report.
func (r *reconciler) readTemplate(ctx context.Context, ref *workv1alpha2.ObjectReference) (*unstructured.Unstructured, error) {
	template := &unstructured.Unstructured{}
	template.SetAPIVersion(ref.APIVersion)
	template.SetKind(ref.Kind)
	err := r.hubReader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, template)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("Rendering nothing because the template is gone")
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the template %s %q: %w", ref.Kind, ref.Name, err)
	}
	if ref.UID != "" && template.GetUID() != ref.UID {
		ctrl.LoggerFrom(ctx).V(1).Info("Rendering nothing because the template was replaced by another object of its name")
		return nil, nil
	}
	return template, nil
}
